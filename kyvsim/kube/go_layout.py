"""Go's time layouts (`02 Jan 2006 15:04 MST`): taking them apart, and reading texts by them.

upstream: Go's time package (nextStdChunk and parse in format.go).
"""

import re
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.duration import quote_ascii

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_ELEMENT = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|3|4|5|PM|pm"
    r"|[-Z]070000|[-Z]07:00:00|[-Z]0700|[-Z]07:00|[-Z]07|[.,](?:0+|9+)(?![0-9])"
)


class TimeError(ValueError):
    """A text that is no time; the message is Go's."""


class Chunk(NamedTuple):
    """Fixed text and the element that follows it ("" at the end of a layout)."""

    prefix: str
    element: str


class Fields:
    """What has been read of a time so far; None or -1 where nothing was."""

    __slots__ = (
        *("year", "month", "day", "year_day", "hour", "minute", "second", "nanosecond"),
        *("offset", "pm", "utc", "zone"),
    )

    def __init__(self) -> None:
        self.year = self.hour = self.minute = self.second = self.nanosecond = 0
        self.month = self.day = self.year_day = self.offset = -1
        self.pm: bool | None = None
        self.utc = False
        self.zone = ""


class _BadError(Exception):
    """The text does not fit the element."""


class _RangeError(Exception):
    """The text fits the element, but the number is too large."""


class _Number(NamedTuple):
    digits: re.Pattern[str]
    field: str
    low: int = 0
    high: int = 999
    name: str = ""


_ONE_OR_TWO = re.compile("([0-9]{1,2})")
_TWO = re.compile("([0-9]{2})")
_NUMBERS = MappingProxyType(
    {
        "1": _Number(_ONE_OR_TWO, "month", 1, 12, "month"),
        "01": _Number(_TWO, "month", 1, 12, "month"),
        "2": _Number(_ONE_OR_TWO, "day"),
        "_2": _Number(re.compile(" ?([0-9]{1,2})"), "day"),
        "02": _Number(_TWO, "day"),
        "__2": _Number(re.compile(" {0,2}([0-9]{1,3})"), "year_day"),
        "002": _Number(re.compile("([0-9]{3})"), "year_day"),
        "15": _Number(_ONE_OR_TWO, "hour", 0, 23, "hour"),
        "3": _Number(_ONE_OR_TWO, "hour", 0, 12, "hour"),
        "03": _Number(_TWO, "hour", 0, 12, "hour"),
        "4": _Number(_ONE_OR_TWO, "minute", 0, 59, "minute"),
        "04": _Number(_TWO, "minute", 0, 59, "minute"),
        "5": _Number(_ONE_OR_TWO, "second", 0, 59, "second"),
        "05": _Number(_TWO, "second", 0, 59, "second"),
        "2006": _Number(re.compile("([0-9]{4})"), "year", 0, 9999),
    }
)
_NAMES = MappingProxyType(
    {
        "January": MONTHS,
        "Jan": tuple(name[:3] for name in MONTHS),
        "Monday": _WEEKDAYS,
        "Mon": tuple(name[:3] for name in _WEEKDAYS),
    }
)
_OFFSETS = MappingProxyType(
    {
        "0700": re.compile("(?s)(.)(..)(..)"),
        "07:00": re.compile("(?s)(.)(..):(..)"),
        "07": re.compile("(?s)(.)(..)"),
        "070000": re.compile("(?s)(.)(..)(..)(..)"),
        "07:00:00": re.compile("(?s)(.)(..):(..):(..)"),
    }
)
_ZONE_NAME = re.compile(
    r"ChST|MeST|GMT(?:[+-]0*(?:2[0-3]|1?[0-9])(?![0-9]))?|[+-]0*(?:2[0-3]|1?[0-9])(?![0-9])"
    r"|(?:[A-Z]{4}T|[A-Z]{3}T|WITA|[A-Z]{3})(?![A-Z])"
)
_FRACTION = re.compile("[.,]([0-9]+)")


def split_layout(layout: str) -> tuple[Chunk, ...]:
    """Return the elements of a layout with the text before each; the last one has no element."""
    chunks: list[Chunk] = []
    start = 0
    for found in _ELEMENT.finditer(layout):
        chunks.append(Chunk(layout[start : found.start()], found[0]))
        start = found.end()
    return (*chunks, Chunk(layout[start:], ""))


def read_chunk(chunk: Chunk, following: Chunk | None, rest: str, fields: Fields) -> str:
    """Read what `chunk` describes from the front of `rest` into `fields`; return what is left.

    Raises TimeError, whose message lacks the whole text and layout that `describe` adds.
    """
    value, fits = _skip(rest, chunk.prefix)
    if not fits:
        raise TimeError(_mismatch(value, chunk.prefix))
    if not chunk.element:
        if value:
            raise TimeError(f": extra text: {quote_ascii(value)}")
        return ""
    try:
        left = _read(chunk.element, value, fields)
    except _BadError:
        raise TimeError(_mismatch(value, chunk.element)) from None
    except _RangeError as error:
        raise TimeError(f": {error} out of range") from None
    if chunk.element in ("5", "05") and (
        following is None or following.element[:1] not in (".", ",")
    ):
        found = _FRACTION.match(left)
        if found is not None:
            fields.nanosecond = _nanoseconds(found[1])
            return left[found.end() :]
    return left


def describe(problem: str, layout: str, text: str) -> str:
    """Return Go's message for a problem found while reading `text` by `layout`."""
    where = "" if problem.startswith(": ") else f" as {quote_ascii(layout)}: "
    return f"parsing time {quote_ascii(text)}{where}{problem}"


def _mismatch(value: str, element: str) -> str:
    return f"cannot parse {quote_ascii(value)} as {quote_ascii(element)}"


def _skip(value: str, prefix: str) -> tuple[str, bool]:
    """Pass over fixed text, where any run of blanks fits any other."""
    while prefix:
        if prefix[0] == " ":
            if value and value[0] != " ":
                return value, False
            prefix, value = prefix.lstrip(" "), value.lstrip(" ")
        elif not value or value[0] != prefix[0]:
            return value, False
        else:
            prefix, value = prefix[1:], value[1:]
    return value, True


def _read(element: str, value: str, fields: Fields) -> str:
    number = _NUMBERS.get(element)
    if number is not None:
        return _read_number(number, value, fields)
    if element in _NAMES:
        return _read_name(element, value, fields)
    if element[0] in "-Z":
        return _read_offset(element, value, fields)
    if element[0] in ".,":
        return _read_fraction(element, value, fields)
    if element == "06":
        return _read_short_year(value, fields)
    if element == "MST":
        return _read_zone(value, fields)
    if value[:2] not in (("PM", "AM") if element == "PM" else ("pm", "am")):
        raise _BadError
    fields.pm = fields.pm or value[0] in "pP"
    return value[2:]


def _read_number(number: _Number, value: str, fields: Fields) -> str:
    found = number.digits.match(value)
    if found is None:
        raise _BadError
    amount = int(found[1])
    if not number.low <= amount <= number.high:
        raise _RangeError(number.name)
    setattr(fields, number.field, amount)
    return value[found.end() :]


def _read_name(element: str, value: str, fields: Fields) -> str:
    for place, name in enumerate(_NAMES[element]):
        head = value[: len(name)]
        if head.isascii() and head.lower() == name.lower():
            if element in ("January", "Jan"):
                fields.month = place + 1
            return value[len(name) :]
    raise _BadError


def _read_short_year(value: str, fields: Fields) -> str:
    if not re.match("[0-9]{2}|[+-][0-9]", value):
        raise _BadError
    year = int(value[:2])
    fields.year = year + (1900 if year >= 69 else 2000)
    return value[2:]


def _read_offset(element: str, value: str, fields: Fields) -> str:
    if element[0] == "Z" and value[:1] == "Z":
        fields.utc = True
        return value[1:]
    found = _OFFSETS[element[1:]].match(value)
    if found is None:
        raise _BadError
    sign, *parts = found.groups()
    good = all(part.isascii() and part.isdigit() for part in parts)
    amounts = [int(part) if good else 0 for part in parts] + [0, 0]
    for amount, limit, name in zip(amounts, (24, 60, 60), ("hour", "minute", "second")):  # noqa: B905 - a short offset has padding
        if amount > limit:
            raise _RangeError(f"time zone offset {name}")
    if not good or sign not in "+-":
        raise _BadError
    seconds = (amounts[0] * 60 + amounts[1]) * 60 + amounts[2]
    fields.offset = -seconds if sign == "-" else seconds
    return value[found.end() :]


def _read_zone(value: str, fields: Fields) -> str:
    if value.startswith("UTC"):
        fields.utc = True
        return value[3:]
    found = _ZONE_NAME.match(value) if len(value) >= 3 else None
    if found is None:
        raise _BadError
    fields.zone = found[0]
    return value[found.end() :]


def _read_fraction(element: str, value: str, fields: Fields) -> str:
    if element[1] == "9":
        found = _FRACTION.match(value)
        if found is None:
            return value
        fields.nanosecond = _nanoseconds(found[1])
        return value[found.end() :]
    taken = value[: len(element)]
    if len(taken) < len(element) or taken[0] not in ".,":
        raise _BadError
    digits = taken[1:10]
    if not re.fullmatch("[+-]?[0-9]*", digits):
        raise _BadError
    amount = int(digits) if digits.strip("+-") else 0
    if amount < 0:
        raise _RangeError("fractional second")
    fields.nanosecond = amount * 10 ** (9 - len(digits))
    return value[len(element) :]


def _nanoseconds(digits: str) -> int:
    return int(digits[:9].ljust(9, "0"))
