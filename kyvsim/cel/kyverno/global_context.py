"""Data of GlobalContextEntries.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/globalcontext.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, opaque

_TYPE = opaque("globalcontext.Context")


class GlobalContextAccess(NamedTuple):
    """The value of the variable `globalContext`."""

    data_of: Callable[[str, str], Any]
    """Takes the name of an entry and of a projection, "" for none; raises LookupError with the
    reason where a known entry cannot answer; of an unknown one nothing is known (None)."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE


def _get(access: GlobalContextAccess, name: str, projection: str = "") -> Any:
    try:
        return access.data_of(name, projection)
    except LookupError as error:
        raise CelError(f"failed to get global reference: {error}") from None


GLOBAL_CONTEXT = Library(
    "global context",
    tuple(
        function(
            name,
            way(f"{_TYPE.name}.(string) -> dyn", _get),
            way(f"{_TYPE.name}.(string, string) -> dyn", _get),
        )
        for name in ("Get", "get")
    ),
    types=((GlobalContextAccess, _TYPE),),
    variables=(("globalContext", _TYPE),),
)
