"""Times to try at a place: those that durations which policies compare with lie away from now."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import parse_duration
from kyvsim.model.policy import Way

_NANOSECONDS = 1000
_ENDS = ("Timestamp", "Time")
_BESIDE = timedelta(seconds=1)


def moments(way: Way, written: Iterable[Json], now: datetime) -> Iterator[str]:
    """Yield times for a place that holds one: just as far from now as a duration, and beside that.

    Nothing for other places.
    """
    if not str(way[-1]).endswith(_ENDS):
        return
    for one in dict.fromkeys(value for value in written if isinstance(value, str)):
        found = parse_duration(one)
        if found is None:
            continue
        try:
            away = timedelta(microseconds=found // _NANOSECONDS)
            for moment in (now - away - _BESIDE, now - away, now - away + _BESIDE):
                yield moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        except OverflowError:
            continue
