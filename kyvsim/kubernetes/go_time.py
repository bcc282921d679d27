"""Points in time as parsed and printed by Go: RFC 3339 and Go's own layouts.

upstream: Go's time package (format.go, format_rfc3339.go, time.go). There is no local time zone:
times with a zone name other than UTC are read as UTC, as upstream does in a UTC container.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from kyvsim.kubernetes.quantities import SECOND, quote_ascii

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

# Regular expressions are strings here, which `re` compiles on first use, if at all.
_ELEMENT = (
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|3|4|5|PM|pm"
    r"|[-Z]070000|[-Z]07:00:00|[-Z]0700|[-Z]07:00|[-Z]07|[.,](?:0+|9+)(?![0-9])"
)


class TimeError(ValueError):
    """A string that is not a time; the message is Go's."""


class LayoutElement(NamedTuple):
    """Fixed text and the element that follows it ("" at the end of a layout)."""

    prefix: str
    element: str


class DateFields:
    """The fields of a time that is being parsed; None or -1 if not set yet."""

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
    """The text does not match the element."""


class _RangeError(Exception):
    """The text matches the element, but the number is out of range."""


class _Number(NamedTuple):
    digits: str
    field: str
    low: int = 0
    high: int = 999
    name: str = ""


_ONE_OR_TWO = "([0-9]{1,2})"
_TWO = "([0-9]{2})"
_NUMBERS: Mapping[str, _Number] = {
    "1": _Number(_ONE_OR_TWO, "month", 1, 12, "month"),
    "01": _Number(_TWO, "month", 1, 12, "month"),
    "2": _Number(_ONE_OR_TWO, "day"),
    "_2": _Number(" ?([0-9]{1,2})", "day"),
    "02": _Number(_TWO, "day"),
    "__2": _Number(" {0,2}([0-9]{1,3})", "year_day"),
    "002": _Number("([0-9]{3})", "year_day"),
    "15": _Number(_ONE_OR_TWO, "hour", 0, 23, "hour"),
    "3": _Number(_ONE_OR_TWO, "hour", 0, 12, "hour"),
    "03": _Number(_TWO, "hour", 0, 12, "hour"),
    "4": _Number(_ONE_OR_TWO, "minute", 0, 59, "minute"),
    "04": _Number(_TWO, "minute", 0, 59, "minute"),
    "5": _Number(_ONE_OR_TWO, "second", 0, 59, "second"),
    "05": _Number(_TWO, "second", 0, 59, "second"),
    "2006": _Number("([0-9]{4})", "year", 0, 9999),
}
_NAMES: Mapping[str, tuple[str, ...]] = {
    "January": MONTHS,
    "Jan": tuple(name[:3] for name in MONTHS),
    "Monday": _WEEKDAYS,
    "Mon": tuple(name[:3] for name in _WEEKDAYS),
}
_OFFSETS: Mapping[str, str] = {
    "0700": "(?s)(.)(..)(..)",
    "07:00": "(?s)(.)(..):(..)",
    "07": "(?s)(.)(..)",
    "070000": "(?s)(.)(..)(..)(..)",
    "07:00:00": "(?s)(.)(..):(..):(..)",
}
_ZONE_NAME = (
    r"ChST|MeST|GMT(?:[+-]0*(?:2[0-3]|1?[0-9])(?![0-9]))?|[+-]0*(?:2[0-3]|1?[0-9])(?![0-9])"
    r"|(?:[A-Z]{4}T|[A-Z]{3}T|WITA|[A-Z]{3})(?![A-Z])"
)
_FRACTION = "[.,]([0-9]+)"


@lru_cache(maxsize=64)
def split_layout(layout: str) -> tuple[LayoutElement, ...]:
    """Return the elements of a layout with their prefixes; the last one has no element."""
    chunks: list[LayoutElement] = []
    start = 0
    for found in re.finditer(_ELEMENT, layout):
        chunks.append(LayoutElement(layout[start : found.start()], found[0]))
        start = found.end()
    return (*chunks, LayoutElement(layout[start:], ""))


def _read_chunk(
    chunk: LayoutElement, following: LayoutElement | None, rest: str, fields: DateFields
) -> str:
    """Parse the beginning of `rest` according to `chunk` into `fields`; return the rest.

    Raises TimeError; `parse_time` adds text and layout to its message.
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
        found = re.match(_FRACTION, left)
        if found is not None:
            fields.nanosecond = _nanoseconds(found[1])
            return left[found.end() :]
    return left


def _mismatch(value: str, element: str) -> str:
    return f"cannot parse {quote_ascii(value)} as {quote_ascii(element)}"


def _skip(value: str, prefix: str) -> tuple[str, bool]:
    """Skip fixed text, in which any run of spaces matches any other."""
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


def _read(element: str, value: str, fields: DateFields) -> str:
    number = _NUMBERS.get(element)
    if number is not None:
        found = re.match(number.digits, value)
        if found is None:
            raise _BadError
        amount = int(found[1])
        if not number.low <= amount <= number.high:
            raise _RangeError(number.name)
        setattr(fields, number.field, amount)
        return value[found.end() :]
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


def _read_name(element: str, value: str, fields: DateFields) -> str:
    for place, name in enumerate(_NAMES[element]):
        head = value[: len(name)]
        if head.isascii() and head.lower() == name.lower():
            if element in ("January", "Jan"):
                fields.month = place + 1
            return value[len(name) :]
    raise _BadError


def _read_short_year(value: str, fields: DateFields) -> str:
    if not re.match("[0-9]{2}|[+-][0-9]", value):
        raise _BadError
    year = int(value[:2])
    fields.year = year + (1900 if year >= 69 else 2000)
    return value[2:]


def _read_offset(element: str, value: str, fields: DateFields) -> str:
    if element[0] == "Z" and value[:1] == "Z":
        fields.utc = True
        return value[1:]
    found = re.match(_OFFSETS[element[1:]], value)
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


def _read_zone(value: str, fields: DateFields) -> str:
    if value.startswith("UTC"):
        fields.utc = True
        return value[3:]
    found = re.match(_ZONE_NAME, value) if len(value) >= 3 else None
    if found is None:
        raise _BadError
    fields.zone = found[0]
    return value[found.end() :]


def _read_fraction(element: str, value: str, fields: DateFields) -> str:
    if element[1] == "9":
        found = re.match(_FRACTION, value)
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


RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_MAX_DURATION = (1 << 63) - 1
_YEAR_ONE_TO_1970 = 62_135_596_800 * SECOND
_DAY = 86_400
_STRICT = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_MONTH_STARTS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)


class Time(NamedTuple):
    """A point in time: nanoseconds since 1970 in UTC, and the zone's offset in seconds."""

    nanoseconds: int
    offset: int = 0

    def add(self, nanoseconds: int) -> "Time":
        """Return the time with a duration added, in the same zone."""
        return Time(self.nanoseconds + nanoseconds, self.offset)

    def since(self, start: "Time") -> int:
        """Return the nanoseconds from `start` to this time, limited to Go's durations."""
        return max(-_MAX_DURATION - 1, min(_MAX_DURATION, self.nanoseconds - start.nanoseconds))

    def truncate(self, nanoseconds: int) -> "Time":
        """Return the time rounded down to a multiple of a duration since year 1."""
        if nanoseconds <= 0:
            return self
        return self.add(-((self.nanoseconds + _YEAR_ONE_TO_1970) % nanoseconds))

    def utc(self) -> "Time":
        """Return the same point in time in UTC."""
        return Time(self.nanoseconds)

    def civil(self) -> tuple[int, int, int, int, int]:
        """Return year, month, day, second of the day, and weekday (0 is Sunday) in the zone."""
        days, second = divmod(self.nanoseconds // SECOND + self.offset, _DAY)
        year = 1970 + days * 400 // 146_097
        while _days(year, 1, 1) > days:
            year -= 1
        while _days(year + 1, 1, 1) <= days:
            year += 1
        month, day = _from_year_day(year, days - _days(year, 1, 1) + 1)
        return year, month, day, second, (days + 4) % 7

    def __str__(self) -> str:
        """Return the time as RFC 3339, without its fraction of a second."""
        year, month, day, second, _ = self.civil()
        minute, second = divmod(second, 60)
        hour, minute = divmod(minute, 60)
        sign = "-" if year < 0 else ""
        clock = f"{hour:02d}:{minute:02d}:{second:02d}"
        zone = "Z"
        if self.offset:
            minutes = abs(self.offset) // 60
            east = "-" if self.offset < 0 and minutes else "+"
            zone = f"{east}{minutes // 60:02d}:{minutes % 60:02d}"
        return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{clock}{zone}"


def from_clock(date: tuple[int, int, int], second: int, offset: int = 0) -> Time:
    """Return the time for (year, month, day) and the second of the day in a zone."""
    return Time((_days(*date) * _DAY + second - offset) * SECOND, offset)


def parse_rfc3339(text: str) -> Time:
    """Return the time of an RFC 3339 text; raises TimeError with Go's message."""
    found = re.fullmatch(_STRICT, text)
    if found is not None:
        year, month, day, hour, minute, second = map(int, found.groups()[:6])
        fraction, sign, zone_hours, zone_minutes = found.groups()[6:]
        fits = hour < 24 and minute < 60 and second < 60
        if fits and 1 <= month <= 12 and 1 <= day <= _days_in(month, year):
            zone = int(zone_hours or "0") * 60 + int(zone_minutes or "0")
            if int(zone_hours or "0") < 24 and int(zone_minutes or "0") < 60:
                offset = (-60 if sign == "-" else 60) * zone
                time = from_clock((year, month, day), (hour * 60 + minute) * 60 + second, offset)
                return time.add(_nanoseconds(fraction or "0"))
    return parse_time(RFC3339, text)


def parse_time(layout: str, text: str) -> Time:
    """Return the time of a text in Go's `layout`; raises TimeError with Go's message."""
    fields = DateFields()
    rest = text
    chunks = split_layout(layout)
    try:
        for chunk, following in zip(chunks, (*chunks[1:], None), strict=True):
            rest = _read_chunk(chunk, following, rest, fields)
        _settle_date(fields)
    except TimeError as error:
        where = "" if str(error).startswith(": ") else f" as {quote_ascii(layout)}: "
        raise TimeError(f"parsing time {quote_ascii(text)}{where}{error}") from None
    hour = fields.hour
    if fields.pm and hour < 12:
        hour += 12
    elif fields.pm is False and hour == 12:
        hour = 0
    second = (hour * 60 + fields.minute) * 60 + fields.second
    date = (fields.year, fields.month, fields.day)
    if not fields.utc and fields.offset != -1:
        return from_clock(date, second, fields.offset).add(fields.nanosecond)
    time = from_clock(date, second).add(fields.nanosecond)
    if not fields.utc and fields.zone.startswith("GMT") and fields.zone != "GMT":
        # upstream: the offset in `GMT+3` changes the shown clock, not the point in time
        return Time(time.nanoseconds, int(fields.zone[3:]) * 3600)
    return time


def _settle_date(fields: DateFields) -> None:
    """Set month and day, from the day of the year if that was given."""
    if fields.year_day >= 0:
        month, day = _from_year_day(fields.year, fields.year_day)
        if fields.month not in (-1, month):
            raise TimeError(": day-of-year does not match month")
        if fields.day not in (-1, day):
            raise TimeError(": day-of-year does not match day")
        fields.month, fields.day = month, day
    fields.month = 1 if fields.month < 0 else fields.month
    fields.day = 1 if fields.day < 0 else fields.day
    if not 1 <= fields.day <= _days_in(fields.month, fields.year):
        raise TimeError(": day out of range")


def _from_year_day(year: int, year_day: int) -> tuple[int, int]:
    leap = _is_leap(year)
    if not 1 <= year_day <= 365 + leap:
        raise TimeError(": day-of-year out of range")
    if leap and year_day == 60:
        return 2, 29
    if leap and year_day > 60:
        year_day -= 1
    month = next(place for place, days in enumerate(_MONTH_STARTS) if days >= year_day)
    return month, year_day - _MONTH_STARTS[month - 1]


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(month: int, year: int) -> int:
    if month == 2 and _is_leap(year):
        return 29
    return _MONTH_STARTS[month] - _MONTH_STARTS[month - 1]


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a Gregorian date."""
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400
    days += _MONTH_STARTS[month - 1] + (month > 2 and _is_leap(year)) + day - 1
    return days - _YEAR_ONE_TO_1970 // SECOND // _DAY
