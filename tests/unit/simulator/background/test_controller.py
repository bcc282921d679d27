"""UpdateRequests: what creates them, and how they are attempted."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey, labels
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.simulator.background.update_requests import (
    GENERATE,
    RequestedWork,
    in_batches,
    recorded,
    request_of,
    rule_context,
    submit,
)
from kyvsim.simulator.configuration import ADMISSION

# Policies that come, change and go, and what becomes of their objects.

POLICY = ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "p")


@pytest.fixture
def change(admin, settle):
    """Return what puts a policy in the place of the one of its name."""

    def update(policy):
        now = admin.get(*POLICY)
        response = admin.update({**now, "spec": policy["spec"]})
        assert response.ok, response.error
        settle()

    return update


@pytest.mark.parametrize("existing", [True, False])
def test_existing_triggers_count_where_asked_for(
    cluster_policy, generate, put, obj, made, existing
):
    put(obj("Namespace", "shop"), cluster_policy("p", generate(generateExisting=existing)))
    assert (made() is not None) is existing


@pytest.mark.parametrize(("synchronize", "data"), [(True, "2"), (False, "1")])
def test_changed_data_reaches_what_is_there(
    cluster_policy, generate, put, obj, made, change, synchronize, data
):
    put(cluster_policy("p", generate(synchronize=synchronize)), obj("Namespace", "shop"))
    change(cluster_policy("p", generate(synchronize=synchronize, data={"data": {"a": "2"}})))
    assert made()["data"] == {"a": data}


@pytest.mark.parametrize(
    ("fields", "stays"),
    [
        ({"synchronize": True}, False),
        ({"synchronize": False}, True),
        ({"synchronize": True, "orphanDownstreamOnPolicyDelete": True}, True),
    ],
)
def test_objects_go_with_their_policy(
    cluster_policy, generate, put, obj, made, admin, settle, fields, stays
):
    put(cluster_policy("p", generate(**fields)), obj("Namespace", "shop"))
    admin.delete(POLICY)
    settle()
    assert (made() is not None) is stays


def test_objects_go_with_their_rule(cluster_policy, generate, put, obj, made, change):
    rules = [generate("one", synchronize=True), generate("two", name="other", synchronize=True)]
    put(cluster_policy("p", *rules), obj("Namespace", "shop"))
    assert made() is not None
    change(cluster_policy("p", rules[1]))
    assert made() is None
    assert made(name="other") is not None


def test_old_target_loses_its_owner(cluster_policy, generate, put, obj, made, change):
    put(cluster_policy("p", generate(synchronize=True)), obj("Namespace", "shop"))
    change(cluster_policy("p", generate(synchronize=True, name="elsewhere")))
    marks = labels(made())
    assert "generate.kyverno.io/policy-name" not in marks
    assert marks["app.kubernetes.io/managed-by"] == "kyverno"


def test_drift_is_repaired_within_the_hour(cluster_policy, generate, put, obj, made, cluster):
    put(cluster_policy("p", generate(synchronize=True)), obj("Namespace", "shop"))
    # A change that no webhook sees.
    cluster.sim.store.put({**made(), "data": {"a": "9"}})
    cluster.sim.scheduler.advance(3000)
    assert made()["data"] == {"a": "9"}
    cluster.sim.scheduler.advance(700)
    assert made()["data"] == {"a": "1"}


def test_policy_that_reads_the_user_is_not_looked_at(cluster_policy, generate, put, obj, made):
    data = {"data": {"by": "{{request.userInfo.username}}"}}
    rule = generate(generateExisting=True, data=data)
    put(obj("Namespace", "shop"), cluster_policy("p", rule))
    assert made() is None


@pytest.mark.parametrize("orphans", [False, True])
def test_copies_of_a_source_go_with_their_policy_unless_they_may_be_orphans(
    cluster_policy, generate, put, obj, made, admin, settle, orphans
):
    clone = {"namespace": "default", "name": "source"}
    fields = {"clone": clone, "synchronize": True, "orphanDownstreamOnPolicyDelete": orphans}
    put(obj("ConfigMap", "source", "default", data={"b": "2"}))
    put(cluster_policy("p", generate(**fields)), obj("Namespace", "shop"))
    assert made()["data"] == {"b": "2"}
    admin.delete(POLICY)
    settle()
    assert (made() is not None) is orphans


# UpdateRequests as they are stored.


def test_request_comes_back_as_it_was_recorded(cluster, obj):
    user = UserInfo("jane", "1", ("dev",), roles=("default:r",), cluster_roles=("c",))
    details = {"uid": "u", "resource": {"group": "", "version": "v1", "resource": "pods"}}
    old, new = obj("Pod", "a", "shop"), obj("Pod", "a", "shop", spec={})
    request = AdmissionRequest(Operation.UPDATE, new, old, "shop", user, details=details)
    assert request_of(recorded(request), cluster.sim.store) == request


def test_no_request_is_recorded_as_none(cluster):
    assert request_of(recorded(None), cluster.sim.store) is None


def test_batches_hold_a_hundred_contexts():
    work = RequestedWork(GENERATE, "p", tuple(rule_context("r", {}) for _ in range(250)))
    assert [len(one.contexts) for one in in_batches(work)] == [100, 100, 50]
    assert list(in_batches(RequestedWork(GENERATE, "p"))) == []


def test_update_request_is_pending_and_labelled(cluster, told):
    trigger = {"apiVersion": "v1", "kind": "Pod", "namespace": "d", "name": "x", "uid": "u"}
    submit(RequestedWork(GENERATE, "ns/p", (rule_context("r", trigger),)), cluster.sim, ADMISSION)
    (stored,) = cluster.sim.store.list("kyverno.io/v2", "UpdateRequest", "kyverno")
    assert stored["metadata"]["name"].startswith("ur-")
    assert stored["metadata"]["labels"] == {"generate.kyverno.io/policy-name": "p"}
    assert stored["status"] == {"state": "Pending"}
    (event,) = told("update-request")
    assert (event.message, event.policies) == ("generate for Pod d/x", ("ns/p/r",))


def test_no_more_are_written_than_the_threshold_allows(cluster, admin, told):
    key = ObjectKey("v1", "ConfigMap", "kyverno", "kyverno")
    admin.merge(key, {"data": {"updateRequestThreshold": "1"}})
    for _ in range(2):
        submit(RequestedWork(GENERATE, "p", (rule_context("r", {}),)), cluster.sim, ADMISSION)
    assert [one.outcome for one in told("update-request")] == ["done", "skipped"]
