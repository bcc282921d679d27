"""`format` as newer strings have it: plain numbers, nothing quoted inside of lists and maps.

Source of the rules: upstream cel-go ext/formatting_v2.go, for strings of version 4 and later.
"""

import math
from collections.abc import Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from kyvsim.cel.conversion import to_text
from kyvsim.cel.errors import CelError
from kyvsim.cel.string_format import fill
from kyvsim.cel.types import CelType
from kyvsim.cel.values import Duration, Timestamp, UInt, type_name
from kyvsim.kubernetes.go_text import format_float

_DEFAULT_PRECISION = 6
_INTS = frozenset({int, UInt})
_PRINTED = frozenset({bool, str, Timestamp, bytes, Duration, CelType})
WANTED_LATEST: Mapping[str, str] = MappingProxyType(
    {
        "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
        "d": "decimal clause can only be used on ints, uints, and doubles",
        "f": "fixed-point clause can only be used on ints, uints, and doubles",
        "e": "scientific clause can only be used on ints, uints, and doubles",
        "b": "only ints, uints, and bools can be formatted as binary",
        "x": "only ints, uints, bytes, and strings can be formatted as hex",
        "X": "only ints, uints, bytes, and strings can be formatted as hex",
        "o": "octal clause can only be used on ints and uints",
    }
)


def format_latest(text: str, arguments: list[Any]) -> str:
    """Return the text with its clauses filled in."""
    return fill(text, len(arguments), lambda place, *clause: _clause(arguments[place], *clause))


def _clause(value: Any, letter: str, precision: int | None) -> str:
    kind = value.__class__
    if letter == "s":
        return _string(value)
    if letter in "fe" and kind in {*_INTS, float}:
        number = _special(float(value))
        return number or f"{float(value):.{_precision(precision)}{letter}}"
    if letter == "d" and kind is float:
        return _number(value)
    if letter == "b" and kind is bool:
        return "1" if value else "0"
    if letter in "dbxXo" and kind in _INTS:
        return format(int(value), letter)
    if letter in "xX" and kind in {str, bytes}:
        found = (value.encode() if kind is str else value).hex()
        return str(found.upper() if letter == "X" else found)
    raise CelError(f"{WANTED_LATEST[letter]}, was given {type_name(value)}")


def _precision(given: int | None) -> int:
    return _DEFAULT_PRECISION if given is None else given


def _string(value: Any) -> str:
    kind = value.__class__
    if isinstance(value, list):
        return f"[{', '.join(map(_string, value))}]"
    if isinstance(value, dict):
        pairs = sorted(
            ((_string(key), _string(one)) for key, one in value.items()), key=itemgetter(0)
        )
        return f"{{{', '.join(f'{key}: {one}' for key, one in pairs)}}}"
    if value is None:
        return "null"
    if kind in _INTS:
        return str(int(value))
    if kind is float:
        return _number(value)
    if kind is CelType:
        return str(value.name)
    if kind in _PRINTED:
        return to_text(value)
    raise CelError(f"{WANTED_LATEST['s']}, was given {type_name(value)}")


def _number(value: float) -> str:
    return _special(value) or format_float(value, "f")


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "" if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"
