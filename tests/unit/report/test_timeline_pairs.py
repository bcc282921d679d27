"""Two runs side by side: what is the same step, and what differs."""

import json

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import Expectation, Simulation, TimelineEvent
from kyvsim.report import timeline_html, timeline_json, timeline_text
from kyvsim.report.timeline_chart import pairs_of
from kyvsim.report.timeline_rows import TimelineOptions, differences

NASTY = '<img src=x onerror="owned()">\x1b[31m\u202e'


def event(number, name="web", kind="Pod", **fields):
    usual = {"time": number / 10, "actor": "user", "action": "create", "outcome": "done"}
    key = ObjectKey("v1", kind, "shop", name)
    return TimelineEvent(number=number, object=key, **{**usual, **fields})


def run(*events, **fields):
    return Simulation("s", tuple(events), (), **fields)


def told(first, second):
    return [
        (one.first and one.first.number, one.second and one.second.number, one.difference.value)
        for one in pairs_of(run(*first), run(*second), every=False)
    ]


def test_the_same_steps_are_pairs_wherever_they_stand():
    first = [event(0, "a"), event(1, "b"), event(2, "c")]
    second = [event(0, "a"), event(1, "x"), event(2, "b"), event(3, "c", time=99.0)]
    assert told(first, second) == [
        (0, 0, "alike"),
        (None, 1, "only in B"),
        (1, 2, "alike"),
        (2, 3, "alike"),
    ]
    assert told(second, first)[1] == (1, None, "only in A")


@pytest.mark.parametrize(
    "other",
    [
        {"outcome": "denied"},
        {"message": "no"},
        {"policies": ("p/r",)},
        {"after": {"kind": "Pod", "spec": {}}},
    ],
)
def test_what_comes_of_a_step_makes_it_differ(other):
    assert told([event(0)], [event(0, **other)]) == [(0, 0, "differs")]


def test_what_differed_before_a_step_makes_no_difference():
    def ready(image):
        before = {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"image": image}}
        return event(0, before=before, after={**before, "status": {"phase": "Running"}})

    assert told([ready("a")], [ready("b")]) == [(0, 0, "alike")]


def test_what_a_server_writes_anew_makes_no_difference():
    objects = [{"metadata": {"name": "web", "uid": uid, "resourceVersion": uid}} for uid in "ab"]
    first, second = (event(0, after=one) for one in objects)
    assert told([first], [second]) == [(0, 0, "alike")]


def test_names_that_chance_gave_make_no_difference():
    made = [{"metadata": {"name": f"job-{one}", "generateName": "job-"}} for one in "ab"]
    first, second = (event(0, one["metadata"]["name"], after=one) for one in made)
    assert told([first], [second])[0][:2] == (0, 0)


def test_expectations_that_are_not_the_same_are_not_compared():
    one, other = (run(expectations=(Expectation(text, met, 0.0),)) for text, met in ("a1", "b0"))
    assert list(differences(one, other)) == []


@pytest.fixture
def both():
    other = run(event(0), event(1, NASTY, message=NASTY), description=NASTY)
    return run(event(0), event(1, "gone"), compared=other)


def test_all_views_tell_both(both):
    text = "".join(timeline_text.render_text(both, TimelineOptions()))
    *_, gone, new, _, _ = text.splitlines()
    assert gone.startswith("  - 1  0.100s  user  create  Pod shop/gone")
    assert new.startswith("  + 1  0.100s  user  create  Pod shop/<img")
    assert "\x1b" not in text
    found = json.loads("".join(timeline_json.render(both, TimelineOptions())))["compared"]
    assert [one["difference"] for one in found["pairs"]] == ["alike", "only in A", "only in B"]
    assert found["summary"]["events"] == 2
    page = "".join(timeline_html.render(both, TimelineOptions()))
    assert 'id="e1"' in page
    assert 'id="f1"' in page
    assert "<img" not in page
    assert "\u202e" not in page


def test_runs_that_are_alike_are_said_to_be():
    same = run(event(0), compared=run(event(0)))
    assert "both runs end alike" in "".join(timeline_text.render_text(same, TimelineOptions()))
    assert "Both runs end alike" in "".join(timeline_html.render(same, TimelineOptions()))
