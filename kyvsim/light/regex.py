"""Regular expressions that are compiled when they are first used.

Most of a run's modules have some, and most of these are for texts that the run does not meet.
"""

import re

from kyvsim.light.typed import TYPE_CHECKING, Any

__all__ = ["regex"]

if TYPE_CHECKING:
    from re import compile as regex
else:

    class _Regex:
        """What `re.compile` returns, once something of it is asked for."""

        def __init__(self, source: str | bytes, flags: int) -> None:
            self.__dict__["_given"] = source, flags

        def __getattr__(self, name: str) -> Any:
            """Return something of the compiled expression, which is asked directly from then on."""
            found = getattr(re.compile(*self._given), name)
            self.__dict__[name] = found
            return found

    def regex(source: str | bytes, flags: int = 0) -> _Regex:
        """Return a regular expression, with the methods of one that is compiled."""
        return _Regex(source, flags)
