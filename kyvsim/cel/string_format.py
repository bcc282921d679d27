"""`format`: replaces `%s`, `%d` etc. in strings, in both versions of the library."""

import math
import re
from collections.abc import Callable, Mapping
from operator import itemgetter
from types import MappingProxyType

from kyvsim.cel.conversion import text_to_double, to_text
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType
from kyvsim.cel.values import Duration, Timestamp, UInt, runtime_type, type_name
from kyvsim.kubernetes.go_text import format_float, quote

# Replaces `%s`, `%d` etc. in strings.
#
# Source of the rules: upstream cel-go ext/formatting.go, for strings of version 2.

_DEFAULT_PRECISION = 6
_MAX_PRECISION_DIGITS = 5
_PRINTED = frozenset({int, UInt, float, bool, str, Timestamp, bytes, Duration, CelType})
_NOT_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})

CLAUSE_ERRORS = MappingProxyType(
    {
        "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
        "d": "decimal clause can only be used on integers",
        "f": "fixed-point clause can only be used on doubles",
        "e": "scientific clause can only be used on doubles",
        "b": "only integers and bools can be formatted as binary",
        "x": "only integers, byte buffers, and strings can be formatted as hex",
        "X": "only integers, byte buffers, and strings can be formatted as hex",
        "o": "octal clause can only be used on integers",
    }
)


def fill(text: str, count: int, clause: Callable[[int, str, int | None], str]) -> str:
    """Return the text with each clause replaced by the result of `clause`.

    Its arguments are the argument's index, the letter and the precision, None if there is none.
    """
    made: list[str] = []
    at = place = 0
    while (start := text.find("%", at)) >= 0:
        made.append(text[at:start])
        if text.startswith("%%", start):
            made.append("%")
            at = start + 2
            continue
        if place >= count:
            raise CelError(f"index {place} out of range")
        letter, precision, at = _read_clause(text, start + 1)
        try:
            made.append(clause(place, letter, precision))
        except CelError as error:
            error.args = (f"error during formatting: {error}",)
            raise
        place += 1
    made.append(text[at:])
    return "".join(made)


def _read_clause(text: str, at: int) -> tuple[str, int | None, int]:
    if at >= len(text):
        raise CelError("unexpected end of string")
    start = "could not parse formatting clause: "
    precision: int | None = None
    if text[at] == ".":
        digits = re.compile("[0-9]*").match(text, at + 1)
        shown = digits[0] if digits else ""
        at += 1 + len(shown)
        wrong = f"{start}error while parsing precision: "
        if at >= len(text):
            raise CelError(f"{wrong}could not find end of precision specifier")
        if not shown:
            raise CelError(
                f'{wrong}error while converting precision to integer: strconv.Atoi: parsing "": '
                "invalid syntax"
            )
        if len(shown) > _MAX_PRECISION_DIGITS:
            raise CelError(f"{wrong}the precision is larger than kyvsim supports")
        precision = int(shown)
    letter = text[at]
    if letter not in CLAUSE_ERRORS:
        raise CelError(f'{start}unrecognized formatting clause "{letter}"')
    return letter, precision, at + 1


def _clause(value: object, letter: str, precision: int | None) -> str:
    if letter == "s":
        return _shown(value)
    if letter in "fe":
        return _double(value, letter, _DEFAULT_PRECISION if precision is None else precision)
    return _digits(value, letter, CLAUSE_ERRORS)


def _digits(value: object, letter: str, errors: Mapping[str, str]) -> str:
    """Return a value formatted by a clause for whole numbers, in all versions."""
    if letter == "b" and value.__class__ is bool:
        return "1" if value else "0"
    if letter in "dbxXo" and (value.__class__ is int or value.__class__ is UInt):
        return format(int(value), letter)
    if letter in "xX" and (value.__class__ is str or value.__class__ is bytes):
        found = (value.encode() if isinstance(value, str) else value).hex()
        return found.upper() if letter == "X" else found
    raise CelError(f"{errors[letter]}, was given {type_name(value)}")


def _shown(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_quoted, value))}]"
    if isinstance(value, dict):
        for key in value:
            if key.__class__ not in {str, bool, int, UInt}:
                raise CelError(f"no formatting function for map key of type {type_name(key)}")
        pairs = sorted((_quoted(key), _quoted(value)) for key, value in value.items())
        return f"{{{', '.join(f'{key}:{value}' for key, value in pairs)}}}"
    if value is None:
        return "null"
    if value.__class__ in _PRINTED:
        return to_text(value)
    raise CelError(f"{CLAUSE_ERRORS['s']}, was given {type_name(value)}")


def _quoted(value: object) -> str:
    """Return a value inside of a list or map."""
    if value.__class__ is str:
        return quote(value)
    if value.__class__ is bytes:
        return f"b{quote(value.decode('utf-8', 'replace'))}"
    if value.__class__ is float:
        if math.isfinite(value):
            return f"{value:.6f}"
        return quote("NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf")
    if value.__class__ is Timestamp:
        return f"timestamp({quote(to_text(value))})"
    if value.__class__ is Duration:
        return f"duration({quote(to_text(value))})"
    if isinstance(value, (list, dict)) or value is None or value.__class__ in _PRINTED:
        return _shown(value)
    raise CelError(f"no formatting function for {runtime_type(value).name}")


def _double(value: object, letter: str, precision: int) -> str:
    if value.__class__ is str and value in _NOT_NUMBERS:
        number = text_to_double(value)
    elif value.__class__ is float:
        number = value
    else:
        raise CelError(f"{CLAUSE_ERRORS[letter]}, was given {type_name(value)}")
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return _scientific(number, precision) if letter == "e" else f"{number:,.{precision}f}"


def _scientific(number: float, precision: int) -> str:
    """Return the number in scientific notation, as upstream's printer does.

    As upstream, the precision is the minimum width of the whole text.
    """
    digits, _, exponent = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
    sign = "-" if exponent[0] == "-" else ""
    raised = "".join(_SUPERSCRIPTS[char] for char in f"{sign}{exponent[1:]}")
    return f"{digits}\u00d710{raised}".rjust(precision)


_SUPERSCRIPTS = MappingProxyType(dict(zip("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True)))

# `format` in newer versions: plain numbers, and no quotes inside of lists and maps.
#
# Source of the rules: upstream cel-go ext/formatting_v2.go, for strings of version 4 and later.

LATEST_CLAUSE_ERRORS: Mapping[str, str] = {
    **CLAUSE_ERRORS,
    "d": "decimal clause can only be used on ints, uints, and doubles",
    "f": "fixed-point clause can only be used on ints, uints, and doubles",
    "e": "scientific clause can only be used on ints, uints, and doubles",
    "b": "only ints, uints, and bools can be formatted as binary",
    "x": "only ints, uints, bytes, and strings can be formatted as hex",
    "X": "only ints, uints, bytes, and strings can be formatted as hex",
    "o": "octal clause can only be used on ints and uints",
}


def _latest_clause(value: object, letter: str, precision: int | None) -> str:
    if letter == "s":
        return _shown_by_latest(value)
    if letter in "fe" and (
        value.__class__ is float or value.__class__ is int or value.__class__ is UInt
    ):
        digits = _DEFAULT_PRECISION if precision is None else precision
        return _special(float(value)) or f"{float(value):.{digits}{letter}}"
    if letter == "d" and value.__class__ is float:
        return _number(value)
    return _digits(value, letter, LATEST_CLAUSE_ERRORS)


def _shown_by_latest(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown_by_latest, value))}]"
    if isinstance(value, dict):
        pairs = sorted(
            ((_shown_by_latest(key), _shown_by_latest(one)) for key, one in value.items()),
            key=itemgetter(0),
        )
        return f"{{{', '.join(f'{key}: {one}' for key, one in pairs)}}}"
    if value is None:
        return "null"
    if value.__class__ is float:
        return _number(value)
    if value.__class__ is CelType:
        return value.name
    if value.__class__ in _PRINTED:
        return to_text(value)
    raise CelError(f"{LATEST_CLAUSE_ERRORS['s']}, was given {type_name(value)}")


def _number(value: float) -> str:
    return _special(value) or format_float(value, "f")


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "" if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"


def _formatter(clause: Callable[..., str]) -> Callable[[str, list[object]], str]:
    return lambda text, arguments: fill(
        text, len(arguments), lambda place, *parts: clause(arguments[place], *parts)
    )


format_text = _formatter(_clause)
format_latest = _formatter(_latest_clause)
