import pytest

from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.simulator.kubernetes.controller import owner_reference


@pytest.fixture
def family(obj, put):
    """Return an owner and what belongs to it."""
    owner = put(obj("ConfigMap", "owner", "default"))
    references = {"ownerReferences": [owner_reference(owner)]}
    return owner, put(obj("ConfigMap", "child", "default", metadata=references))


def test_what_belongs_to_an_object_goes_after_it(admin, family, run):
    owner, child = map(object_key, family)
    admin.delete(owner)
    assert admin.get(*owner) is None
    assert admin.get(*child)
    run(1)
    assert admin.get(*child) is None


def test_in_the_foreground_it_goes_before_it(admin, family, run, told):
    owner, child = map(object_key, family)
    admin.delete(owner, "Foreground")
    assert admin.get(*owner)["metadata"]["finalizers"] == ["foregroundDeletion"]
    run(1)
    assert (admin.get(*owner), admin.get(*child)) == (None, None)
    assert [one[0] for one in told("generic-garbage-collector")] == ["delete", "update"]


def test_an_orphan_stays_without_its_owner(admin, family, run):
    owner, child = map(object_key, family)
    admin.delete(owner, "Orphan")
    run(1)
    assert admin.get(*owner) is None
    assert "ownerReferences" not in admin.get(*child)["metadata"]


def test_an_object_with_another_owner_stays(admin, obj, family, put, run):
    owner, child = family
    other = put(obj("ConfigMap", "other", "default"))
    both = [owner_reference(owner), {**owner_reference(other), "controller": False}]
    admin.merge(object_key(child), {"metadata": {"ownerReferences": both}})
    admin.delete(object_key(owner))
    run(1)
    held = admin.get(*object_key(child))["metadata"]["ownerReferences"]
    assert [one["name"] for one in held] == ["other"]


def test_an_owner_in_another_namespace_is_none(admin, obj, put, run):
    owner = put(obj("Namespace", "shop"), obj("ConfigMap", "owner", "shop"))
    references = {"ownerReferences": [owner_reference(owner)]}
    admin.create(obj("ConfigMap", "child", "default", metadata=references))
    run(1)
    assert admin.get("v1", "ConfigMap", "default", "child") is None
    assert admin.get(*ObjectKey("v1", "ConfigMap", "shop", "owner"))


def test_an_owner_of_an_unknown_kind_may_be_there(admin, obj, run):
    unknown = {"apiVersion": "example.com/v1", "kind": "Shop", "name": "s", "uid": "1"}
    meta = {"ownerReferences": [unknown]}
    admin.create(obj("ConfigMap", "child", "default", metadata=meta))
    gone = {"apiVersion": "v1", "kind": "ConfigMap", "name": "s", "uid": "1"}
    admin.create(obj("ConfigMap", "lost", "default", metadata={"ownerReferences": [gone]}))
    run(1)
    assert admin.get("v1", "ConfigMap", "default", "child")
    assert admin.get("v1", "ConfigMap", "default", "lost") is None
