"""JMESPath functions of times and durations → CEL, which has types for both."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.migrate.expressions import Relation, every
from kyvsim.migrate.known_types import TEXT
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.queries.truths import as_value
from kyvsim.migrate.values import Value

_Converter: TypeAlias = Callable[[list[Value], Scope], Value]
_NOW: Final = "time.now()"


def _moment(value: Value) -> str:
    """Return the time that a text tells."""
    return value.moment or f"timestamp({value.text})"


def _at(moment: str) -> Value:
    return Value(f"string({moment})", TEXT, moment=moment)


def _lasting(duration: str) -> Value:
    return Value(f"string({duration})", TEXT, duration=duration)


def _now(_given: list[Value], _: Scope) -> Value:
    return _at(_NOW)


def _since(given: list[Value], _: Scope) -> Value:
    layout, start, end = given
    if layout.constant != ("",):
        raise no_twin("a time in another layout than that of RFC 3339")
    last = _NOW if end.constant == ("",) else _moment(end)
    return _lasting(f"{last} - {_moment(start)}")


def _difference(given: list[Value], _: Scope) -> Value:
    start, end = given
    return _lasting(f"{_moment(end)} - {_moment(start)}")


def _sum(given: list[Value], _: Scope) -> Value:
    start, added = given
    duration = added.duration or f"duration({added.text})"
    return _at(f"{_moment(start)} + {duration}")


def _same_moment(given: list[Value], _: Scope) -> Value:
    return _at(_moment(given[0]))


def _compared(sign: str) -> _Converter:
    def convert(given: list[Value], _: Scope) -> Value:
        left, right = given
        return as_value(Relation(_moment(left), sign, _moment(right)))

    return convert


def _between(given: list[Value], _: Scope) -> Value:
    time, start, end = map(_moment, given)
    return as_value(every([Relation(time, ">", start), Relation(time, "<", end)]))


def _cron(given: list[Value], _: Scope) -> Value:
    return Value(f"time.toCron({_moment(given[0])})", TEXT)


TIMES: Final[Mapping[str, _Converter]] = MappingProxyType(
    {
        "time_now": _now,
        "time_now_utc": _now,
        "time_utc": _same_moment,
        "time_since": _since,
        "time_diff": _difference,
        "time_add": _sum,
        "time_before": _compared("<"),
        "time_after": _compared(">"),
        "time_between": _between,
        "time_to_cron": _cron,
    }
)
