"""The table of functions that calls look in: every family, in one tuple."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.expr.functions import (
    arithmetic,
    containers,
    encoding,
    hashing,
    ordering,
    randomness,
    references,
    regexes,
    texts,
    timestamps,
    x509,
)
from kyvsim.expr.functions.record import Function
from kyvsim.expr.functions.standard import STANDARD

FAMILIES: Final = (
    STANDARD,
    texts.FUNCTIONS,
    regexes.FUNCTIONS,
    arithmetic.FUNCTIONS,
    containers.FUNCTIONS,
    encoding.FUNCTIONS,
    hashing.FUNCTIONS,
    ordering.FUNCTIONS,
    timestamps.FUNCTIONS,
    references.FUNCTIONS,
    randomness.FUNCTIONS,
    x509.FUNCTIONS,
)
"""Every family's tuple; a later one replaces functions of the same name."""

FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {function.name: function for family in FAMILIES for function in family}
)
"""Every function by its name."""
