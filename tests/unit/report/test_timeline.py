"""Views of simulations."""

import json
import re
from itertools import pairwise

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import (
    Expectation,
    FailureCause,
    FailureReason,
    Hazard,
    HazardLevel,
    Interleavings,
    ScenarioEnding,
    Simulation,
    TimelineEvent,
    Unevaluated,
)
from kyvsim.model.source import Location
from kyvsim.report import timeline_formats
from kyvsim.report.run import ending_line
from kyvsim.report.timeline_chart import (
    Repeat,
    chart_of,
    labels,
    lanes_of,
    pairs_of,
    places,
    repeats,
    wait_step,
)
from kyvsim.report.timeline_rows import (
    EndDifference,
    SimulationTerms,
    TimelineOptions,
    differences,
    interleavings_text,
    shown_events,
    simulation_ending,
    time_text,
    title_of,
)

# The four views of one simulation.

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
    assert (
        shown[-1].full_message
        == "attempt 3 of 5 for Pod web: fails again; no more attempts are made"
    )


def test_an_attempt_that_succeeds_is_told_by_what_it_does():
    work = {"object": WORK, "actor": "admission", "action": "update-request"}
    made = {"actor": "background", "action": "generate", "cause": 1}
    assert numbers(work, attempt(1, "done", ""), made) == [2]
    assert numbers(work, attempt(1, "done", "nothing generated: no namespace")) == [0, 1]


def test_causes_skip_what_is_hidden():
    work = {"object": WORK, "actor": "admission", "action": "update-request", "cause": 0}
    done = attempt(1, "done", "", cause=1)
    run = Simulation("s", told({}, work, done, {"actor": "background", "cause": 2}), ())
    text = "".join(timeline_formats.render_text(run, TimelineOptions()))
    assert (
        "3  0.000s  background  create  Pod shop/web                    (because of event 0)"
        in text
    )


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
    text = "".join(timeline_formats.render_text(simulation, TimelineOptions(width=80)))
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
    data = json.loads("".join(timeline_formats.render_json(simulation, TimelineOptions())))
    lists = ["events", "objects", "hazards", "unaffected", "expectations", "diagnostics"]
    assert list(data) == [*lists, "ending", "summary", "kyvsim"]
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
    data = json.loads(
        "".join(timeline_formats.render_json(Simulation("s", (), ()), TimelineOptions()))
    )
    assert data["events"] == data["objects"] == data["hazards"] == []


def test_mermaid_keeps_every_message_on_its_line(simulation):
    lines = "".join(timeline_formats.render_mermaid(simulation, TimelineOptions())).splitlines()
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
    text = "".join(timeline_formats.render_html(simulation, TimelineOptions()))
    assert text.count("<script>") == 1
    assert "&lt;script&gt;alert(&#34;x&#34;)" in text
    assert "<code>code</code>" in text
    assert "\x1b" not in text


def test_page_shows_versions_as_differences(simulation):
    text = "".join(timeline_formats.render_html(simulation, TimelineOptions()))
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
    lines = "".join(timeline_formats.render_text(erring, TimelineOptions())).splitlines()
    errors = [line.split() for line in lines if line.strip().startswith("error  ")]
    assert [one[1] for one in errors] == ["p/audit:", "p/r", "p/audit:", "p/audit:"]
    assert sum(line.startswith("2") and "scan" in line for line in lines) == 1
    document = json.loads("".join(timeline_formats.render_json(erring, TimelineOptions())))
    told_in_json = [[one["rule"] for one in event["errors"]] for event in document["events"]]
    assert told_in_json == [["p/audit"], ["p/r", "p/audit"], ["p/audit"]]
    assert document["events"][0]["errors"][0]["message"].startswith("no value")
    page = "".join(timeline_formats.render_html(erring, TimelineOptions()))
    assert page.count('<span class="tag bad">error</span>') == 4
    assert page.count("<script>") == 1
    diagram = "".join(timeline_formats.render_mermaid(erring, TimelineOptions()))
    assert diagram.count("error p/audit") == 3


# What the page of a simulation is made of: its axis, its cards, its folds, its chart.

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
    assert [one.card.event.number for one in chart.dots if one.card.style == "bad"] == [7]
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


# Two runs side by side: what is the same step, and what differs.

NASTY_PAIR = '<img src=x onerror="owned()">\x1b[31m\u202e'


def pair_event(number, name="web", kind="Pod", **fields):
    usual = {"time": number / 10, "actor": "user", "action": "create", "outcome": "done"}
    key = ObjectKey("v1", kind, "shop", name)
    return TimelineEvent(number=number, object=key, **{**usual, **fields})


def pair_run(*events, **fields):
    return Simulation("s", tuple(events), (), **fields)


def pairs_text(first, second):
    return [
        (one.first and one.first.number, one.second and one.second.number, one.difference.value)
        for one in pairs_of(pair_run(*first), pair_run(*second), every=False)
    ]


def test_the_same_steps_are_pairs_wherever_they_stand():
    first = [pair_event(0, "a"), pair_event(1, "b"), pair_event(2, "c")]
    second = [
        pair_event(0, "a"),
        pair_event(1, "x"),
        pair_event(2, "b"),
        pair_event(3, "c", time=99.0),
    ]
    assert pairs_text(first, second) == [
        (0, 0, "alike"),
        (None, 1, "only in B"),
        (1, 2, "alike"),
        (2, 3, "alike"),
    ]
    assert pairs_text(second, first)[1] == (1, None, "only in A")


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
    assert pairs_text([pair_event(0)], [pair_event(0, **other)]) == [(0, 0, "differs")]


def test_what_differed_before_a_step_makes_no_difference():
    def ready(image):
        before = {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"image": image}}
        return pair_event(0, before=before, after={**before, "status": {"phase": "Running"}})

    assert pairs_text([ready("a")], [ready("b")]) == [(0, 0, "alike")]


def test_what_a_server_writes_anew_makes_no_difference():
    objects = [{"metadata": {"name": "web", "uid": uid, "resourceVersion": uid}} for uid in "ab"]
    first, second = (pair_event(0, after=one) for one in objects)
    assert pairs_text([first], [second]) == [(0, 0, "alike")]


def test_names_that_chance_gave_make_no_difference():
    made = [{"metadata": {"name": f"job-{one}", "generateName": "job-"}} for one in "ab"]
    first, second = (pair_event(0, one["metadata"]["name"], after=one) for one in made)
    assert pairs_text([first], [second])[0][:2] == (0, 0)


def test_expectations_that_are_not_the_same_are_not_compared():
    one, other = (
        pair_run(expectations=(Expectation(text, met, 0.0),)) for text, met in ("a1", "b0")
    )
    assert list(differences(one, other)) == []


@pytest.fixture
def both():
    other = pair_run(
        pair_event(0), pair_event(1, NASTY_PAIR, message=NASTY_PAIR), description=NASTY_PAIR
    )
    return pair_run(pair_event(0), pair_event(1, "gone"), compared=other)


def test_all_views_tell_both(both):
    text = "".join(timeline_formats.render_text(both, TimelineOptions()))
    *_, gone, new, _, _ = text.splitlines()
    assert gone.startswith("  - 1  0.100s  user  create  Pod shop/gone")
    assert new.startswith("  + 1  0.100s  user  create  Pod shop/<img")
    assert "\x1b" not in text
    found = json.loads("".join(timeline_formats.render_json(both, TimelineOptions())))["compared"]
    assert [one["difference"] for one in found["pairs"]] == ["alike", "only in A", "only in B"]
    assert found["summary"]["events"] == 2
    page = "".join(timeline_formats.render_html(both, TimelineOptions()))
    assert 'id="e1"' in page
    assert 'id="f1"' in page
    assert "<img" not in page
    assert "\u202e" not in page


def test_runs_that_are_alike_are_said_to_be():
    same = pair_run(pair_event(0), compared=pair_run(pair_event(0)))
    assert "both runs end in the same state" in "".join(
        timeline_formats.render_text(same, TimelineOptions())
    )
    assert "Both runs end in the same state" in "".join(
        timeline_formats.render_html(same, TimelineOptions())
    )


# What one end of a scenario has otherwise than another.

UNCOUNTED = "3 hazards not counted (1 error, 1 warning, 1 info)"


def config_map(name, **data):
    meta = {"name": name, "namespace": "shop", "uid": "u", "resourceVersion": "1"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def ended(*objects, met=True, hazards=()):
    expected = (Expectation("it comes", met, 0.0),)
    found = tuple(Hazard(code, HazardLevel.ERROR, "why") for code in hazards)
    return Simulation("s", (), objects, found, expected)


def ending_texts(usual, other):
    return [tuple(one) for one in differences(usual, other)]


def test_objects_are_missing_further_or_different():
    usual = ended(config_map("a"), config_map("b", key="1"))
    other = ended(config_map("b", key="2"), config_map("c"))
    assert ending_texts(usual, other) == [
        ("missing", "ConfigMap shop/a"),
        ("further", "ConfigMap shop/c"),
        ("differs", "ConfigMap shop/b: data.key `2`, not `1`"),
    ]


def test_values_are_written_as_in_yaml():
    usual = ended(config_map("a", on=True, size=None, list=[1]))
    other = ended(config_map("a", on=False, size=1.5, list=[]))
    fields = (
        "data.on `false`, not `true`; data.size `1.5`, not absent; data.list 0 entries, not 1 entry"
    )
    assert ending_texts(usual, other) == [("differs", f"ConfigMap shop/a: {fields}")]


def test_what_a_server_writes_anew_is_no_difference():
    first, second = config_map("a"), config_map("a")
    second["metadata"] |= {"uid": "v", "resourceVersion": "9"}
    assert ending_texts(ended(first), ended(second)) == []


def test_fields_that_come_and_go_are_told_and_not_all_of_them():
    before = config_map("a", **dict.fromkeys("abcdef", "x"))
    (found,) = ending_texts(ended(before), ended(config_map("a")))
    assert found[1].startswith("ConfigMap shop/a: data.a absent, not `x`; ")
    assert found[1].endswith(" and 2 more")


def test_generated_names_are_alike_whatever_chance_gave():
    def pod(suffix):
        meta = {"name": f"a-{suffix}", "generateName": "a-", "namespace": "shop"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta}

    assert ending_texts(ended(pod("x")), ended(pod("y"))) == []


def test_expectations_and_hazards_are_compared():
    found = differences(ended(hazards=["KH001"]), ended(met=False, hazards=["KH005"]))
    assert list(found) == [
        EndDifference("not met", "it comes"),
        EndDifference("hazard", "KH005: why"),
        EndDifference("no hazard", "KH001"),
    ]


def test_the_extent_of_the_search_is_told():
    one = ScenarioEnding(ended(), 0, 3)
    whole = Interleavings(3, complete=True, most_changes=2, endings=(one,))
    assert interleavings_text(whole) == (
        "3 interleavings tried (all with up to 2 reorderings): 1 ending"
    )
    assert "more exist" in interleavings_text(whole._replace(complete=False))


@pytest.mark.parametrize(
    ("least", "line"),
    [
        ("error", "FAILED: 1 hazard of level error · 2 further hazards · 0 events"),
        (
            "none",
            f"NOTHING CHECKED: no rule matched · {UNCOUNTED} · 0 events",
        ),
    ],
)
def test_hazards_that_do_not_count_are_not_called_lesser_where_they_are_errors(least, line):
    levels = (HazardLevel.ERROR, HazardLevel.WARNING, HazardLevel.INFO)
    hazards = tuple(Hazard("KH001", level, "x") for level in levels)
    found = simulation_ending(Simulation("x", (), (), hazards), SimulationTerms(least=least))
    status = int(least == "error")
    assert ending_line(found) == f"{line} · Kyverno 1.19.1 · exit status {status}"
    none = simulation_ending(Simulation("x", (), (), hazards[1:]), SimulationTerms(least=least))
    assert "2 hazards below --fail-on" in ending_line(none)
