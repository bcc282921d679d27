"""Generate rules: what comes of a trigger, and what keeps it from coming."""

import pytest

from kyvsim.engine.compile import Model
from kyvsim.kubernetes.objects import labels, object_key
from kyvsim.simulator.api_server.server import ADMIN


@pytest.fixture
def shop(obj):
    """Return the Namespace `shop`."""
    return obj("Namespace", "shop")


def test_object_of_data_comes_with_its_owner(cluster_policy, generate, put, shop, made, told):
    put(cluster_policy("p", generate()))
    trigger = put(shop)
    marks = labels(made())
    assert made()["data"] == {"a": "1"}
    assert marks["app.kubernetes.io/managed-by"] == "kyverno"
    assert marks["generate.kyverno.io/policy-name"] == "p"
    assert marks["generate.kyverno.io/rule-name"] == "gen"
    assert marks["generate.kyverno.io/trigger-uid"] == trigger["metadata"]["uid"]
    (event,) = told("generate")
    assert (event.actor, event.policies) == ("background", ("p/gen",))


def test_events_tell_what_they_follow_from(cluster_policy, generate, put, shop, cluster):
    put(cluster_policy("p", generate()), shop)
    events = cluster.sim.timeline.events
    made = next(one for one in events if one.action == "generate")
    attempt = events[made.cause]
    request = events[attempt.cause]
    created = events[request.cause]
    assert (attempt.action, request.action) == ("attempt", "update-request")
    assert (created.action, created.object.kind) == ("create", "Namespace")


def test_update_requests_are_gone_once_they_are_done(cluster_policy, generate, put, shop, cluster):
    put(cluster_policy("p", generate()), shop)
    assert cluster.sim.store.list("kyverno.io/v2", "UpdateRequest", "") == []


def test_missing_namespace_is_no_failure(cluster_policy, generate, put, shop, told):
    put(cluster_policy("p", generate(namespace="nowhere")), shop)
    (attempt,) = told("attempt")
    assert attempt.outcome == "done"
    assert attempt.full_message.endswith('nothing generated: namespaces "nowhere" not found')


def test_missing_namespace_in_a_loop_is_a_failure(cluster_policy, generate, put, shop, told):
    loop = {
        "list": "['a']",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "{{element}}",
        "namespace": "nowhere",
        "data": {},
    }
    put(cluster_policy("p", generate(foreach=[loop])), shop)
    assert [one.outcome for one in told("attempt")] == ["failed"] * 5


def test_loop_generates_one_for_each_element(cluster_policy, generate, put, shop, made):
    loop = {
        "list": "['a', 'b']",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "{{element}}",
        "namespace": "shop",
        "data": {"data": {"is": "{{element}}"}},
    }
    put(cluster_policy("p", generate(foreach=[loop])), shop)
    assert [made(name=name)["data"] for name in "ab"] == [{"is": "a"}, {"is": "b"}]


def test_missing_source_fails_five_times(cluster_policy, generate, put, shop, told, cluster):
    put(cluster_policy("p", generate(clone={"name": "source", "namespace": "default"})), shop)
    attempts = told("attempt")
    assert [one.outcome for one in attempts] == ["failed"] * 5
    assert "attempt 5 of 5" in attempts[-1].full_message
    assert attempts[-1].full_message.endswith("it is given up")
    assert "default/source not found" in attempts[0].full_message
    assert cluster.sim.store.list("kyverno.io/v2", "UpdateRequest", "") == []


def test_source_is_copied_and_labelled(cluster_policy, generate, put, obj, shop, made):
    source = obj("ConfigMap", "source", "default", data={"b": "2"})
    clone = {"name": "source", "namespace": "default"}
    put(source, cluster_policy("p", generate(clone=clone)), shop)
    assert made()["data"] == {"b": "2"}
    assert labels(made("default", "source")) == {"generate.kyverno.io/clone-source": ""}


def test_trigger_that_was_denied_is_not_found(
    cluster_policy, generate, put, admin, shop, told, settle
):
    denies = {"validate": {"failureAction": "Enforce", "message": "no", "deny": {}}}
    match = {"any": [{"resources": {"kinds": ["Namespace"]}}]}
    put(cluster_policy("p", generate()), cluster_policy("q", {**denies, "match": match}))
    assert not admin.create(shop).ok
    settle()
    attempts = told("attempt")
    assert len(attempts) == 5
    assert "the corresponding admission request may have been rejected" in attempts[0].full_message


def test_object_of_a_user_stays_without_synchronization(
    cluster_policy, generate, put, obj, shop, made
):
    there = obj("ConfigMap", "made", "shop", data={"own": "x"})
    put(
        shop,
        there,
        cluster_policy(
            "p", generate(match={"any": [{"resources": {"kinds": ["Secret"]}}]}, namespace="shop")
        ),
    )
    put(obj("Secret", "s", "default"))
    assert made()["data"] == {"own": "x"}


def test_object_of_a_user_is_taken_over_with_synchronization(
    cluster_policy, generate, put, obj, shop, made
):
    match = {"any": [{"resources": {"kinds": ["Secret"]}}]}
    there = obj("ConfigMap", "made", "shop", data={"own": "x"})
    rule = generate(match=match, namespace="shop", synchronize=True)
    put(shop, there, cluster_policy("p", rule), obj("Secret", "s", "default"))
    assert made()["data"] == {"a": "1"}


def test_background_false_gates_generation_in_that_model_only(
    make_cluster, cluster_policy, generate, shop
):
    for model, comes in ((Model.KYVERNO, True), (Model.BACKGROUND_GATES_GENERATE, False)):
        cluster = make_cluster(model=model)
        client = cluster.sim.client(ADMIN)
        for one in (cluster_policy("p", generate(), background=False), shop):
            assert client.create(one).ok
            cluster.sim.scheduler.settle(30)
        found = cluster.sim.store.get("v1", "ConfigMap", "shop", "made")
        skipped = [one for one in cluster.sim.timeline.events if one.outcome == "skipped"]
        assert (found is not None) is comes
        assert bool(skipped) is not comes


def test_background_requests_are_no_triggers_by_default(cluster_policy, generate, put, shop, made):
    secrets = {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["made"]}}]}
    second = generate("second", secrets, name="made-too", namespace="shop")
    put(cluster_policy("p", generate()), cluster_policy("q", second), shop)
    assert made() is not None
    assert made(name="made-too") is None


def test_background_requests_are_triggers_where_a_rule_says_so(
    cluster_policy, generate, put, shop, made
):
    match = {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["made"]}}]}
    rule = {"skipBackgroundRequests": False}
    second = generate("second", match, rule, name="made-too", namespace="shop")
    put(cluster_policy("p", generate()), cluster_policy("q", second), shop)
    assert made(name="made-too") is not None


def test_creation_that_is_forbidden_meanwhile_is_a_failed_attempt(
    cluster_policy, generate, put, shop, told, background_may, admin, settle
):
    job = {"apiVersion": "batch/v1", "kind": "Job", "data": {"spec": {}}}
    role = put(background_may("batch", "jobs"))
    put(cluster_policy("p", generate(**job)))
    admin.delete(object_key(role))
    settle()
    put(shop)
    attempts = told("attempt")
    assert [one.outcome for one in attempts] == ["failed"] * 5
    assert (
        'jobs.batch "made" is forbidden: User "system:serviceaccount:' in attempts[0].full_message
    )
    assert 'resource "jobs" in API group "batch"' in attempts[0].full_message


def test_granted_creation_is_no_failure(cluster_policy, generate, put, shop, told, background_may):
    job = {"apiVersion": "batch/v1", "kind": "Job", "data": {"spec": {"template": {}}}}
    put(background_may("batch", "jobs"), cluster_policy("p", generate(**job)), shop)
    assert "forbidden" not in told("attempt")[0].full_message
