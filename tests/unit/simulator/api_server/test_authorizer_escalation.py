"""Roles and bindings by users without the permissions that these grant."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.request import UserInfo

RBAC = "rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}
URLS = {"nonResourceURLs": ["/metrics/*"], "verbs": ["get"]}
ANY = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get"]}
WRITES = {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["create", "update", "patch"]}
MAPS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
ONE_MAP = {**MAPS, "resourceNames": ["m"]}
TEXT = 'user "ann" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC'


@pytest.fixture
def ann(cluster, put, obj):
    """Return what gives a user some rights, besides that to write roles, and her client."""

    def make(*rules):
        put(
            obj("ClusterRole", "held", api_version=RBAC, rules=[WRITES, *rules]),
            binding(obj, "held", subject="ann"),
        )
        return cluster.sim.client(UserInfo("ann", groups=("dev", "system:authenticated")))

    return make


def binding(obj, role, subject="bob", namespace="", kind="ClusterRole"):
    """Return a binding of a user to a role, for a namespace or for all."""
    name = "RoleBinding" if namespace else "ClusterRoleBinding"
    reference = {"apiGroup": GROUP, "kind": kind, "name": role}
    subjects = [{"apiGroup": GROUP, "kind": "User", "name": subject}]
    made = f"{subject}-{role}"
    return obj(name, made, namespace, RBAC, roleRef=reference, subjects=subjects)


@pytest.mark.parametrize(
    ("held", "given", "missing"),
    [
        ([SECRETS], SECRETS, ""),
        ([], SECRETS, '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'),
        ([{**SECRETS, "verbs": ["get"]}], SECRETS, 'Resources:["secrets"], Verbs:["list"]}'),
        ([ANY], {**SECRETS, "verbs": ["get"]}, ""),
        ([MAPS], ANY, '{APIGroups:["*"], Resources:["*"], Verbs:["get"]}'),
        ([MAPS], ONE_MAP, ""),
        ([ONE_MAP], MAPS, '{APIGroups:[""], Resources:["configmaps"], Verbs:["get"]}'),
        ([], ONE_MAP, 'Resources:["configmaps"], ResourceNames:["m"], Verbs:["get"]}'),
        ([URLS], {**URLS, "nonResourceURLs": ["/metrics/a"]}, ""),
        ([], URLS, '{NonResourceURLs:["/metrics/*"], Verbs:["get"]}'),
        ([{**WRITES, "resources": ["clusterroles"], "verbs": ["escalate"]}], SECRETS, ""),
    ],
)
def test_a_role_gives_what_its_writer_has(ann, obj, held, given, missing):
    response = ann(*held).create(obj("ClusterRole", "new", api_version=RBAC, rules=[given]))
    if not missing:
        assert response.ok, response.error
        return
    assert response.error.reason == "Forbidden"
    assert response.error.message.startswith(
        f'clusterroles.rbac.authorization.k8s.io "new" is forbidden: {TEXT}'
    )
    assert missing in response.error.message


def test_a_change_that_gives_nothing_is_free(ann, obj, put):
    role = obj("ClusterRole", "r", api_version=RBAC, rules=[SECRETS])
    put(role)
    client = ann()
    labelled = {**role, "metadata": {"name": "r", "labels": {"a": "b"}}}
    assert client.update(labelled).ok
    assert not client.update({**role, "rules": [SECRETS, MAPS]}).ok


def test_what_a_role_gathers_takes_every_right(ann, obj):
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    role = obj("ClusterRole", "r", api_version=RBAC, aggregationRule=gathers)
    found = ann(SECRETS).create(role).error
    assert '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}' in found.message


@pytest.mark.parametrize("namespace", ["", "default"])
def test_a_binding_gives_what_its_writer_has(ann, obj, admin, namespace):
    secrets = obj("ClusterRole", "secrets", api_version=RBAC, rules=[SECRETS])
    assert admin.create(secrets).ok
    bound = binding(obj, "secrets", namespace=namespace)
    client = ann()
    assert TEXT in client.create(bound).error.message
    may_bind = {**WRITES, "resources": ["clusterroles"], "verbs": ["bind"]}
    held = admin.get(RBAC, "ClusterRole", "", "held")
    for rule in (SECRETS, may_bind):
        assert admin.update({**held, "rules": [WRITES, rule]}).ok
        assert client.create(bound).ok
        kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        assert admin.delete(ObjectKey(RBAC, kind, namespace, "bob-secrets")).ok
        held = admin.get(RBAC, "ClusterRole", "", "held")


def test_a_role_that_is_not_there_cannot_be_bound(ann, obj, admin):
    bound = binding(obj, "missing")
    assert ann().create(bound).error.reason == "NotFound"
    assert admin.create(bound).ok
