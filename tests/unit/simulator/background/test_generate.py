"""Generate rules: objects, their triggers, and how they are kept in sync."""

import pytest

from kyvsim.engine.compile import Model
from kyvsim.kubernetes.objects import ObjectKey, labels, object_key
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.configuration import BACKGROUND

# Generate rules: what comes of a trigger, and what keeps it from coming.


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
    assert attempts[-1].full_message.endswith("no more attempts are made")
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


# Synchronization: downstream objects, sources and triggers that change and go.

CLONE = {"name": "source", "namespace": "default"}
SOURCE = ObjectKey("v1", "ConfigMap", "default", "source")
LABELLED = {"any": [{"resources": {"kinds": ["Secret"], "selector": {"matchLabels": {"a": "b"}}}}]}
TRIGGER = ObjectKey("v1", "Secret", "default", "t")


@pytest.fixture
def trigger(obj):
    """Return a Secret that `LABELLED` matches."""
    return obj("Secret", "t", "default", metadata={"labels": {"a": "b"}})


@pytest.fixture
def by_secret(cluster_policy, generate, put, obj, trigger):
    """Return what lets a rule on labelled Secrets generate `made` in `shop`."""

    def start(**fields):
        put(obj("Namespace", "shop"))
        put(cluster_policy("p", generate(match=LABELLED, namespace="shop", **fields)), trigger)

    return start


@pytest.mark.parametrize(("synchronize", "restored"), [(True, "1"), (False, "9")])
def test_edit_of_others_is_undone_where_synchronized(
    by_secret, admin, settle, made, key_of_made, synchronize, restored
):
    by_secret(synchronize=synchronize)
    admin.merge(key_of_made, {"data": {"a": "9"}})
    settle()
    assert made()["data"] == {"a": restored}


@pytest.mark.parametrize("synchronize", [True, False])
def test_deleted_object_comes_again_where_synchronized(
    by_secret, admin, settle, made, key_of_made, synchronize
):
    by_secret(synchronize=synchronize)
    admin.delete(key_of_made)
    settle()
    assert (made() is not None) is synchronize


def test_edit_of_the_background_controller_stays(by_secret, cluster, settle, made, key_of_made):
    by_secret(synchronize=True)
    cluster.sim.client(BACKGROUND).merge(key_of_made, {"data": {"a": "9"}})
    settle()
    assert made()["data"] == {"a": "9"}


@pytest.mark.parametrize("synchronize", [True, False])
def test_object_goes_with_its_trigger_where_synchronized(
    by_secret, admin, settle, made, told, synchronize
):
    by_secret(synchronize=synchronize)
    admin.delete(TRIGGER)
    settle()
    assert (made() is None) is synchronize
    assert bool(told("delete downstream")) is synchronize


@pytest.mark.parametrize("synchronize", [True, False])
def test_object_goes_when_its_trigger_stops_matching(by_secret, admin, settle, made, synchronize):
    by_secret(synchronize=synchronize)
    admin.merge(TRIGGER, {"metadata": {"labels": {"a": "c"}}})
    settle()
    assert (made() is None) is synchronize


def test_object_goes_when_preconditions_stop_holding(
    cluster_policy, generate, put, obj, trigger, admin, settle, made
):
    condition = {"key": "{{request.object.metadata.labels.a}}", "operator": "Equals", "value": "b"}
    match = {"any": [{"resources": {"kinds": ["Secret"]}}]}
    rule = generate(
        match=match,
        rule={"preconditions": {"all": [condition]}},
        namespace="shop",
        synchronize=True,
    )
    put(obj("Namespace", "shop"), cluster_policy("p", rule), trigger)
    assert made() is not None
    admin.merge(TRIGGER, {"metadata": {"labels": {"a": "c"}}})
    settle()
    assert made() is None


def test_rule_that_lists_deletion_generates_then(
    cluster_policy, generate, put, obj, trigger, admin, settle, made
):
    match = {"any": [{"resources": {"kinds": ["Secret"], "operations": ["DELETE"]}}]}
    rule = generate(match=match, namespace="shop", synchronize=True)
    put(obj("Namespace", "shop"), cluster_policy("p", rule), trigger)
    assert made() is None
    admin.delete(TRIGGER)
    settle()
    assert made() is not None


@pytest.mark.parametrize("synchronize", [True, False])
def test_copies_follow_their_source(by_secret, obj, put, admin, settle, made, synchronize):
    put(obj("ConfigMap", "source", "default", data={"b": "2"}))
    by_secret(clone=CLONE, synchronize=synchronize)
    admin.merge(SOURCE, {"data": {"b": "3"}})
    settle()
    assert made()["data"] == {"b": "3" if synchronize else "2"}
    admin.delete(SOURCE)
    settle()
    assert (made() is None) is synchronize


def test_server_side_apply_keeps_fields_of_others(
    cluster_policy, generate, put, obj, trigger, admin, settle, made, key_of_made
):
    rule = generate(match=LABELLED, namespace="shop", synchronize=True)
    policy = cluster_policy("p", rule, useServerSideApply=True)
    put(obj("Namespace", "shop"), policy, trigger)
    admin.merge(key_of_made, {"data": {"a": "9", "own": "x"}})
    settle()
    assert made()["data"] == {"a": "1", "own": "x"}


# What is written so that an object is as a rule wants it.

COPY = {"clone": {"name": "source", "namespace": "default"}}


@pytest.fixture
def again(cluster, cluster_policy, generate, put, obj, admin, settle, key_of_made):
    """Return what makes a rule work twice, and lists what it wrote to its object meanwhile."""

    def run(between=None, **fields):
        labels = {"labels": {"a": "b"}}
        put(obj("Namespace", "shop"), obj("ConfigMap", "source", "default", data={"b": "2"}))
        rule = generate(match=LABELLED, namespace="shop", synchronize=True, **fields)
        put(cluster_policy("p", rule), obj("Secret", "t", "default", metadata=labels))
        written = []

        def note(request, _response, _old):
            if request.user == BACKGROUND and request.key == key_of_made:
                written.append(request.operation.value)

        cluster.sim.server.observers.append(note)
        if between is not None:
            admin.merge(*between)
        admin.merge(TRIGGER, {"metadata": {"annotations": {"touched": "yes"}}})
        settle()
        return written

    return run


def test_a_copy_that_is_the_same_is_not_written_again(again):
    assert again(**COPY) == []


def test_a_copy_of_a_changed_source_is_written(again):
    assert set(again((SOURCE, {"data": {"b": "3"}}), **COPY)) == {"UPDATE"}


def test_data_is_written_again_even_where_it_is_the_same(again):
    assert again() == ["UPDATE"]
