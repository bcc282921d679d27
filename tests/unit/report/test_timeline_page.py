"""What the page of a simulation is made of: its axis, its cards, its folds, its chart."""

from itertools import pairwise

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import Simulation, TimelineEvent
from kyvsim.report.timeline_chart import (
    Repeat,
    chart_of,
    labels,
    lanes_of,
    places,
    repeats,
    wait_step,
)

HOUR = 3600.0


def event(number, time=0.0, name="web", **fields):
    usual = {"actor": "user", "action": "create", "outcome": "done"}
    key = ObjectKey("v1", "Pod", "shop", name)
    return TimelineEvent(number=number, time=time, object=key, **{**usual, **fields})


def run(*events):
    return Simulation("s", tuple(events), (), seconds=events[-1].time if events else 0.0)


@pytest.mark.parametrize(
    ("seconds", "step"),
    [(0, 0), (0.0009, 0), (0.001, 1), (0.01, 2), (0.5, 3), (1, 4), (59, 5), (2 * HOUR, 7)],
)
def test_waits_have_tenfold_steps(seconds, step):
    assert wait_step(seconds) == step


def test_a_burst_after_hours_is_as_wide_as_one_at_the_beginning():
    burst = [0.0, 0.002, 0.009]
    at = places([*burst, *(2 * HOUR + one for one in burst)])
    assert at == sorted(at)
    first, later = at[2] - at[0], at[5] - at[3]
    assert first == pytest.approx(later, abs=0.05)
    assert at[3] - at[2] > at[2] - at[1] > at[1] - at[0] > 1


def test_events_of_one_moment_are_told_apart():
    at = places([1.0] * 5)
    assert all(after > before for before, after in pairwise(at))
    assert 0 < at[0] < at[-1] < 100
    assert places([]) == []


def test_labels_have_room_and_name_the_ends():
    times = [0.0, 0.001, 0.002, 5.0, 5.001, HOUR, HOUR + 0.01, HOUR + 0.02]
    at = places(times)
    found = labels(times, at)
    assert {one.number for one in found} >= {0, len(times) - 1}
    assert all(after.at - before.at >= 9 for before, after in pairwise(found))
    wide = [one.at for one in found if not one.is_minor]
    assert all(after - before >= 30 for before, after in pairwise(wide))
    assert labels([], []) == []


def test_rounds_that_are_alike_are_one_repeat():
    events = [event(0)]
    for number in range(4):
        events.append(event(1 + 2 * number, name=f"a{number}", actor="background"))
        events.append(event(2 + 2 * number, name=f"b{number}", actor="kubelet", message="up"))
    assert list(repeats([*events, event(9)])) == [Repeat(1, 2, 4)]


@pytest.mark.parametrize(
    "other",
    [{"outcome": "denied"}, {"actor": "kubelet"}, {"message": "other"}, {"policies": ("p",)}],
)
def test_what_differs_is_no_repeat(other):
    assert list(repeats([event(0), event(1), event(2, **other), event(3)])) == []
    assert list(repeats([event(0), event(1), event(2)])) == [Repeat(0, 1, 3)]


def test_names_in_messages_do_not_make_rounds_differ():
    some = [event(one, name=f"n{one}", message=f"n{one} is up") for one in range(3)]
    assert list(repeats(some)) == [Repeat(0, 1, 3)]


def test_all_but_the_first_round_are_folded():
    cards = lanes_of(run(*(event(one, one / 1000, f"n{one}") for one in range(6)))).cards
    assert [one.fold for one in cards] == [None, 0, 0, 0, 0, 0]
    (said,) = (one.folds for one in cards if one.folds)
    names = "Pod shop/n1, Pod shop/n2, Pod shop/n3 and 2 more"
    assert said == f"#0 again, 5 times more until 0.005s (#1 to #5): {names}"


def test_a_card_has_one_lane_its_cause_and_the_wait_before_it():
    bookkeeping = event(1, 0.001, actor="cluster")
    effect = event(2, 2 * HOUR, actor="background", action="generate", cause=1)
    found = lanes_of(run(event(0), bookkeeping._replace(cause=0), effect))
    assert found.names == ("user", "background")
    assert found.hidden == 1
    first, noise, last = found.cards
    assert (first.lane, noise.lane, last.lane) == (0, 0, 1)
    assert noise.is_noise
    assert last.cause.number == 0
    assert last.wait == "2h00m00s later"
    assert (first.wait, first.step) == ("", 0)


def test_the_wait_until_the_end_is_told():
    lanes = lanes_of(run(event(0))._replace(seconds=2 * HOUR))
    assert (lanes.step, lanes.wait) == (7, "2h00m00s later")
    assert lanes_of(run(event(0), event(1, 0.5))).wait == ""


def test_a_long_message_is_told_once():
    denial = "admission webhook denied the request: " + "because of a long reason " * 3
    some = (event(one, outcome="denied", message=denial, name=f"n{one}") for one in range(2))
    first, second = lanes_of(run(*some)).cards
    assert (first.same_as, second.same_as) == (None, 0)
    short = lanes_of(run(event(0, message="up"), event(1, message="up"))).cards
    assert [one.same_as for one in short] == [None, None]


def test_the_time_of_one_moment_is_told_once():
    cards = lanes_of(run(event(0), event(1, name="b", actor="kubelet"), event(2, 1.0))).cards
    assert [one.time for one in cards] == ["0.000s", "", "1.000s"]


def test_dots_that_fall_together_are_one_which_shows_the_worst():
    some = [event(one, actor="user") for one in range(2000)]
    some[7] = some[7]._replace(outcome="failed")
    lanes = lanes_of(run(*some))
    chart = chart_of(lanes, 0.0)
    assert len(chart.dots) < 400
    assert sum(one.events for one in chart.dots) == 2000
    assert [one.card.event.number for one in chart.dots if one.card.looks == "bad"] == [7]
    assert chart.dots[-1].card.event.number == 7


def test_the_chart_reaches_to_the_end_of_the_run_and_has_arrows():
    effect = event(1, 0.5, actor="background", cause=0)
    chart = chart_of(lanes_of(run(event(0), effect)), HOUR)
    (arrow,) = chart.arrows
    assert (arrow.start.card.event.number, arrow.end.card.event.number) == (0, 1)
    assert chart.moments[-1][1] == "1h00m00s"
    assert chart.moments[-1][0].at > arrow.end.at


def test_a_run_without_events_has_an_empty_chart():
    assert chart_of(lanes_of(run()), 0.0).dots == ()
