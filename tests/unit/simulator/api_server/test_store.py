"""The store and its cached results."""

from collections import Counter

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server import ObjectStore, authorizer
from kyvsim.simulator.api_server.authorizer import may, with_roles


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


def test_a_copy_and_its_original_are_independent():
    store, seen = ObjectStore(), []
    kept, gone = store.put(config_map("a")), store.put(config_map("b"))
    store.watch(seen.append)
    count = Counter()

    def query(view):
        count["runs"] += 1
        return len(view.list("v1", "ConfigMap", ""))

    assert store.cached(query) == 2
    copy = store.copy()
    assert copy.cached(query) == 2
    assert count["runs"] == 1
    copy.remove(gone)
    assert copy.put(config_map("c"))["metadata"]["resourceVersion"] == "4"
    copy.put(config_map("a", k="v"))
    assert (store.list("v1", "ConfigMap", ""), store.revision, seen) == ([kept, gone], 2, [])
    assert (store.cached(query), len(store.changes)) == (2, 2)
    names = [one["metadata"]["name"] for one in copy.list("v1", "ConfigMap", "")]
    assert (names, copy.cached(query), copy.ever("v1", "ConfigMap")) == (["a", "c"], 2, 3)


def test_copies_share_what_does_not_depend_on_their_writes():
    store, runs = ObjectStore(), []
    store.put(config_map("a"))

    def query(view, kind):
        runs.append(kind)
        return len(view.list("v1", kind, ""))

    first, second = store.copy(), store.copy()
    first.put({**config_map("s"), "kind": "Secret"})
    for copy in (first, second, store.copy()):
        found = [copy.cached(query, kind) for kind in ("ConfigMap", "Secret") * 2]
        assert found == [1, int(copy is first)] * 2
    assert runs == ["ConfigMap", "Secret", "Secret"]
    second.put(config_map("b"))
    assert [one.cached(query, "ConfigMap") for one in (first, second, store)] == [1, 2, 1]
    assert len(runs) == 4


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


# Answers that a store remembers, until what they read is written.

_RBAC = "rbac.authorization.k8s.io/v1"
_ADA = UserInfo("ada", groups=("team",))


def _binding(name, user="ada"):
    return {
        "apiVersion": _RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": user}],
    }


def _config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "x", "name": name}}


def _names(calls):
    def names(store, kind):
        calls[kind] += 1
        return tuple(one["metadata"]["name"] for one in store.list("v1", kind, ""))

    return names


def test_answers_are_cached_until_a_kind_they_read_is_written():
    store, calls = ObjectStore(), Counter()
    names = _names(calls)
    store.put(_config_map("a"))
    assert store.cached(names, "ConfigMap") == ("a",)
    store.put(_binding("b"))
    assert store.cached(names, "ConfigMap") == ("a",)
    assert calls["ConfigMap"] == 1
    store.put(_config_map("c"))
    assert store.cached(names, "ConfigMap") == ("a", "c")
    store.remove(_config_map("a"))
    assert store.cached(names, "ConfigMap") == ("c",)
    assert calls["ConfigMap"] == 3


def test_reads_of_a_cached_answer_count_each_time():
    store, calls = ObjectStore(), Counter()
    names = _names(calls)
    store.cached(names, "ConfigMap")
    for _ in range(2):
        store.read_keys = set()
        store.cached(names, "ConfigMap")
        assert store.read_keys == {ObjectKey("", "ConfigMap", "", "")}
    assert calls["ConfigMap"] == 1


def test_answers_within_answers_hang_on_what_those_read():
    store, calls = ObjectStore(), Counter()
    names = _names(calls)

    def outer(store):
        calls["outer"] += 1
        return store.cached(names, "ConfigMap")

    store.cached(names, "ConfigMap")
    assert store.cached(outer) == ()
    store.put(_config_map("a"))
    assert store.cached(outer) == ("a",)
    assert calls["outer"] == 2


def roles_of(user, namespace, store):
    known = with_roles(user, namespace, store)
    return known.roles, known.cluster_roles


def test_roles_of_a_user_are_those_of_now():
    store = ObjectStore()
    assert roles_of(_ADA, "", store) == ((), ())
    store.put(_binding("one"))
    assert roles_of(_ADA, "", store) == ((), ("one",))
    assert roles_of(_ADA._replace(username="bob"), "", store) == ((), ())
    store.remove(_binding("one"))
    assert roles_of(_ADA, "", store) == ((), ())


def _role(**rule):
    meta = {"name": "b"}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], **rule}]
    return {"apiVersion": _RBAC, "kind": "ClusterRole", "metadata": meta, "rules": rules}


def _may(store, verb, name):
    return may(_ADA, verb, ObjectKey("v1", "ConfigMap", "x", name), store)


def test_rights_to_some_names_are_no_rights_to_others():
    store = ObjectStore()
    store.put(_binding("b"))
    store.put(_role(verbs=["get"], resourceNames=["a"]))
    for _ in range(2):
        assert [_may(store, "get", name) for name in ("a", "b", "")] == [True, False, False]
        assert not _may(store, "delete", "a")
    store.put(_role(verbs=["get"], resourceNames=[""]))
    assert [_may(store, "get", name) for name in ("a", "")] == [False, True]


def test_rights_are_looked_for_once_for_all_names(monkeypatch):
    store, calls = ObjectStore(), Counter()
    real = authorizer.allows_any

    def counted(*args):
        calls["asked"] += 1
        return real(*args)

    monkeypatch.setattr(authorizer, "allows_any", counted)
    store.put(_binding("b"))
    store.put(_role(verbs=["get"]))
    for number in range(5):
        store.read_keys = set()
        assert _may(store, "get", f"map-{number}")
        assert ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "b") in store.read_keys
    assert calls["asked"] == 1
    store.put(_role(verbs=["list"]))
    assert not _may(store, "get", "map-0")
    assert calls["asked"] == 2
