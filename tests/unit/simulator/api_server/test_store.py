from kyvsim.simulator.api_server import ObjectStore


def config_map(name, namespace="x", **data):
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def test_every_write_has_a_revision_of_its_own():
    store = ObjectStore()
    first, second = store.put(config_map("a")), store.put(config_map("a", k="v"))
    versions = [one["metadata"]["resourceVersion"] for one in (first, second)]
    assert versions == ["1", "2"]
    assert store.get("v1", "ConfigMap", "x", "a") is second


def test_objects_come_by_namespace_and_name():
    store = ObjectStore()
    for name, namespace in (("b", "y"), ("z", "x"), ("a", "x")):
        store.put(config_map(name, namespace))
    names = [one["metadata"]["name"] for one in store.list("v1", "ConfigMap", "")]
    assert names == ["a", "z", "b"]
    assert len(store.list("v1", "ConfigMap", "x")) == 2


def test_watchers_see_what_was_and_what_is():
    store, seen = ObjectStore(), []
    store.watch(lambda change: seen.append((change.old, change.new)))
    stored = store.put(config_map("a"))
    store.remove(stored)
    store.remove(stored)
    assert seen == [(None, stored), (stored, None)]


def test_an_object_is_one_whatever_version_it_is_asked_for_by():
    store = ObjectStore()
    store.put({**config_map("a"), "apiVersion": "kyverno.io/v2", "kind": "CleanupPolicy"})
    found = store.get("kyverno.io/v2beta1", "CleanupPolicy", "x", "a")
    assert found["apiVersion"] == "kyverno.io/v2beta1"


def test_definitions_add_kinds_and_take_them_away():
    store = ObjectStore()
    names = {"kind": "Shop", "plural": "shops"}
    definition = store.put(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "shops.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": names},
        }
    )
    assert store.kind_of("example.com/v1", "shops") == "Shop"
    store.remove(definition)
    assert store.kind_of("example.com/v1", "shops") == ""


def test_watchers_of_kinds_are_told_of_those_in_the_order_in_which_they_came():
    store, seen = ObjectStore(), []
    store.watch(lambda _: seen.append("maps"), {("v1", "ConfigMap")})
    store.watch(lambda _: seen.append("all"))
    store.put(config_map("a"))
    store.put({**config_map("s"), "kind": "Secret"})
    store.watch(lambda _: seen.append("late"), {("v1", "ConfigMap")})
    store.remove(config_map("a"))
    assert seen == ["maps", "all", "all", "maps", "all", "late"]


def test_the_order_of_objects_follows_what_comes_and_goes():
    store = ObjectStore()
    places = [("b", "x"), ("a", "x-y"), ("a", "x"), ("c", "w")]
    for name, namespace in places:
        store.put(config_map(name, namespace))
        store.list("v1", "ConfigMap", "")
    store.put(config_map("b", "x", k="v"))
    store.remove(config_map("a", "x"))

    def found(namespace):
        some = (one["metadata"] for one in store.list("v1", "ConfigMap", namespace))
        return [(one["name"], one["namespace"]) for one in some]

    assert found("") == [("c", "w"), ("b", "x"), ("a", "x-y")]
    assert found("x") == [("b", "x")]
    assert found("y") == []
