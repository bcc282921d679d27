"""Answers that a store remembers, until what they read is written."""

from collections import Counter

from kyvsim.kube.objects import ObjectKey
from kyvsim.model.request import UserInfo
from kyvsim.sim.server import Store
from kyvsim.sim.server.authorizer import bound_roles

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
    store, calls = Store(), Counter()
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
    store, calls = Store(), Counter()
    names = _names(calls)
    store.remembered(names, "ConfigMap")
    for _ in range(2):
        store.read_keys = set()
        store.remembered(names, "ConfigMap")
        assert store.read_keys == {ObjectKey("", "ConfigMap", "", "")}
    assert calls["ConfigMap"] == 1


def test_answers_within_answers_hang_on_what_those_read():
    store, calls = Store(), Counter()
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
    store = Store()
    assert bound_roles(_ADA, store) == ((), ())
    store.put(_binding("one"))
    assert bound_roles(_ADA, store) == ((), ("one",))
    assert bound_roles(_ADA._replace(username="bob"), store) == ((), ())
    store.remove(_binding("one"))
    assert bound_roles(_ADA, store) == ((), ())
