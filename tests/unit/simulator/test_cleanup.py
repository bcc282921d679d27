"""Cleanup policies, TTL labels, and the warnings about them at admission."""

from datetime import UTC, datetime

import pytest

from kyvsim.kubernetes.lifetimes import TtlError
from kyvsim.kubernetes.objects import object_key
from kyvsim.simulator.cleanup import expiry_of, restart_cleanup_controller

RBAC = "rbac.authorization.k8s.io/v1"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def cleanup_policy(obj):
    """Return what makes a ClusterCleanupPolicy for Pods."""

    def make(name="tidy", schedule="*/5 * * * *", **spec):
        pods = {"any": [{"resources": {"kinds": ["Pod"]}}]}
        spec = {"match": pods, "schedule": schedule, **spec}
        return obj("ClusterCleanupPolicy", name, api_version="kyverno.io/v2", spec=spec)

    return make


@pytest.fixture
def allow(obj, put):
    """Return what lets the cleanup controller do something with Pods."""

    def grant(*verbs):
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}]
        subject = {"kind": "ServiceAccount", "namespace": "kyverno"}
        subject["name"] = "kyverno-cleanup-controller"
        role = {"apiGroup": RBAC.split("/", maxsplit=1)[0], "kind": "ClusterRole", "name": "tidy"}
        put(
            obj("ClusterRole", "tidy", api_version=RBAC, rules=rules),
            obj("ClusterRoleBinding", "tidy", api_version=RBAC, roleRef=role, subjects=[subject]),
        )

    return grant


@pytest.fixture
def pods(cluster):
    """Return what lists the names of the Pods there are after some virtual seconds."""

    def names(after=0):
        cluster.sim.scheduler.advance(after)
        return [one["metadata"]["name"] for one in cluster.sim.store.list("v1", "Pod", "")]

    return names


def test_cleanup_waits_for_its_time_and_comes_again(allow, put, pod, cleanup_policy, pods):
    allow("list", "delete")
    put(pod("a"), cleanup_policy())
    assert pods(200) == ["a"]
    assert pods(130) == []
    put(pod("b"))
    assert pods(300) == []


def test_a_restart_loses_no_schedule_and_no_lifetime(
    cluster, allow, put, pod, cleanup_policy, pods, admin
):
    allow("list", "delete", "watch")
    put(pod("a"), cleanup_policy(), pod("b", labels={"cleanup.kyverno.io/ttl": "20m"}))
    restart_cleanup_controller(cluster.kyverno)
    # What comes while it is away is seen when it is back.
    only = {"any": [{"resources": {"kinds": ["Pod"], "names": ["c"]}}]}
    assert admin.create(cleanup_policy("later", "*/1 * * * *", match=only)).ok
    assert admin.create(pod("c")).ok
    assert pods(100) == ["a", "b"]
    assert pods(230) == []
    assert [one.object.name for one in cluster.sim.timeline.events if one.action == "begin"] == [
        "kyverno-cleanup-controller"
    ]


def test_cleanup_heeds_its_conditions(cluster, allow, put, pod, cleanup_policy, pods):
    allow("list", "delete")
    condition = {"key": "{{ target.metadata.name }}", "operator": "Equals", "value": "a"}
    put(pod("a"), pod("b"), cleanup_policy(conditions={"all": [condition]}))
    assert pods(305) == ["b"]
    stored = cluster.sim.store.get("kyverno.io/v2", "ClusterCleanupPolicy", "", "tidy")
    assert stored["status"] == {"lastExecutionTime": "2026-01-01T00:05:00Z"}


def test_condition_that_cannot_be_evaluated_is_told(cluster, allow, put, pod, cleanup_policy, pods):
    allow("list", "delete")
    condition = {"key": "{{ target.spec.nope }}", "operator": "Equals", "value": "a"}
    put(pod("a"), cleanup_policy(conditions={"all": [condition]}))
    assert pods(310) == ["a"]
    (event,) = (one for one in cluster.sim.timeline.events if one.action == "evaluate")
    assert (event.outcome, event.policies, event.object.name) == ("failed", ("tidy",), "a")
    (error,) = event.unevaluated
    assert error.rule == "tidy"
    assert 'Unknown key "nope" in path' in error.message


def test_deleted_cleanup_policy_acts_no_more(admin, allow, put, pod, cleanup_policy, pods):
    allow("list", "delete")
    policy = cleanup_policy()
    put(pod("a"), policy)
    admin.delete(object_key(policy))
    assert pods(400) == ["a"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"schedule": "often"}, "schedule spec in the cleanupPolicy is not in proper cron format"),
        (
            {"context": [{"name": "c", "configMap": {"name": "c", "namespace": "d"}}]},
            "ConfigMap is not allowed in CleanUp Policy",
        ),
    ],
)
def test_unsound_cleanup_policy_is_refused(admin, cleanup_policy, spec, problem):
    assert problem in admin.create(cleanup_policy(**spec)).error.message


def test_lifetime_ends_with_its_label(allow, put, pod, pods):
    allow("list", "watch", "delete")
    put(pod("a", labels={"cleanup.kyverno.io/ttl": "90s"}), pod("b"))
    assert pods(60) == ["a", "b"]
    assert pods(40) == ["b"]


def test_lifetime_in_the_past_ends_at_the_next_look(allow, put, pod, pods):
    allow("list", "watch", "delete")
    put(pod("a", labels={"cleanup.kyverno.io/ttl": "2023-07-19T120000Z"}))
    assert pods(61) == []


def test_label_that_cannot_be_read_warns(admin, pod, pods):
    response = admin.create(pod("a", labels={"cleanup.kyverno.io/ttl": "10ay"}))
    assert response.ok
    assert "cannot be parsed as any recognizable format" in response.warnings[0]
    assert pods(200) == ["a"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("2days", 172_800), ("1w", 604_800), ("1d2hours", 93_600)],
)
def test_durations(obj, text, seconds):
    labelled = obj("Pod", metadata={"labels": {"cleanup.kyverno.io/ttl": text}})
    assert (expiry_of(labelled, NOW) - NOW).total_seconds() == seconds


def test_dates(obj):
    labelled = obj("Pod", metadata={"labels": {"cleanup.kyverno.io/ttl": "2026-02-03"}})
    assert expiry_of(labelled, NOW) == datetime(2026, 2, 3, tzinfo=UTC)


@pytest.mark.parametrize("text", ["10ay", "soon", "2026-13-01", "2026-2-3"])
def test_no_lifetime(obj, text):
    labelled = obj("Pod", metadata={"labels": {"cleanup.kyverno.io/ttl": text}})
    with pytest.raises(TtlError):
        expiry_of(labelled, NOW)
