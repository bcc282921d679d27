from datetime import UTC, datetime, timedelta, timezone

import pytest

from kyvsim.jmespath.functions import QueryError, function_named
from kyvsim.model.ports import Meter, System


def code(name):
    return function_named(name).code


time_before = code("time_before")
time_between = code("time_between")
time_now = code("time_now")
time_now_utc = code("time_now_utc")
time_parse = code("time_parse")
time_since = code("time_since")


class Fixed:
    def __init__(self, moment):
        self.moment = moment

    def now(self):
        return self.moment


def env(zone=UTC):
    return System(
        clock=Fixed(datetime(2024, 6, 15, 12, 0, 0, 500, zone)), entropy=None, meter=Meter()
    )


def test_now_comes_from_the_clock():
    east = env(timezone(timedelta(hours=2)))
    assert time_now(env()) == "2024-06-15T12:00:00Z"
    assert time_now(east) == "2024-06-15T12:00:00+02:00"
    assert time_now_utc(east) == "2024-06-15T10:00:00Z"
    assert time_since(env(), "", "2024-06-15T11:00:00Z", "") == "1h0m0.0005s"
    west = env(timezone(timedelta(hours=-3, minutes=-30)))
    assert time_now(west) == "2024-06-15T12:00:00-03:30"


def test_numbers_as_layout_mean_seconds():
    assert time_parse("0", "1718454645") == "2024-06-15T12:30:45Z"
    with pytest.raises(QueryError, match="invalid syntax"):
        time_parse("0", "x")
    with pytest.raises(QueryError, match="value out of range"):
        time_parse("0", "9" * 20)


def test_an_empty_layout_is_rfc3339_for_time_since_only():
    assert time_since(env(), "2006", "2024", "2025") == "8784h0m0s"
    with pytest.raises(QueryError):
        time_parse("", "2024-01-01T00:00:00Z")


def test_both_ends_are_excluded():
    moment = "2024-01-01T00:00:00Z"
    assert not time_between(moment, moment, "2024-01-02T00:00:00Z")
    assert not time_before(moment, "2024-01-01T01:00:00+01:00")
    with pytest.raises(QueryError):
        time_between(moment, moment, "x")
