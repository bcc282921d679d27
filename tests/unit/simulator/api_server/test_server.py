"""The processing of requests by an API server."""

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server.metadata import Identities
from kyvsim.simulator.api_server.server import ADMIN


def test_a_created_object_gets_what_only_the_server_knows(admin, obj):
    made = admin.create(obj("ConfigMap", "a", "default")).object["metadata"]
    assert made["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert (len(made["uid"]), made["generation"]) == (36, 1)


def test_names_are_generated_the_same_way_each_time(make_cluster, obj):
    def name(seed):
        admin = make_cluster(seed=seed).sim.client(ADMIN)
        sent = obj("ConfigMap", namespace="default", metadata={"generateName": "a-"})
        return admin.create(sent).object["metadata"]["name"]

    assert name(1) == name(1) != name(2)
    assert name(1).startswith("a-")
    assert len(name(1)) == len("a-") + 5


def test_a_second_creation_is_refused(admin, obj):
    admin.create(obj("ConfigMap", "a", "default"))
    error = admin.create(obj("ConfigMap", "a", "default")).error
    assert (error.code, error.message) == (409, 'configmaps "a" already exists')


def test_nothing_is_created_in_a_namespace_that_is_not_there(admin, obj):
    error = admin.create(obj("ConfigMap", "a", "nowhere")).error
    assert (error.reason, error.message) == ("NotFound", 'namespaces "nowhere" not found')


def test_a_namespace_counts_for_nothing_where_a_kind_lies_in_none(admin, obj):
    made = admin.create(obj("Namespace", "a", "nowhere")).object
    assert "namespace" not in made["metadata"]
    assert admin.get("v1", "Namespace", "", "a") is not None


def test_a_kind_that_nobody_defines_is_not_served(admin, obj):
    error = admin.create(obj("Shop", "a", "default", "example.com/v1")).error
    assert error.message == 'no matches for kind "Shop" in version "example.com/v1"'


def test_an_update_with_an_old_version_is_a_conflict(admin, obj):
    first = admin.create(obj("ConfigMap", "a", "default")).object
    assert admin.update({**first, "data": {"k": "1"}}).ok
    error = admin.update({**first, "data": {"k": "2"}}).error
    assert error.reason == "Conflict"


def test_an_update_that_changes_nothing_is_not_written(cluster, admin, obj):
    first = admin.create(obj("ConfigMap", "a", "default")).object
    before = cluster.sim.store.revision
    response = admin.update(first)
    assert response.ok
    assert not response.changed
    assert cluster.sim.store.revision == before


def test_generation_counts_changes_of_what_is_wished(admin, deployment):
    first = admin.create(deployment(replicas=1)).object
    labelled = admin.merge(_key(first), {"metadata": {"labels": {"a": "b"}}}).object
    scaled = admin.merge(_key(first), {"spec": {"replicas": 2}}).object
    assert [one["metadata"]["generation"] for one in (first, labelled, scaled)] == [1, 1, 2]


def test_status_is_written_apart(admin, deployment):
    first = admin.create({**deployment(), "status": {"replicas": 7}}).object
    assert "status" not in first
    written = admin.update({**first, "spec": {}, "status": {"replicas": 1}}, "status").object
    assert (written["spec"], written["status"]) == (first["spec"], {"replicas": 1})


def test_a_dry_run_stores_nothing(admin, obj):
    assert admin.create(obj("ConfigMap", "a", "default"), dry_run=True).ok
    assert admin.get("v1", "ConfigMap", "default", "a") is None


def test_an_object_with_a_finalizer_waits_for_its_end(admin, obj):
    first = admin.create(obj("ConfigMap", "a", "default", metadata={"finalizers": ["x/y"]})).object
    admin.delete(_key(first))
    assert admin.get(*_key(first))["metadata"]["deletionTimestamp"]
    admin.merge(_key(first), {"metadata": {"finalizers": None}})
    assert admin.get(*_key(first)) is None


def test_who_has_no_right_is_refused(cluster, obj):
    error = cluster.sim.client(UserInfo("jane")).create(obj("ConfigMap", "a", "default")).error
    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.message == (
        'configmaps "a" is forbidden: User "jane" cannot create resource "configmaps" '
        'in API group "" in the namespace "default"'
    )


def test_every_answer_is_in_the_timeline(cluster, admin, obj):
    admin.create(obj("ConfigMap", "a", "default"))
    admin.create(obj("ConfigMap", "a", "default"))
    told = [(one.actor, one.action, one.outcome) for one in cluster.sim.timeline.events]
    assert told == [("user", "create", "done"), ("user", "create", "failed")]


def _key(obj):
    meta = obj["metadata"]
    return ObjectKey(obj["apiVersion"], obj["kind"], meta.get("namespace", ""), meta["name"])


def test_a_uid_looks_like_one():
    first = Identities().uid("v1", "Pod", "shop", "a")
    assert [len(part) for part in first.split("-")] == [8, 4, 4, 4, 12]
    assert (first[14], first[19]) == ("5", "8")


def test_alike_things_differ():
    one = Identities()
    assert one.uid("Pod", "a") != one.uid("Pod", "a")
    assert one.generated_name("a-") != one.generated_name("a-")
    assert one.below(1 << 60) != one.below(1 << 60)


def test_what_a_thing_gets_does_not_depend_on_others():
    first, second = Identities(), Identities()
    second.uid("Pod", "b")
    second.generated_name("b-", "shop")
    assert first.uid("Pod", "a") == second.uid("Pod", "a")
    assert first.generated_name("a-", "shop") == second.generated_name("a-", "shop")


def test_another_seed_gives_others():
    assert Identities(1).uid("Pod", "a") != Identities(2).uid("Pod", "a")


def test_a_copy_of_identities_goes_on_independently():
    first = Identities()
    first.uid("Pod", "a")
    copy = first.copy()
    expected = [first.uid("Pod", "a"), first.uid("Pod", "a")]
    assert [copy.uid("Pod", "a"), copy.uid("Pod", "a")] == expected


def test_a_long_base_is_cut():
    assert len(Identities().generated_name("a" * 80)) == 63
