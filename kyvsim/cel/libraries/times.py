"""Parts of points in time and of durations.

Source of the rules: upstream cel-go common/stdlib/standard.go; without a zone the time is UTC.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from kyvsim.cel.environment import Function, Library, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.values import Duration, Timestamp
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.go_time import Time, from_clock

_SECOND = 1_000_000_000
_FIRST, _LAST = -62_135_510_400, 253_402_214_400
"""A day after the first second of the year 1, and a day before the last one of the year 9999."""
_NUMBER = re.compile(r"[+-]?[0-9]+")
_Part = Callable[[Time], int]


def _in_zone(value: Timestamp, zone: str) -> Time:
    if ":" not in zone:
        return Time(value.nanoseconds, _named_offset(zone, value.nanoseconds // _SECOND))
    hours, _, minutes = zone.partition(":")
    hour, minute = _whole(hours), _whole(minutes)
    offset = hour * 60 - minute if zone[0] == "-" else hour * 60 + minute
    return Time(value.nanoseconds, offset * 60)


def _whole(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise CelError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    return int(text)


@lru_cache(maxsize=64)
def _zone(name: str) -> Any:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise CelError(f"unknown time zone {name}") from None


def _named_offset(name: str, seconds: int) -> int:
    if name in {"", "UTC"}:
        return 0

    zone = _zone(name)
    # Python's years end with 9999 and begin with 1, also where the zone lies beyond them.
    moment = datetime.fromtimestamp(min(max(seconds, _FIRST), _LAST), UTC)
    offset = moment.astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _day_of_year(time: Time) -> int:
    year, *_ = time.civil()
    start = from_clock((year, 1, 1), 0, time.offset)
    return (time.nanoseconds - start.nanoseconds) // (86_400 * _SECOND)


def _getter(name: str, part: _Part, of_duration: Callable[[Duration], int] | None) -> Function:
    ways = [
        way("timestamp.() -> int", lambda value: part(Time(value.nanoseconds))),
        way("timestamp.(string) -> int", lambda value, zone: part(_in_zone(value, zone))),
    ]
    if of_duration is not None:
        ways.append(way("duration.() -> int", of_duration))
    return Function(name, tuple(ways))


def _whole_units(nanoseconds: int) -> Callable[[Duration], int]:
    def units(value: Duration) -> int:
        found = abs(value.nanoseconds) // nanoseconds
        return -found if value.nanoseconds < 0 else found

    return units


TIMES = Library(
    "times",
    (
        _getter("getFullYear", lambda time: time.civil()[0], None),
        _getter("getMonth", lambda time: time.civil()[1] - 1, None),
        _getter("getDayOfYear", _day_of_year, None),
        _getter("getDayOfMonth", lambda time: time.civil()[2] - 1, None),
        _getter("getDate", lambda time: time.civil()[2], None),
        _getter("getDayOfWeek", lambda time: time.civil()[4], None),
        _getter("getHours", lambda time: time.civil()[3] // 3600, _whole_units(3600 * _SECOND)),
        _getter("getMinutes", lambda time: time.civil()[3] // 60 % 60, _whole_units(60 * _SECOND)),
        _getter("getSeconds", lambda time: time.civil()[3] % 60, _whole_units(_SECOND)),
        _getter(
            "getMilliseconds",
            lambda time: time.nanoseconds % _SECOND // 1_000_000,
            _whole_units(1_000_000),
        ),
    ),
)
