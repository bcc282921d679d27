"""What the timeline tells of requests: what they were for, and what stood in their way."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import FailureCause
from kyvsim.simulator.api_server import Purpose
from kyvsim.simulator.configuration import BACKGROUND, CLEANUP


@pytest.fixture
def last(cluster):
    """Return what gives the event of the last request."""
    return lambda: cluster.sim.timeline.events[-1]


def test_a_request_is_told_by_its_purpose(cluster, obj, last):
    client = cluster.sim.client(BACKGROUND, Purpose("generate", ("p/r",), "for a reason"))
    client.create(obj("ConfigMap", "c", "default"))
    assert (last().action, last().policies, last().message) == (
        "generate",
        ("p/r",),
        "for a reason",
    )


def test_purpose_and_denier_are_both_told(cluster, cluster_policy, put, pod, last):
    rule = {"validate": {"deny": {}, "message": "no", "failureAction": "Enforce"}}
    audit = {"validate": {"deny": {}, "message": "no", "failureAction": "Audit"}}
    put(cluster_policy("guard", rule, audit))
    cluster.sim.client(CLEANUP, Purpose("generate", ("p/r",))).create(pod())
    assert (last().outcome, last().policies) == ("failed", ("p/r",))
    may_all = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    label = "rbac.kyverno.io/aggregate-to-cleanup-controller"
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "all", "labels": {label: "true"}},
        "rules": [may_all],
    }
    put(role)
    cluster.sim.client(CLEANUP, Purpose("generate", ("p/r",))).create(pod())
    (failure_reason,) = last().failure_reasons
    assert (last().outcome, last().policies) == ("denied", ("p/r",))
    assert (failure_reason.reason, failure_reason.rules) == (FailureCause.DENIED, ("guard/rule-0",))


@pytest.mark.parametrize(
    ("namespace", "name", "reason"),
    [
        ("nowhere", "c", FailureCause.NO_NAMESPACE),
        ("going", "c", FailureCause.NAMESPACE_GOES),
        ("default", "there", FailureCause.EXISTS),
        ("default", "Not_Valid", FailureCause.INVALID),
    ],
)
def test_a_refusal_has_a_reason(admin, obj, last, namespace, name, reason):
    admin.create(obj("ConfigMap", "there", "default"))
    going = obj("Namespace", "going", spec={"finalizers": ["kubernetes"]})
    admin.create(going)
    admin.delete(ObjectKey("v1", "Namespace", "", "going"))
    admin.create(obj("ConfigMap", name, namespace))
    assert [one.reason for one in last().failure_reasons] == [reason]


def test_a_user_without_a_role_lacks_a_right(cluster, obj, last):
    cluster.sim.client(CLEANUP).create(obj("ConfigMap", "c", "default"))
    assert [one.reason for one in last().failure_reasons] == [FailureCause.NO_RIGHT]
