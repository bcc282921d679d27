"""Roles that select others have their rules."""

import pytest

from kyvsim.kubernetes.objects import object_key
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.configuration import BACKGROUND

RBAC = "rbac.authorization.k8s.io/v1"
RULE = {"apiGroups": ["example.com"], "resources": ["gizmos"], "verbs": ["get"]}


@pytest.fixture
def role(obj):
    return lambda name, marks, *rules: obj(
        "ClusterRole", name, api_version=RBAC, metadata={"labels": marks}, rules=list(rules)
    )


@pytest.fixture
def rules_of(cluster):
    return lambda name: cluster.sim.store.get(RBAC, "ClusterRole", "", name)["rules"]


@pytest.mark.parametrize("name", ["admin", "edit", "view", "kyverno:background-controller"])
def test_installed_roles_are_filled(rules_of, name):
    assert rules_of(name)


def test_a_role_that_comes_later_counts(put, role, rules_of):
    put(role("more", {"rbac.authorization.k8s.io/aggregate-to-view": "true"}, RULE))
    assert RULE in rules_of("view")
    assert RULE in rules_of("admin")


def test_controllers_may_do_what_the_chart_lets_them(cluster, key_of_config_map):
    store = cluster.sim.store
    assert may(BACKGROUND, "create", key_of_config_map, store)
    assert not may(BACKGROUND, "create", key_of_config_map._replace(kind="ServiceAccount"), store)


@pytest.fixture
def key_of_config_map(obj):
    return object_key(obj("ConfigMap", "c", "default"))
