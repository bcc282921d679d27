"""Numbers of Go and JSON, Kubernetes quantities, and durations."""

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.go_text import format_float
from kyvsim.kubernetes.objects import Json

_EXACT = 2.0**53
_PLAIN_BELOW = 1e21
_LOWEST = -(1 << 63)
_MAX_INT64 = (1 << 63) - 1
_TEXTS = frozenset({str, bool, type(None)})
_OTHERS: Final = MappingProxyType({int: _TEXTS | {float}, float: _TEXTS | {int}})
"""By the converted number class, the other scalar classes: most values have one of these."""


def with_floats(value: object) -> Json:
    """Return `value` with every int as a float; parts without ints are shared, not copied.

    This is what Go's decoder makes of numbers without a given type.
    """
    return _with_numbers(value, int, float)


def with_floats_where_exact(value: object) -> Json:
    """Return `value` with every int as an equal float if there is one."""
    return _with_numbers(
        value, int, lambda number: float(number) if abs(number) <= _EXACT else number
    )


def with_whole_numbers(value: object) -> Json:
    """Return `value` with whole floats as ints; parts without any are shared, not copied.

    This is the conversion of apimachinery's `UnstructuredJSONScheme`: numbers that Go writes
    without fraction and exponent become an int64 if they fit.
    """
    return _with_numbers(value, float, whole_where_exact)


def _with_numbers(value: Json, numbers: type, change: Callable[[Json], Json]) -> Json:
    """Return `value` with `change` applied to every number of one class."""
    kind = value.__class__
    if kind is numbers:
        return change(value)
    if kind is not dict and kind is not list:
        return value
    others = _OTHERS[numbers]
    if others.issuperset(map(type, value.values() if kind is dict else value)):
        return value
    changed: dict[str | int, object] = {}
    for key, item in value.items() if kind is dict else enumerate(value):
        if item.__class__ not in others:
            new = _with_numbers(item, numbers, change)
            if new is not item:
                changed[key] = new
    if not changed:
        return value
    new = value.copy()
    for key, item in changed.items():
        new[key] = item
    return new


def whole_where_exact(number: float) -> int | float:
    """Return the int64 for Go's JSON text of a float, or the float if it is not an int64."""
    if not number.is_integer() or abs(number) >= _PLAIN_BELOW:
        return number
    if abs(number) < _EXACT:
        return int(number)
    written = int(format_float(number, "f"))  # the shortest digits, padded with zeros
    return written if _LOWEST <= written <= _MAX_INT64 else number


# Numbers as parsed by Go's strconv, and as converted to int64 on amd64.

_INT = re.compile(r"[+-]?[0-9]+")
_DIGITS = "[0-9](?:_?[0-9])*"
_HEX_DIGITS = "[0-9a-f](?:_?[0-9a-f])*"
# Regular expressions are strings here, which `re` compiles on first use: few runs need all of them.
# Without the flag `a`, two Turkish letters match `i`.
_FLOAT = (
    rf"(?ia)[+-]?(?:(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?"
    r"|inf|infinity)|nan"
)
_HEX_FLOAT = rf"(?ia)[+-]?0x(?:_?{_HEX_DIGITS}\.?(?:{_HEX_DIGITS})?|\.{_HEX_DIGITS})p[+-]?{_DIGITS}"


def parse_int(text: str) -> int | None:
    """Return the int64 that a decimal text represents, or None."""
    if len(text) > 4000 or _INT.fullmatch(text) is None:
        return None
    number = int(text)
    return number if _LOWEST <= number <= _MAX_INT64 else None


def parse_float(text: str) -> float | None:
    """Return the float64 that a text represents; None if it is invalid or out of range."""
    try:
        if re.fullmatch(_FLOAT, text) is not None:
            number = float(text.replace("_", ""))
        elif re.fullmatch(_HEX_FLOAT, text) is not None:
            number = float.fromhex(text.replace("_", ""))
        else:
            return None
    except OverflowError:
        return None
    return None if math.isinf(number) and "n" not in text.lower() else number


def int_equals(number: int, value: object) -> bool:
    """Return whether a value is this int, as a number or as text."""
    if value.__class__ is float:
        return value.is_integer() and to_int64(value) == number
    if value.__class__ is str:
        return parse_int(value) == number
    return value.__class__ is int and value == number


def float_equals(number: float, value: object) -> bool:
    """Return whether a value is this float, as a number or as text."""
    if value.__class__ is int:
        return number.is_integer() and to_int64(number) == value
    if value.__class__ is str:
        return parse_float(value) == number
    return value.__class__ is float and value == number


def to_int64(number: float) -> int:
    """Return `number` without its fraction; the lowest int64 if it does not fit."""
    if math.isfinite(number):
        whole = int(number)
        if _LOWEST <= whole <= _MAX_INT64:
            return whole
    return _LOWEST


def wrap_int64(number: int) -> int:
    """Return `number` wrapped as in int64 arithmetic: the lowest 64 bits, signed."""
    return (number - _LOWEST) % (1 << 64) + _LOWEST


_CONTAINERS: Final = frozenset({dict, list})


def deep_equal(left: object, right: object) -> bool:
    """Return whether two values are deeply equal, as in Go's reflect.DeepEqual.

    1 equals neither 1.0 nor true.
    """
    kind = left.__class__
    if kind is not right.__class__ or left != right:
        return False
    return kind not in _CONTAINERS or _same_classes(left, right)


def _same_classes(left: Json, right: Json) -> bool:
    """Return whether two values that are equal in Python have the same classes at any depth."""
    kind = left.__class__
    if kind is not right.__class__:
        return False
    if kind is list:
        return all(map(_same_classes, left, right))
    if kind is dict:
        return all(_same_classes(value, right[key]) for key, value in left.items())
    return True


# Kubernetes quantities (`500m`, `1.5Gi`, `1e3`): exact values with the format for printing.
# upstream: k8s.io/apimachinery/pkg/api/resource (quantity.go, amount.go, suffix.go).

DECIMAL_SI: Final = "DecimalSI"
BINARY_SI: Final = "BinarySI"
DECIMAL_EXPONENT: Final = "DecimalExponent"

_NANO = -9
_MAX_DIGITS = 4000
"""Numbers with more digits are rejected: they are expensive and have no use in a cluster."""

_STARTS = frozenset("+-.0123456789eE")
"""Texts that are longer than a suffix begin with one of these."""
_LONGEST_SUFFIX = 2
_INT64_DIGITS = 18
"""Numbers with this many digits always fit."""
_GRAMMAR = r"([+-]?)(0*)([0-9]*)(\.[0-9]*)?([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]{1,19})"
_DECIMAL_EXPONENTS: Mapping[str, int] = {
    "": 0,
    "n": -9,
    "u": -6,
    "m": -3,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_EXPONENTS = MappingProxyType({"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60})
_DECIMAL_SUFFIXES = MappingProxyType({power: text for text, power in _DECIMAL_EXPONENTS.items()})
_BINARY_SUFFIXES = MappingProxyType({power: text for text, power in _BINARY_EXPONENTS.items()})

_SHAPE = r"[+-]?[0-9]*(?:\.[0-9]*)?([eEinumkKMGTP]*[-+]?[0-9]*)"
_SUFFIX = r"[numkMGTPE]?|[KMGTPE]i|[eE][-+]?[0-9]+"
_WRONG_SHAPE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class Quantity:
    """The exact number `mantissa * 10**scale`, and its format for printing.

    Compares by value, independent of the format. A plain class, since tuples compare fields.
    """

    __slots__ = ("format", "mantissa", "scale")

    def __init__(self, mantissa: int, scale: int, format_name: str) -> None:
        self.mantissa = mantissa
        self.scale = scale
        self.format = format_name

    def compare(self, other: "Quantity") -> int:
        """Return a number below, at or above 0 as `self` is less, equal or greater."""
        left, right = self.mantissa, other.mantissa
        gap = self.scale - other.scale
        if gap and left and right:
            if (left < 0) != (right < 0) or abs(gap) > _MAX_DIGITS:
                # Compare the signs, then the positions of the first digits.
                sign = -1 if self.mantissa < 0 else 1
                same_sign = (self.mantissa < 0) == (other.mantissa < 0)
                return -sign if same_sign and self.scale <= other.scale else sign
            if gap > 0:
                left *= 10**gap
            else:
                right *= 10**-gap
        return (left > right) - (left < right)

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Quantity and self.compare(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self.compare(other) < 0

    def __le__(self, other: "Quantity") -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: "Quantity") -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: "Quantity") -> bool:
        return self.compare(other) >= 0

    def __hash__(self) -> int:
        mantissa, scale = _without_factors(self.mantissa, 10)
        return hash((mantissa, scale + self.scale if mantissa else 0))

    def __repr__(self) -> str:
        return f"Quantity({self.mantissa}, {self.scale}, {self.format!r})"

    def __str__(self) -> str:
        """Return the canonical text; powers without a suffix omit it, as in upstream."""
        if not self.mantissa:
            return "0"
        is_whole = self.scale >= 0 or not self.mantissa % 10 ** min(-self.scale, _MAX_DIGITS)
        if self.format == BINARY_SI and is_whole and abs(self.whole()) >= 1024:
            number, times = _without_factors(self.whole(), 1024)
            return f"{number}{_BINARY_SUFFIXES.get(times * 10, '')}"
        number, times = _without_factors(self.mantissa, 10)
        power = self.scale + times
        number *= 10 ** (power % 3)
        power -= power % 3
        if self.format == DECIMAL_EXPONENT:
            return f"{number}e{power}" if power else str(number)
        return f"{number}{_DECIMAL_SUFFIXES.get(power, '')}"

    def whole(self) -> int:
        """Return the value without its fraction; raises OverflowError if it is too long."""
        if self.scale > _MAX_DIGITS:
            raise OverflowError("quantity is out of range")
        if self.scale >= 0:
            return self.mantissa * int(10**self.scale)
        units = abs(self.mantissa) // int(10 ** min(-self.scale, _MAX_DIGITS))
        return units if self.mantissa > 0 else -units

    def approximate(self) -> float:
        """Return the nearest float, computed from the parts as upstream does."""
        try:
            base = float(self.mantissa)
            if self.scale > 308:
                return base * float("inf") if base else float("nan")
            return base * 10.0**self.scale if self.scale else base
        except OverflowError:
            return float("inf") if self.mantissa > 0 else float("-inf")

    def plus(self, other: "Quantity") -> "Quantity":
        """Return the sum in the format of `self` (that of `other` if `self` is zero)."""
        format_name = self.format if self.mantissa else other.format
        if not other.mantissa:
            return Quantity(self.mantissa, self.scale, format_name)
        if not self.mantissa:
            return Quantity(other.mantissa, other.scale, format_name)
        scale = min(self.scale, other.scale)
        if abs(self.scale - other.scale) > _MAX_DIGITS:
            raise OverflowError("quantity is out of range")
        left = self.mantissa * 10 ** (self.scale - scale)
        right = other.mantissa * 10 ** (other.scale - scale)
        return Quantity(left + right, scale, format_name)

    def minus(self, other: "Quantity") -> "Quantity":
        """Return the difference in the format of `self` (of `other` if `self` is zero)."""
        return self.plus(Quantity(-other.mantissa, other.scale, other.format))

    def times(self, factor: "Quantity") -> "Quantity":
        """Return the exact product in the format of `self`."""
        return Quantity(self.mantissa * factor.mantissa, self.scale + factor.scale, self.format)

    def divided_by(self, divisor: "Quantity") -> "Quantity":
        """Return the quotient, truncated to the finer precision of both, in the format of `self`.

        Raises ZeroDivisionError, and OverflowError if the magnitudes differ too much.
        """
        digits = max(-self.scale, -divisor.scale)
        power = self.scale - divisor.scale + digits
        if abs(power) > _MAX_DIGITS:
            raise OverflowError("quantity is out of range")
        top = abs(self.mantissa) * 10 ** max(power, 0)
        bottom = abs(divisor.mantissa) * 10 ** max(-power, 0)
        units = top // bottom
        same_sign = (self.mantissa < 0) == (divisor.mantissa < 0)
        return Quantity(units if same_sign else -units, -digits, self.format)


def parse_quantity(text: str) -> Quantity | None:
    """Return the quantity that a text represents, or None.

    Digits below nano are rounded away from zero. As in upstream, a lone suffix or sign is zero.
    """
    if text.isdecimal() and text.isascii() and len(text) <= _INT64_DIGITS:
        return Quantity(int(text), 0, DECIMAL_SI)
    is_short = 0 < len(text) <= _LONGEST_SUFFIX
    found = re.fullmatch(_GRAMMAR, text) if is_short or text[:1] in _STARTS else None
    return _read(found) if found else None


def _read(found: re.Match[str]) -> Quantity | None:
    sign, zeros, digits, fraction, suffix = found.groups()
    if suffix in _BINARY_EXPONENTS:
        return _binary(found, _BINARY_EXPONENTS[suffix])
    if not digits and fraction is None and not suffix and (zeros or sign):
        return Quantity(0, 0, DECIMAL_SI)
    format_name = DECIMAL_SI
    scale = _DECIMAL_EXPONENTS.get(suffix)
    if scale is None:
        format_name = DECIMAL_EXPONENT
        scale = _exponent(suffix[1:])
        if scale is None:
            return None
    places = fraction[1:] if fraction else ""
    scale -= len(places)
    if len(digits or "0") + len(places) <= _INT64_DIGITS and scale >= _NANO:
        number = int(digits + places or "0")
        return Quantity(-number if sign == "-" else number, scale, format_name)
    if not (zeros or digits or places):
        return None
    if len(digits) + len(places) > _MAX_DIGITS:
        return None
    number = _rounded_to_nano(int(digits + places or "0"), scale)
    if number and scale <= _MAX_DIGITS:
        scale = _NANO
    return Quantity(-number if sign == "-" else number, scale, format_name)


def quantity_problem(text: str) -> str:
    """Return upstream's message for a text that is not a quantity."""
    shape = re.fullmatch(_SHAPE, text)
    if shape is None or not text:
        return _WRONG_SHAPE
    suffix = shape[1]
    too_far = suffix[1:].lstrip("+-").isdecimal() and _exponent(suffix[1:]) is None
    if too_far or re.fullmatch(_SUFFIX, suffix) is None:
        return "unable to parse quantity's suffix"
    return "unable to parse numeric part of quantity"


def _binary(found: re.Match[str], exponent: int) -> Quantity | None:
    """Return a quantity with a binary suffix; upstream limits it to the largest int64."""
    sign, zeros, digits, fraction, _ = found.groups()
    places = fraction[1:] if fraction else ""
    is_short = not places and 14 - len(digits or "0") - exponent * 3 // 10 >= 0
    if not is_short and not (zeros or digits or places):
        return None
    if len(digits) + len(places) > _MAX_DIGITS:
        return None
    number = int(digits + places or "0") << exponent
    scale, format_name = 0, BINARY_SI
    if not is_short or number > _MAX_INT64:
        number = _rounded_to_nano(number, -len(places))
        scale = _NANO if number else -len(places)
        if number > _MAX_INT64 * 10**9:
            number, scale = _MAX_INT64, 0
        elif 0 < number < 10**9:
            format_name = DECIMAL_SI
    return Quantity(-number if sign == "-" else number, scale, format_name)


def _rounded_to_nano(number: int, scale: int) -> int:
    """Return `number * 10**scale` in nanos, rounded up (unchanged if that is too long)."""
    power = scale - _NANO
    if power > _MAX_DIGITS:
        return number
    if power >= 0:
        return number * int(10**power)
    if -power > _MAX_DIGITS:
        return 1 if number else 0
    return -(-number // int(10**-power))


def _exponent(text: str) -> int | None:
    """Return the power of ten of a decimal exponent, truncated to 32 bits as in upstream."""
    power = int(text)
    if not _LOWEST <= power <= _MAX_INT64:
        return None
    return (power + (1 << 31)) % (1 << 32) - (1 << 31)


def _without_factors(number: int, base: int) -> tuple[int, int]:
    """Return `number` divided by `base` as often as possible, and the number of divisions."""
    times = 0
    while number and not number % base:
        number //= base
        times += 1
    return number, times


# Go durations (`1h30m`, `-1.5s`) as integer nanoseconds.
# upstream: Go's time package (ParseDuration and Duration.String).

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
_LIMIT = 1 << 63
_FRACTION_LIMIT = _MAX_INT64 // 10
_UNITS = MappingProxyType(
    {"ns": 1, "us": 1_000, "\u00b5s": 1_000, "\u03bcs": 1_000, "ms": 1_000_000}
    | {"s": SECOND, "m": MINUTE, "h": HOUR}
)
_DURATION_STARTS = frozenset("+-.0123456789")
_ENDS = frozenset("smh")


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration; None if Go rejects it."""
    if text[:1] not in _DURATION_STARTS or text[-1:] not in _ENDS:
        return 0 if text in ("0", "+0", "-0") else None
    sign = text[0] if text[0] in "+-" else ""
    *parts, _ = re.split(r"([^0-9.]+)", text[len(sign) :])
    total = 0
    for number, unit in zip(parts[::2], parts[1::2], strict=True):
        whole, _, fraction = number.partition(".")
        if unit not in _UNITS or not (whole or fraction) or "." in fraction:
            return None
        nanos = _nanoseconds(whole, fraction, _UNITS[unit])
        if nanos is None:
            return None
        total += nanos
        if total > _LIMIT:
            return None
    if sign == "-":
        return -total
    return None if total == _LIMIT else total


def seconds(text: str) -> float:
    """Return the seconds of a duration such as `1m30s`; 0 if Go rejects it."""
    return (parse_duration(text) or 0) / SECOND


def _nanoseconds(whole: str, fraction: str, unit: int) -> int | None:
    """Return one part in nanoseconds; the fraction is computed as a float, as in Go."""
    if len(whole.lstrip("0")) > 19:
        return None
    total = int(whole or "0") * unit
    if total > _LIMIT:
        return None
    if fraction:
        digits, scale = 0, 1.0
        for digit in fraction:
            grown = digits * 10 + int(digit)
            if digits > _FRACTION_LIMIT or grown > _LIMIT:
                break
            digits, scale = grown, scale * 10
        total += int(float(digits) * (unit / scale))
    return total if total <= _LIMIT else None


_PART = r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)"


def explain_duration(text: str) -> str:
    """Return Go's error message for an invalid duration."""
    at = 1 if text[:1] in ("+", "-") else 0
    while at < len(text) and text[at] in ".0123456789":
        found = re.compile(_PART).match(text, at)
        assert found is not None  # noqa: S101 - the expression fits every text
        whole, fraction, unit = found.groups()
        if not (whole or fraction) or (
            unit in _UNITS and _nanoseconds(whole, fraction or "", _UNITS[unit]) is None
        ):
            break
        if not unit:
            return f"time: missing unit in duration {quote_ascii(text)}"
        if unit not in _UNITS:
            return f"time: unknown unit {quote_ascii(unit)} in duration {quote_ascii(text)}"
        at = found.end()
    return f"time: invalid duration {quote_ascii(text)}"


def quote_ascii(text: str) -> str:
    """Return `text` quoted as in Go's time messages: bytes in hex except for printable ASCII."""
    shown = (
        f"\\{char}"
        if char in '"\\'
        else char
        if " " <= char <= "~"
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
        for char in text
    )
    return f'"{"".join(shown)}"'


def format_duration(nanoseconds: int) -> str:
    """Return the text that Go prints for a duration, such as `1h30m0s` or `1.5ms`."""
    if not nanoseconds:
        return "0s"
    sign = "-" if nanoseconds < 0 else ""
    amount = abs(nanoseconds)
    if amount < SECOND:
        for unit, size in (("ns", 1), ("\u00b5s", 1_000), ("ms", 1_000_000)):
            if amount < size * 1_000:
                return f"{sign}{_decimal(amount, size)}{unit}"
    minutes, rest = divmod(amount, MINUTE)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, SECOND)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def _decimal(amount: int, size: int) -> str:
    """Return `amount / size` (a power of ten) without trailing zeros."""
    whole, rest = divmod(amount, size)
    if not rest:
        return str(whole)
    digits = str(rest).zfill(len(str(size)) - 1).rstrip("0")
    return f"{whole}.{digits}"
