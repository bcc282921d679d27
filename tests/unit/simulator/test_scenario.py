"""Scenarios from beginning to end."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kyvsim.api.simulate import SimulateInputs, simulate

# Scenarios as people write them, played.

ROOT = Path(__file__).parents[3]
HEAD = "apiVersion: kyvsim/v1\nkind: Scenario\nsettings: {horizon: 10s}\n"
POD = """{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}},
      spec: {containers: [{name: c, image: i}]}}"""
GUARD = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: guard}
spec:
  rules:
  - name: no-secrets
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate: {failureAction: Enforce, message: secrets are not for here, deny: {}}
"""
GENERATE = """{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: make},
  spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, generate: {
  apiVersion: v1, kind: ConfigMap, name: m, namespace: default, data: {data: {}}}}]}}"""
MAPS = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}"


@pytest.fixture
def play(tmp_path):
    """Return what plays a scenario and tells what was expected: text, whether, when, why."""

    def run(text, **options):
        (tmp_path / "guard.yaml").write_text(GUARD)
        file = tmp_path / "story.yaml"
        file.write_text(HEAD + text)
        done = simulate(SimulateInputs((str(file),), **options))
        assert not done.diagnostics, done.diagnostics
        return done.simulation

    return run


@pytest.fixture
def expected(play):
    """Return what tells how the expectations of a scenario came out."""

    def run(text):
        found = play(text).expectations
        return [(one.text, one.met, one.reason) for one in found]

    return run


def test_steps_follow_each_other_as_time_is_written(play):
    simulation = play(f"""
steps:
- create: {MAPS}, data: {{a: "1"}}}}
- wait: 2s
- patch: {{apiVersion: v1, kind: ConfigMap, name: m, merge: {{data: {{b: "2"}}}}}}
- patch: {{apiVersion: v1, kind: ConfigMap, name: m, json: [{{op: remove, path: /data/a}}]}}
- apply: {MAPS}, data: {{c: "3"}}}}
- update: {MAPS}, data: {{d: "4"}}}}
- delete: {{apiVersion: v1, kind: ConfigMap, name: m}}
""")
    own = [
        one for one in simulation.events if one.object.kind == "ConfigMap" and one.actor == "user"
    ]
    assert [one.action for one in own] == ["create", *["update"] * 4, "delete"]
    assert [one.after and one.after["data"] for one in own] == [
        {"a": "1"},
        {"a": "1", "b": "2"},
        {"b": "2"},
        {"b": "2", "c": "3"},
        {"d": "4"},
        None,
    ]
    assert own[1].time - own[0].time == pytest.approx(2.06, abs=0.01)


def test_denials_and_warnings_can_be_expected(expected):
    secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}"
    found = expected(f"""
policies: guard.yaml
steps:
- create: {secret}
  expect: {{denied: secrets are not for here}}
- create: {secret}
  expect: {{denied: something else}}
- create: {MAPS}}}
  expect: [{{denied: anything}}, {{warning: beware}}]
- create: {secret}
""")
    assert [one[:2] for one in found] == [
        ("denied: secrets are not for here", True),
        ("denied: something else", False),
        ("denied: anything", False),
        ("warning: beware", False),
        ("admitted: create Secret default/s", False),
    ]
    reasons = [one[2] for one in found]
    assert "secrets are not for here" in reasons[1]
    assert reasons[2:4] == ["the request was admitted", "there were no warnings"]
    assert "secrets are not for here" in reasons[4]


def test_expectations_of_objects_are_settled_by_what_comes(expected):
    pattern = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: x}}"
    assert expected(f"""
steps:
- wait: 1s
- create: {MAPS}, data: {{a: z}}}}
- wait: 5s
- patch: {{apiVersion: v1, kind: ConfigMap, name: m, merge: {{data: {{a: x}}}}}}
- wait: 1s
- delete: {{apiVersion: v1, kind: ConfigMap, name: m}}
expect:
- eventually: {pattern}
- eventually: {pattern}
  within: 3s
- never: {pattern}
- never: {pattern}
  within: 3s
- finally: {pattern}
- gone: {pattern}
""") == [
        ("eventually: ConfigMap m with data", True, ""),
        ("eventually within 3s: ConfigMap m with data", False, "there is no ConfigMap m"),
        ("never: ConfigMap m with data", False, "ConfigMap default/m matches"),
        ("never within 3s: ConfigMap m with data", True, ""),
        ("finally: ConfigMap m with data", False, "there is no ConfigMap m"),
        ("gone: ConfigMap m with data", True, ""),
    ]


def test_unmet_expectation_names_the_closest_object(expected):
    assert expected(f"""
steps:
- create: {MAPS}, data: {{a: z}}}}
  expect:
  - finally: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: m}}, data: {{a: x}}}}
  - gone: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: m}}}}
""") == [
        (
            "finally: ConfigMap m with data",
            False,
            "ConfigMap default/m: `data.a` is `z`, not `x`",
        ),
        ("gone: ConfigMap m", False, "ConfigMap default/m still exists"),
    ]


def test_work_waits_for_a_controller_that_is_started_anew(play):
    simulation = play(f"""
policies: {GENERATE}
steps:
- restart: background-controller
- create: {POD}
  expect:
  - never: {MAPS}}}
    within: 1s
  - eventually: {MAPS}}}
    within: 3s
""")
    assert all(one.met for one in simulation.expectations), simulation.expectations


def test_users_have_their_own_rights(expected):
    (found,) = expected(f"""
steps:
- as: system:serviceaccount:ci:bot
  create: {MAPS}}}
""")
    assert found[:2] == ("admitted: create ConfigMap default/m", False)
    assert 'User "system:serviceaccount:ci:bot" cannot create resource "configmaps"' in found[2]


def test_missing_objects_are_refused_as_the_server_does(expected):
    found = expected("""
steps:
- patch: {apiVersion: v1, kind: ConfigMap, name: m, merge: {}}
- delete: {apiVersion: v1, kind: ConfigMap, name: m}
""")
    assert [one[2] for one in found] == ['configmaps "m" not found'] * 2


def test_namespaces_that_nobody_brings_are_there(play):
    simulation = play(
        f"steps: [{{create: {MAPS.replace('name: m', 'name: m, namespace: lab')}}}}}]"
    )
    assert simulation.events[0].actor == "cluster"
    assert simulation.events[0].object.name == "lab"
    assert all(one.met for one in simulation.expectations)


def test_a_cluster_scoped_policy_with_a_namespace_acts_from_the_start(tmp_path):
    (tmp_path / "guard.yaml").write_text(GUARD.replace("name: guard", "name: guard, namespace: x"))
    file = tmp_path / "story.yaml"
    secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}"
    file.write_text(f"{HEAD}policies: guard.yaml\nsteps: [{{create: {secret}}}]")
    done = simulate(SimulateInputs((str(file),)))
    assert [one.code for one in done.diagnostics] == ["KV227"]
    assert [one.outcome for one in done.simulation.events if one.object.kind == "Secret"] == [
        "denied"
    ]


def test_the_end_has_what_was_brought_and_nothing_else(play):
    simulation = play(f"policies: guard.yaml\nsteps: [{{create: {MAPS}}}}}]")
    assert [one["kind"] for one in simulation.objects] == ["ConfigMap", "ClusterPolicy"]


def test_the_same_scenario_gives_the_same_run(play):
    text = f"policies: guard.yaml\nsteps: [{{create: {POD}}}]"
    assert play(text) == play(text)
    assert play(text, seed=3).objects != play(text).objects


def test_time_starts_when_it_is_told_to(play):
    start = datetime(2030, 5, 1, tzinfo=UTC)
    (made,) = play(f"steps: [{{create: {MAPS}}}}}]", start=start).objects
    assert made["metadata"]["creationTimestamp"] == "2030-05-01T00:00:00Z"


def test_policies_that_the_cluster_refuses_are_told_by_their_file(tmp_path):
    policy = tmp_path / "p.yaml"
    policy.write_text(GUARD.replace("deny: {}", "deny: {conditions: {any: [{key: '{{ nope }}'}]}}"))
    done = simulate(SimulateInputs((str(policy),)))
    assert str(done.diagnostics[0]).startswith(f"{policy}:")
    assert "KV052" not in [one.code for one in done.diagnostics]


def test_a_policy_for_a_kind_that_the_cluster_does_not_serve_says_so(tmp_path):
    (tmp_path / "p.yaml").write_text(GUARD.replace("[Secret]", "[batch/v1beta1/CronJob]"))
    done = simulate(SimulateInputs((str(tmp_path / "p.yaml"),)))
    (refused,) = (one.message for one in done.diagnostics if one.code == "KV052")
    assert "the cluster does not serve batch/v1beta1/CronJob: check its group" in refused


@pytest.mark.parametrize(
    ("resource", "refusals"),
    [
        ("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", 1),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}", 0),
    ],
)
def test_a_policy_whose_namespace_comes_with_the_resources_says_what_to_do(
    tmp_path, resource, refusals
):
    (tmp_path / "p.yaml").write_text(
        GUARD.replace("kind: ClusterPolicy", "kind: Policy").replace(
            "name: guard", "name: guard, namespace: shop"
        )
    )
    (tmp_path / "r.yaml").write_text(resource)
    done = simulate(
        SimulateInputs((str(tmp_path / "p.yaml"),), resources=(str(tmp_path / "r.yaml"),))
    )
    refused = [one.message for one in done.diagnostics if one.code == "KV052"]
    assert len(refused) == refusals
    assert all(
        one.endswith(
            'namespaces "shop" not found; its Namespace is created after the policies: '
            "pass it with --object to create it first"
        )
        for one in refused
    )


def test_a_refused_policy_does_not_stop_the_others(tmp_path):
    bad = GUARD.replace("deny: {}", "deny: {conditions: {any: [{key: '{{ nope }}'}]}}")
    policy = tmp_path / "p.yaml"
    policy.write_text(f"{bad.replace('name: guard', 'name: bad')}---{GUARD}")
    secret = tmp_path / "s.yaml"
    secret.write_text("{apiVersion: v1, kind: Secret, metadata: {name: s}}")
    done = simulate(SimulateInputs((str(policy),), (str(secret),)))
    assert {(one.severity, one.location.line) for one in done.diagnostics} == {("error", 9)}
    told = {one.object.name: one.outcome for one in done.simulation.events if one.actor == "user"}
    assert told == {"bad": "denied", "guard": "done", "s": "denied"}


def test_a_scenario_is_played_alone(tmp_path):
    (tmp_path / "a.yaml").write_text(HEAD)
    (tmp_path / "p.yaml").write_text(GUARD)
    done = simulate(SimulateInputs((str(tmp_path),)))
    assert [one.code for one in done.diagnostics] == ["KV051"]
    done = simulate(SimulateInputs((str(tmp_path / "a.yaml"),), (str(tmp_path / "p.yaml"),)))
    assert [one.code for one in done.diagnostics] == ["KV051"]


@pytest.mark.slow
def test_the_order_of_sets_does_not_show():
    """Two runs in which sets of texts are in other orders."""
    command = [sys.executable, "-m", "kyvsim", "simulate", "-o", "json"]
    command.append("fixtures/scenarios/job-loop.yaml")
    outputs = {
        subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("1", "3")
    }
    assert len(outputs) == 1


ALSO = f"""
steps:
- create: {MAPS}, data: {{a: "1"}}}}
- wait: 1h
- create: {MAPS.replace("name: m", "name: late")}}}
  expect:
  - never: {{kind: Secret}}
  - denied: never asked
expect:
- never: {{kind: Secret}}
- never: {{kind: Secret}}
  within: 1s
- finally: {MAPS}}}
- eventually: {MAPS}}}
"""
TICKING = """
objects:
  apiVersion: batch/v1
  kind: CronJob
  metadata: {name: tick, namespace: default}
  spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {
    restartPolicy: Never, containers: [{name: c, image: i}]}}}}}
"""


def test_a_run_that_is_stopped_says_so_and_meets_nothing_that_its_end_would_tell(play):
    simulation = play(TICKING + ALSO, max_events=100)
    assert simulation.cut.reason == "100 events"
    assert len(simulation.cut.steps) == 1
    (hazard,) = [one for one in simulation.hazards if one.code == "KH014"]
    assert hazard.level == "error"
    assert "1 step was not run" in hazard.message
    assert hazard.location == simulation.cut.steps[0]
    stopped = "the run was stopped before it ended"
    unplayed = "its step was not run: the run was stopped before it"
    assert [(one.met, one.reason) for one in simulation.expectations] == [
        (False, stopped),
        (True, ""),
        (False, stopped),
        (True, ""),
        (False, unplayed),
        (False, unplayed),
    ]


def test_a_run_goes_on_as_long_as_it_may(play):
    simulation = play(TICKING + ALSO, max_events=10_000)
    assert simulation.cut is None
    assert len(simulation.events) > 300
    assert not [one for one in simulation.hazards if one.code == "KH014"]


def test_steps_wait_as_long_as_they_say(play):
    simulation = play(f"steps: [{{wait: 1000h}}, {{create: {MAPS}}}}}]")
    assert simulation.cut is None
    assert "ConfigMap" in [one["kind"] for one in simulation.objects]


def test_what_is_to_be_gone_must_have_been_there(expected):
    gone = f"{{gone: {MAPS}}}, within: 1s}}"
    assert expected(f"""
steps:
- expect: {gone}
- create: {MAPS}}}
- expect: {gone}
- wait: 500ms
- delete: {{apiVersion: v1, kind: ConfigMap, name: m}}
  expect: {gone}
""") == [
        ("gone within 1s: ConfigMap m", True, ""),
        ("gone within 1s: ConfigMap m", True, ""),
        ("gone within 1s: ConfigMap m", True, ""),
    ]
    assert expected(f"steps: [{{expect: {gone}}}]") == [
        ("gone within 1s: ConfigMap m", False, "it never existed"),
    ]


def test_an_answer_that_nobody_gives_is_not_what_was_expected(tmp_path, expected):
    (tmp_path / "none.yaml").write_text("# nothing\n")
    assert expected("steps: [{create: [], expect: {denied: never asked}}]") == [
        ("denied: never asked", False, "its step sends no request"),
    ]


# What a story costs, in calls: each further object costs what the one before it did.

_RULES = {
    "no-secret-name": {"pattern": {"metadata": {"name": "!secret*"}}},
    "team": {"pattern": {"metadata": {"labels": {"team": "?*"}}}},
}
_CALLS_FOR_A_POD = 7000
"""Two policies: its admission, its events and reports, a scan, and its start on a node."""


def _calls(function):
    """Return how many functions a call enters."""
    found = 0

    def seen(_frame, event, _argument):
        nonlocal found
        found += event == "call"

    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.slow
def test_a_further_object_costs_what_the_one_before_it_did(
    cluster, put, admin, cluster_policy, pod
):
    audited = {"failureAction": "Audit", "message": "no"}
    rules = {name: {"validate": {**pattern, **audited}} for name, pattern in _RULES.items()}
    put(*(cluster_policy(name, rule, background=True) for name, rule in rules.items()))
    advance, names = cluster.sim.scheduler.advance, (f"pod-{number:04}" for number in range(32))

    def create_eight():
        for _ in range(8):
            assert admin.create(pod(next(names))).ok
            advance(0.1)
        advance(120)

    create_eight()
    create_eight()
    second, third = _calls(create_eight), _calls(create_eight)
    assert third < 1.2 * second
    assert third < 8 * _CALLS_FOR_A_POD
    assert len(cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")) == 32
