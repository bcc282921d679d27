"""Answers that a store remembers, until what they read is written."""

from collections import Counter

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server import ObjectStore, authorizer
from kyvsim.simulator.api_server.authorizer import bound_roles, may

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


def test_answers_are_remembered_until_a_kind_they_read_is_written():
    store, calls = ObjectStore(), Counter()
    names = _names(calls)
    store.put(_config_map("a"))
    assert store.remembered(names, "ConfigMap") == ("a",)
    store.put(_binding("b"))
    assert store.remembered(names, "ConfigMap") == ("a",)
    assert calls["ConfigMap"] == 1
    store.put(_config_map("c"))
    assert store.remembered(names, "ConfigMap") == ("a", "c")
    store.remove(_config_map("a"))
    assert store.remembered(names, "ConfigMap") == ("c",)
    assert calls["ConfigMap"] == 3


def test_reads_of_a_remembered_answer_count_each_time():
    store, calls = ObjectStore(), Counter()
    names = _names(calls)
    store.remembered(names, "ConfigMap")
    for _ in range(2):
        store.read_keys = set()
        store.remembered(names, "ConfigMap")
        assert store.read_keys == {ObjectKey("", "ConfigMap", "", "")}
    assert calls["ConfigMap"] == 1


def test_answers_within_answers_hang_on_what_those_read():
    store, calls = ObjectStore(), Counter()
    names = _names(calls)

    def outer(store):
        calls["outer"] += 1
        return store.remembered(names, "ConfigMap")

    store.remembered(names, "ConfigMap")
    assert store.remembered(outer) == ()
    store.put(_config_map("a"))
    assert store.remembered(outer) == ("a",)
    assert calls["outer"] == 2


def test_roles_of_a_user_are_those_of_now():
    store = ObjectStore()
    assert bound_roles(_ADA, "", store) == ((), ())
    store.put(_binding("one"))
    assert bound_roles(_ADA, "", store) == ((), ("one",))
    assert bound_roles(_ADA._replace(username="bob"), "", store) == ((), ())
    store.remove(_binding("one"))
    assert bound_roles(_ADA, "", store) == ((), ())


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
