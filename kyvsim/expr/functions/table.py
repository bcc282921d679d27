"""The table of functions that calls look in: every family, in one tuple."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.expr.functions import arithmetic, containers, references, texts, timestamps
from kyvsim.expr.functions.record import Function
from kyvsim.expr.functions.standard import STANDARD

FAMILIES: Final = (
    STANDARD,
    texts.TEXTS,
    texts.REGEXES,
    arithmetic.FUNCTIONS,
    containers.CONTAINERS,
    texts.ENCODING,
    texts.HASHES,
    containers.ORDERING,
    timestamps.FUNCTIONS,
    references.FUNCTIONS,
    texts.RANDOMNESS,
    texts.CERTIFICATES,
)
"""Every family's tuple; a later one replaces functions of the same name."""

FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {function.name: function for family in FAMILIES for function in family}
)
"""Every function by its name."""
