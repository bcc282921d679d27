"""UpdateRequests as they are stored."""

from kyvsim.kubernetes.objects import ObjectKey
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
