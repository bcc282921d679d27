"""Times as kubectl shows them: how long ago, in one or two units.

Source of the rules: k8s.io/apimachinery pkg/util/duration HumanDuration.
"""

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_UNKNOWN = "<unknown>"
_STEPS = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Up to how many seconds there are which units: a greater one, and a lesser one or none."""


def age(stamp: str, now: datetime) -> str:
    """Return how long ago a time was, `<unknown>` for none."""
    try:
        then = datetime.fromisoformat(stamp)
    except ValueError:
        return _UNKNOWN
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return shown_seconds(int((now - then).total_seconds()))


def shown_seconds(seconds: int) -> str:
    """Return a number of seconds in one or two units."""
    if seconds < 0:
        return "0s" if seconds == -1 else "<invalid>"
    for limit, greater, unit, lesser, second in _STEPS:
        if seconds >= limit:
            continue
        rest = seconds % greater // lesser if lesser else 0
        return f"{seconds // greater}{unit}" + (f"{rest}{second}" if rest else "")
    return f"{seconds // _YEAR}y"
