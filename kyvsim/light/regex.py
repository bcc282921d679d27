"""Regular expressions that are compiled when they are first used.

Most of a run's modules have some, and most of these are for texts that the run does not meet. What
compiling one makes can be kept for other runs: that of a start's dozen takes two milliseconds, and
the module that compiles, with `enum` behind it, five.
"""

from collections.abc import Mapping

from kyvsim.light.typed import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from re import ASCII, DOTALL, IGNORECASE, MULTILINE, VERBOSE, Match, Pattern

    _sre: Any
else:
    import _sre

    Match = Pattern = Any
    ASCII, DOTALL, IGNORECASE, MULTILINE, VERBOSE = 256, 16, 2, 8, 64

__all__ = ["CODES", "Code", "Match", "Pattern", "code_of", "regex"]
__all__ += ["ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "VERBOSE"]

Expression: TypeAlias = tuple[str | bytes, int]
"""What is compiled: the source, and the flags."""
Code: TypeAlias = tuple[Any, ...]
"""What the engine takes in place of it; it says itself whether that can be run."""


class Codes:
    """What is known of expressions in this process: set by who keeps it, asked by all."""

    def __init__(self) -> None:
        self.known: Mapping[Expression, Code] = {}
        """Those that need not be compiled."""
        self.compiled: set[Expression] = set()
        """Those that were."""

    def pattern(self, one: Expression) -> Any:
        """Return an expression that can be asked."""
        code = self.known.get(one)
        if code is not None:
            try:
                return _sre.compile(*code)
            except (TypeError, ValueError, RuntimeError):  # of an engine that is not this one
                pass
        import re  # noqa: PLC0415 — where something is to be compiled: see above

        compiled: Any = re.compile  # of texts as of bytes, which the types of `re` tell apart
        found = compiled(*one)
        self.compiled.add(one)  # what cannot be compiled is nothing to keep
        return found


CODES: Final = Codes()


def code_of(one: Expression) -> Code | None:
    """Return what an expression is compiled to; None where this Python does not show it.

    Nothing else may compile one meanwhile.
    """
    import re  # noqa: PLC0415 — as above

    compiler: Any = getattr(re, "_compiler", None)
    names = vars(compiler) if compiler else {}
    if names.get("_sre") is not _sre:
        return None
    names["_sre"] = shown = _Shown()
    try:
        compiler.compile(*one)
    finally:
        names["_sre"] = _sre
    return shown.code


class _Shown:
    """The engine, whose compiler shows what it is given."""

    code: Code | None = None

    def compile(self, *code: Any) -> None:
        """Take what an expression is compiled to, its numbers without the names they have."""
        self.code = tuple([*map(int, one)] if isinstance(one, list) else one for one in code)

    def __getattr__(self, name: str) -> Any:
        return getattr(_sre, name)


if TYPE_CHECKING:
    from re import compile as regex
else:

    class _Regex:
        """What `re.compile` returns, once something of it is asked for."""

        def __init__(self, source: str | bytes, flags: int) -> None:
            self.__dict__["_given"] = source, int(flags)

        def __getattr__(self, name: str) -> Any:
            """Return something of the compiled expression, which is asked directly from then on."""
            found = getattr(CODES.pattern(self._given), name)
            self.__dict__[name] = found
            return found

    def regex(source: str | bytes, flags: int = 0) -> _Regex:
        """Return a regular expression, with the methods of one that is compiled."""
        return _Regex(source, flags)
