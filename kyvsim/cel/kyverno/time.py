"""The current time, times cut down to a multiple of a duration, and times as cron schedules.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/time.
"""

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.values import Duration, Timestamp
from kyvsim.kubernetes.go_time import Time
from kyvsim.model.ports import Clock


def time_library(clock: Clock) -> Library:
    """Return the functions that read `clock`."""

    def now() -> Timestamp:
        moment = clock.now()
        whole = int(moment.replace(microsecond=0).timestamp())
        return Timestamp(whole * 1_000_000_000 + moment.microsecond * 1_000)

    return Library(
        "time",
        (
            function("time.now", way("() -> timestamp", now)),
            function("time.toCron", way("(timestamp) -> string", _to_cron)),
            function("time.truncate", way("(timestamp, duration) -> timestamp", _truncate)),
        ),
    )


def _to_cron(value: Timestamp) -> str:
    """Return minute, hour, day, month and weekday of a time, in its own zone."""
    _, month, day, second, weekday = Time(value.nanoseconds, value.offset).civil()
    return f"{second // 60 % 60} {second // 3600} {day} {month} {weekday}"


def _truncate(value: Timestamp, step: Duration) -> Timestamp:
    """Return the time cut down to a multiple of `step` since the year 1; as it is for none."""
    if step.nanoseconds <= 0:
        return value
    return value._replace(
        nanoseconds=Time(value.nanoseconds, value.offset).truncate(step.nanoseconds).nanoseconds
    )
