"""Functions on timestamps (RFC 3339 strings) and durations.

upstream: pkg/engine/jmespath/time.go.
"""

from datetime import datetime

from kyvsim.jmespath.functions import QueryError, function
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.go_time import Time, TimeError, from_clock, parse_rfc3339, parse_time
from kyvsim.kubernetes.quantities import (
    explain_duration,
    format_duration,
    parse_duration,
    parse_int,
)
from kyvsim.model.ports import System


def _time(text: str, layout: str | None = None) -> Time:
    """Parse a time with a layout, by default RFC 3339."""
    try:
        return parse_rfc3339(text) if layout is None else parse_time(layout, text)
    except TimeError as error:
        raise QueryError(str(error)) from None


def _duration(text: str) -> int:
    nanoseconds = parse_duration(text)
    if nanoseconds is None:
        raise QueryError(explain_duration(text))
    return nanoseconds


def _now(system: System) -> Time:
    now: datetime = system.clock.now()
    shift = now.utcoffset()
    offset = shift.days * 86_400 + shift.seconds if shift is not None else 0
    second = (now.hour * 60 + now.minute) * 60 + now.second
    time = from_clock((now.year, now.month, now.day), second, offset)
    return time.add(now.microsecond * 1_000)


def time_since(system: System, layout: str, start: str, end: str) -> str:
    """Return the duration from `start` to `end`, or to now if `end` is empty."""
    first = _time(start, layout or None)
    last = _time(end, layout or None) if end else _now(system)
    return format_duration(last.since(first))


def time_diff(start: str, end: str) -> str:
    """Return the duration from `start` to `end`."""
    first = _time(start)
    return format_duration(_time(end).since(first))


def time_parse(layout: str, text: str) -> str:
    """Return a time in a Go layout as RFC 3339; if the layout is a whole number, it is an epoch."""
    if parse_int(layout) is None:
        return str(_time(text, layout))
    seconds = parse_int(text)
    if seconds is None:
        digits = text[1:] if text[:1] in ("+", "-") else text
        is_number = digits.isascii() and digits.isdigit()
        reason = "value out of range" if is_number else "invalid syntax"
        raise QueryError(f"strconv.ParseInt: parsing {quote(text)}: {reason}")
    return str(from_clock((1970, 1, 1), seconds))


def time_to_cron(time: str) -> str:
    """Return minute, hour, day, month and weekday of a time in its own zone."""
    _, month, day, second, weekday = _time(time).civil()
    return f"{second // 60 % 60} {second // 3600} {day} {month} {weekday}"


def time_between(time: str, start: str, end: str) -> bool:
    """Return whether a time is after `start` and before `end`."""
    moment = _time(time).nanoseconds
    first = _time(start).nanoseconds
    last = _time(end).nanoseconds
    return first < moment < last


FUNCTIONS = (
    function(
        "time_since(string, string, string) string",
        "the duration between two times in a layout (empty: RFC 3339); an empty end means now",
        time_since,
        ("time_since('', '2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z')", "24h0m0s"),
        needs_system=True,
    ),
    function(
        "time_now() string", "the current time", lambda system: str(_now(system)), needs_system=True
    ),
    function(
        "time_now_utc() string",
        "the current time in UTC",
        lambda system: str(_now(system).utc()),
        needs_system=True,
    ),
    function(
        "time_to_cron(string) string",
        "a cron expression for the minute of a time",
        time_to_cron,
        ("time_to_cron('2024-01-01T15:04:05Z')", "4 15 1 1 1"),
    ),
    function(
        "time_add(string, string) string",
        "the time plus a duration",
        lambda time, duration: str(_time(time).add(_duration(duration))),
        ("time_add('2024-01-01T00:00:00Z', '1h')", "2024-01-01T01:00:00Z"),
    ),
    function(
        "time_parse(string, string) string",
        "a time in a Go layout (or, after a number, in seconds since 1970) as RFC 3339",
        time_parse,
        ("time_parse('02 Jan 2006', '03 Feb 2024')", "2024-02-03T00:00:00Z"),
    ),
    function(
        "time_utc(string) string",
        "the time in UTC",
        lambda time: str(_time(time).utc()),
        ("time_utc('2024-01-01T00:00:00+02:00')", "2023-12-31T22:00:00Z"),
    ),
    function(
        "time_diff(string, string) string",
        "the duration from the first time to the second",
        time_diff,
        ("time_diff('2024-01-01T00:00:00Z', '2024-01-01T00:01:00Z')", "1m0s"),
    ),
    function(
        "time_before(string, string) boolean",
        "whether the first time is before the second",
        lambda left, right: _time(left).nanoseconds < _time(right).nanoseconds,
        ("time_before('2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z')", True),
    ),
    function(
        "time_after(string, string) boolean",
        "whether the first time is after the second",
        lambda left, right: _time(left).nanoseconds > _time(right).nanoseconds,
        ("time_after('2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z')", False),
    ),
    function(
        "time_between(string, string, string) boolean",
        "whether the first time is between the two others (exclusive)",
        time_between,
        (
            "time_between(@[1], @[0], @[2])",
            True,
            ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"],
        ),
    ),
    function(
        "time_truncate(string, string) string",
        "the time rounded down to a multiple of a duration",
        lambda time, duration: str(_time(time).truncate(_duration(duration))),
        ("time_truncate('2024-01-01T10:47:00Z', '15m')", "2024-01-01T10:45:00Z"),
    ),
)
