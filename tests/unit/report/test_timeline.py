"""The four views of one simulation."""

import json
import re

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import (
    Expectation,
    FailureCause,
    FailureReason,
    Hazard,
    HazardLevel,
    Simulation,
    TimelineEvent,
    Unevaluated,
)
from kyvsim.model.source import Location
from kyvsim.report import timeline_html, timeline_json, timeline_text
from kyvsim.report.timeline_rows import TimelineOptions, shown_events, time_text, title_of

POD = ObjectKey("v1", "Pod", "shop", "web")
POLICY = ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "p")
WORK = ObjectKey("kyverno.io/v2", "UpdateRequest", "kyverno", "ur-1")
NASTY = '<script>alert("x")</script> & `code`\n\x1b[31mred\x1b[0m; end: #'


def told(*events):
    """Return events with their numbers, from keyword arguments."""
    usual = {"time": 0.0, "actor": "user", "action": "create", "object": POD, "outcome": "done"}
    return tuple(
        TimelineEvent(number=number, **{**usual, **one}) for number, one in enumerate(events)
    )


def ready(before, after):
    def policy(status):
        return {"status": {"conditions": [{"type": "Ready", "status": status}]}}

    return {
        "actor": "admission",
        "action": "update status",
        "object": POLICY,
        "before": policy(before),
        "after": policy(after),
    }


@pytest.fixture
def simulation():
    """A run with one of everything, and text that means something in each format."""
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "resourceVersion": "7"}}
    changed = {**obj, "spec": {"note": NASTY}}
    return Simulation(
        "story",
        told(
            {"after": obj},
            {"outcome": "denied", "message": NASTY, "policies": ("p/r",), "time": 61.5},
            {
                "actor": "background",
                "action": "update",
                "cause": 1,
                "before": obj,
                "after": changed,
            },
            {"actor": "kubelet", "action": "wait", "outcome": "waiting", "message": "0/1 ready"},
        ),
        (changed,),
        hazards=(Hazard("KH001", HazardLevel.ERROR, NASTY, (POD,), ("p/r",), (1,)),),
        expectations=(
            Expectation("never: Pod", met=True, time=2.0),
            Expectation(
                "finally: Pod", met=False, time=3.0, reason=NASTY, location=Location("f", 2, 3)
            ),
        ),
        seconds=120.0,
        model="kyverno-1.19",
        description=NASTY,
    )


def numbers(*events):
    run = Simulation("s", told(*events), ())
    return [event.number for event in shown_events(run, every=False)]


def test_bookkeeping_is_hidden_unless_asked_for():
    quiet = [
        {"action": "update status"},
        {"action": "create binding"},
        {"actor": "setup"},
        {"outcome": "unchanged"},
        {"object": ObjectKey("v1", "Event", "shop", "e"), "actor": "admission"},
        {"object": WORK, "actor": "admission", "action": "update-request"},
    ]
    assert numbers(*quiet, {}) == [6]
    run = Simulation("s", told(*quiet), ())
    assert len(list(shown_events(run, every=True))) == 6


def test_a_policy_becomes_ready_once():
    run = Simulation("s", told(ready("False", "True"), ready("True", "True")), ())
    assert [one.action for one in shown_events(run, every=False)] == ["ready"]


def attempt(number, outcome="failed", note="no trigger", **fields):
    failure_reasons = (FailureReason(FailureCause.OTHER, note),) if note else ()
    return {
        "actor": "background",
        "action": "attempt",
        "object": WORK,
        "outcome": outcome,
        "message": f"attempt {number} of 5 for Pod web",
        "failure_reasons": failure_reasons,
        "cause": 0,
        **fields,
    }


def test_of_attempts_that_fail_the_first_and_last_are_told():
    work = {"object": WORK, "actor": "admission", "action": "update-request"}
    last = attempt(3, given_up=True)
    run = Simulation("s", told(work, attempt(1), attempt(2), last), ())
    shown = list(shown_events(run, every=False))
    assert [one.number for one in shown] == [0, 1, 3]
    assert shown[-1].full_message == "attempt 3 of 5 for Pod web: fails alike; it is given up"


def test_an_attempt_that_succeeds_is_told_by_what_it_does():
    work = {"object": WORK, "actor": "admission", "action": "update-request"}
    made = {"actor": "background", "action": "generate", "cause": 1}
    assert numbers(work, attempt(1, "done", ""), made) == [2]
    assert numbers(work, attempt(1, "done", "nothing generated: no namespace")) == [0, 1]


def test_causes_skip_what_is_hidden():
    work = {"object": WORK, "actor": "admission", "action": "update-request", "cause": 0}
    done = attempt(1, "done", "", cause=1)
    run = Simulation("s", told({}, work, done, {"actor": "background", "cause": 2}), ())
    text = "".join(timeline_text.render_text(run, TimelineOptions()))
    assert "3  0.000s  background  create  Pod shop/web                    (because of 0)" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.000s"), (59.9996, "1m00.000s"), (65.5, "1m05.500s"), (7205, "2h00m05s")],
)
def test_times_are_short(seconds, text):
    assert time_text(seconds) == text


def test_objects_without_a_name_are_told_as_such():
    assert title_of(POD._replace(name="")) == "Pod shop/(no name yet)"
    assert title_of(POLICY) == "ClusterPolicy p"


def test_text_tells_outcome_reason_hazards_and_expectations(simulation):
    text = "".join(timeline_text.render_text(simulation, TimelineOptions(width=80)))
    assert (
        "1  1m01.500s  user        create  Pod shop/web                    denied  by p/r" in text
    )
    assert "\x1b" not in text
    assert "  NOT MET  finally: Pod (f:2:3)\n" in text
    assert "  error    KH001  p/r, Pod shop/web\n" in text
    assert text.endswith(
        "4 events, 2m00.000s of virtual time, 1 hazard (1 error), 1 of 2 expectations met\n"
    )
    assert max(map(len, text.splitlines())) <= 80


def test_json_has_the_promised_fields(simulation):
    data = json.loads("".join(timeline_json.render(simulation, TimelineOptions())))
    assert list(data) == ["events", "objects", "hazards", "expectations", "summary"]
    event = data["events"][1]
    promised = {"time", "actor", "action", "object", "outcome", "message"}
    assert promised <= event.keys()
    assert event["object"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "shop",
        "name": "web",
    }
    assert {"code", "message", "objects", "policies", "level"} <= data["hazards"][0].keys()
    assert data["summary"]["unmet"] == 1
    assert data["objects"] == list(simulation.objects)


def test_json_of_an_empty_run_is_sound():
    data = json.loads("".join(timeline_json.render(Simulation("s", (), ()), TimelineOptions())))
    assert data["events"] == data["objects"] == data["hazards"] == []


def test_mermaid_keeps_every_message_on_its_line(simulation):
    lines = "".join(timeline_text.render_mermaid(simulation, TimelineOptions())).splitlines()
    assert lines[0] == "sequenceDiagram"
    known = (
        r"  (title|actor|participant) .*",
        r"  [ak]\d+(->>|-x)k\d+: [^;<>]*(#\d+;[^;<>]*)*",
        r"  Note (right of|over) [ak]\d+(,k\d+)?: .*",
    )
    for line in lines[1:]:
        assert any(re.fullmatch(pattern, line) for pattern in known), line
    assert not re.search("<(?!br/>)", "".join(lines))
    assert "#60;script#62;" in "".join(lines)


def test_page_shows_texts_of_users_as_texts(simulation):
    text = "".join(timeline_html.render(simulation, TimelineOptions()))
    assert text.count("<script>") == 1
    assert "&lt;script&gt;alert(&#34;x&#34;)" in text
    assert "<code>code</code>" in text
    assert "\x1b" not in text


def test_page_shows_versions_as_differences(simulation):
    text = "".join(timeline_html.render(simulation, TimelineOptions()))
    assert '<span class="add">+ kind: Pod</span>' in text
    assert '<span class="add">+ spec:</span>' in text
    assert "resourceVersion" not in text


@pytest.fixture
def erring():
    """A run in which rules could not be evaluated: one let in, one denied, one in a scan."""
    let_in, denies = Unevaluated("p/audit", f"no value: {NASTY}"), Unevaluated("p/r", "told above")
    return Simulation(
        "a run",
        told(
            {"unevaluated": (let_in,)},
            {"outcome": "denied", "policies": ("p/r",), "unevaluated": (denies, let_in)},
            {"actor": "reports", "action": "scan", "outcome": "failed", "unevaluated": (let_in,)},
        ),
        (),
    )


def test_views_tell_errors_apart_from_failures(erring):
    lines = "".join(timeline_text.render_text(erring, TimelineOptions())).splitlines()
    errors = [line.split() for line in lines if line.strip().startswith("error  ")]
    assert [one[1] for one in errors] == ["p/audit:", "p/r", "p/audit:", "p/audit:"]
    assert sum(line.startswith("2") and "scan" in line for line in lines) == 1
    document = json.loads("".join(timeline_json.render(erring, TimelineOptions())))
    told_in_json = [[one["rule"] for one in event["errors"]] for event in document["events"]]
    assert told_in_json == [["p/audit"], ["p/r", "p/audit"], ["p/audit"]]
    assert document["events"][0]["errors"][0]["message"].startswith("no value")
    page = "".join(timeline_html.render(erring, TimelineOptions()))
    assert page.count('<span class="tag bad">error</span>') == 4
    assert page.count("<script>") == 1
    diagram = "".join(timeline_text.render_mermaid(erring, TimelineOptions()))
    assert diagram.count("error p/audit") == 3
