"""The texts of Events, and which of them are written."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator.events import Event, EventAction, EventReason, EventSource

DENIES_ALL = {"validate": {"failureAction": "Enforce", "message": "no", "deny": {}}}
AUDITS_ALL = {"validate": {"failureAction": "Audit", "message": "no", "deny": {}}}
LABELS = {"mutate": {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}}


@pytest.fixture
def events(cluster):
    """Return what lists the events there are, once all have been written."""

    def list_events():
        cluster.sim.scheduler.settle(5)
        return cluster.sim.store.list("v1", "Event", "")

    return list_events


@pytest.fixture
def success_events(admin):
    """Switch events of successes on, for all actions or for those that are named."""

    def switch(actions=""):
        key = ObjectKey("v1", "ConfigMap", "kyverno", "kyverno")
        data = {"generateSuccessEvents": "true", "successEventActions": actions}
        admin.merge(key, {"data": data})

    return switch


def _about(event):
    return event["involvedObject"]["kind"], event["reason"], event["action"], event["message"]


def test_denial_is_told_on_the_policy_only(admin, cluster_policy, put, pod, events):
    put(cluster_policy("p", DENIES_ALL))
    assert not admin.create(pod()).ok
    found = events()
    note = "Pod default/p: [rule-0] fail (blocked); no"
    assert [_about(one) for one in found] == [
        ("ClusterPolicy", "PolicyViolation", "Resource Blocked", note)
    ]
    assert found[0]["metadata"]["namespace"] == "default"
    assert found[0]["type"] == "Warning"
    assert found[0]["reportingComponent"] == "kyverno-admission"


def test_audited_failure_is_told_on_policy_and_object(cluster_policy, put, pod, events):
    put(cluster_policy("p", AUDITS_ALL), pod())
    assert [_about(one) for one in events()] == [
        ("ClusterPolicy", "PolicyViolation", "Resource Passed", "Pod default/p: [rule-0] fail; no"),
        ("Pod", "PolicyViolation", "Resource Passed", "policy p/rule-0 fail: no"),
    ]


def test_success_is_told_only_when_asked_for(cluster_policy, put, pod, events, success_events):
    put(cluster_policy("p", LABELS), pod("one"))
    assert events() == []
    success_events()
    put(pod("two"))
    assert [_about(one)[1:] for one in events()] == [
        ("PolicyApplied", "Resource Mutated", "Pod default/two is successfully mutated")
    ]


def test_success_is_told_for_chosen_actions_only(cluster_policy, put, pod, events, success_events):
    success_events("Resource Passed, Resource Generated")
    put(cluster_policy("p", LABELS), pod())
    assert events() == []


def test_exception_is_told_on_itself_and_on_the_policy(obj, cluster_policy, put, pod, events):
    spec = {
        "exceptions": [{"policyName": "p", "ruleNames": ["rule-0"]}],
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
    }
    exception = obj("PolicyException", "e", "default", api_version="kyverno.io/v2", spec=spec)
    put(cluster_policy("p", DENIES_ALL), exception, pod())
    note = "resource Pod/default/p was skipped from rule rule-0 due to policy exceptions default/e"
    assert [(_about(one)[0], one["message"]) for one in events()] == [
        ("PolicyException", "resource Pod/default/p was skipped from policy rule p/rule-0"),
        ("ClusterPolicy", note),
    ]


def test_note_is_cut_and_name_made_fit(cluster, events):
    regarding = {"apiVersion": "v1", "kind": "ClusterRole", "name": "System:Reader_"}
    for note in ("a" * 1025, "b"):
        event = Event(regarding, EventReason.ERROR, EventSource.GENERATE, EventAction.NONE, note)
        cluster.kyverno.events.record(event)
    long, short = events()
    assert long["message"] == "a" * 1021 + "..."
    assert long["metadata"]["name"].startswith("system-reader-z.")
    assert short["metadata"]["name"] != long["metadata"]["name"]
    assert short["metadata"]["namespace"] == "default"


def test_object_without_a_name_is_not_told_of(cluster, events):
    event = Event({"kind": "Pod"}, EventReason.ERROR, EventSource.ADMISSION, EventAction.NONE, "x")
    cluster.kyverno.events.record(event)
    assert events() == []
