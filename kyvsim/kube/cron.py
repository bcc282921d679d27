"""Schedules: the next times at which a cron expression is due.

Kyverno reads schedules with github.com/aptible/supercronic/cronexpr: five fields, a sixth for the
year, a seventh in front for the second, or a name such as `@daily`. All times are UTC.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from types import MappingProxyType

_NAMES = MappingProxyType(
    {
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
        "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *",
        "@hourly": "0 * * * *",
    }
)
_YEARS = range(1970, 2100)


def next_times(schedule: str, after: datetime, count: int) -> list[datetime]:
    """Return the first `count` times after a moment in UTC; fewer where the years run out.

    Raises ValueError where the schedule cannot be read.
    """
    fields = _NAMES.get(schedule.strip(), schedule).split()
    if len(fields) < 5:
        raise ValueError("missing field(s)")
    second = fields[:1] if len(fields) > 6 else []
    year = fields[-1] if len(fields) > 5 else "*"
    year = fields[6] if len(fields) > 6 else year
    middle = fields[1:6] if second else fields[:5]
    years = set(_years(year))
    times = _times(" ".join([*second, *middle]).replace("?", "*"), after, max(years, default=0))
    return list(islice((time for time in times if time.year in years), count))


def _times(expression: str, after: datetime, last_year: int) -> Iterator[datetime]:
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 — rarely needed

    try:
        times = CronSim(expression, after)
    except CronSimError as error:
        raise ValueError(str(error)) from error
    for time in times:
        if time.year > last_year:
            return
        yield time


def _years(field: str) -> Iterator[int]:
    """Yield the years that a field names: `*`, `2030`, `2030-2032`, `*/2`, lists of these."""
    for part in field.split(","):
        base, _, step = part.partition("/")
        first, _, last = base.partition("-")
        every = base in {"*", "?"}
        start = _YEARS.start if every else int(first)
        single = not last and not step and not every
        end = start if single else int(last) if last else _YEARS.stop - 1
        yield from range(start, end + 1, int(step or 1))
