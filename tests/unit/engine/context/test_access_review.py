import pytest

from kyvsim.engine.context.cluster_api import can_review, review
from kyvsim.engine.world import GivenObjects

RBAC = "rbac.authorization.k8s.io/v1"
READER = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
SCALER = {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["*"]}
ONE = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["key"]}
HEALTH = {"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]}


@pytest.fixture
def cluster(thing):
    def rbac(kind, name, namespace="", **fields):
        return thing(kind, name, namespace, api_version=RBAC, **fields)

    def bound(kind, name, namespace, role, subject):
        reference = {"kind": role[0], "name": role[1]}
        return rbac(kind, name, namespace, roleRef=reference, subjects=[subject])

    robot = {"kind": "ServiceAccount", "name": "robot", "namespace": "ci"}
    part = rbac("ClusterRole", "part", rules=[HEALTH])
    part["metadata"]["labels"] = {"add": "yes"}
    sums = {"clusterRoleSelectors": [{"matchLabels": {"add": "yes"}}]}
    return GivenObjects(
        [
            rbac("ClusterRole", "reader", rules=[READER]),
            rbac("ClusterRole", "sum", rules=[], aggregationRule=sums),
            part,
            rbac("Role", "keys", "shop", rules=[ONE, SCALER]),
            bound("ClusterRoleBinding", "b1", "", ("ClusterRole", "reader"), robot),
            bound("RoleBinding", "b2", "shop", ("Role", "keys"), {"kind": "Group", "name": "devs"}),
            bound(
                "RoleBinding",
                "b3",
                "shop",
                ("ClusterRole", "reader"),
                {"kind": "User", "name": "eve"},
            ),
            bound(
                "ClusterRoleBinding",
                "b4",
                "",
                ("ClusterRole", "sum"),
                {"kind": "User", "name": "eve"},
            ),
        ]
    )


def can(cluster, user, groups=(), local="", **attributes):
    spec = {"user": user, "groups": list(groups)}
    field = "nonResourceAttributes" if "path" in attributes else "resourceAttributes"
    body = {"kind": "SubjectAccessReview", "spec": {**spec, field: attributes}}
    answer = review(body, cluster, local)
    assert answer["spec"] == body["spec"]
    return answer["status"]


ROBOT = "system:serviceaccount:ci:robot"


@pytest.mark.parametrize(
    ("user", "groups", "attributes", "allowed"),
    [
        (ROBOT, (), {"verb": "get", "resource": "pods", "namespace": "any"}, True),
        (ROBOT, (), {"verb": "get", "resource": "pods"}, True),
        (ROBOT, (), {"verb": "delete", "resource": "pods"}, False),
        (ROBOT, (), {"verb": "get", "resource": "pods", "group": "apps"}, False),
        (ROBOT, (), {"verb": "get", "resource": "pods", "subresource": "log"}, False),
        ("system:serviceaccount:other:robot", (), {"verb": "get", "resource": "pods"}, False),
        ("eve", (), {"verb": "get", "resource": "pods", "namespace": "shop"}, True),
        ("eve", (), {"verb": "get", "resource": "pods", "namespace": "bank"}, False),
        ("eve", (), {"verb": "get", "path": "/healthz/live"}, True),
        ("eve", (), {"verb": "get", "path": "/metrics"}, False),
        (
            "x",
            ("devs",),
            {"verb": "get", "resource": "secrets", "name": "key", "namespace": "shop"},
            True,
        ),
        (
            "x",
            ("devs",),
            {"verb": "get", "resource": "secrets", "name": "no", "namespace": "shop"},
            False,
        ),
        ("x", ("devs",), {"verb": "get", "resource": "secrets", "namespace": "shop"}, False),
        (
            "x",
            ("devs",),
            {
                "verb": "update",
                "resource": "deployments",
                "subresource": "scale",
                "group": "apps",
                "namespace": "shop",
            },
            True,
        ),
        ("x", ("system:masters",), {"verb": "delete", "resource": "nodes"}, True),
        ("x", (), {"verb": "get", "resource": "pods"}, False),
    ],
)
def test_who_may_do_what(cluster, user, groups, attributes, allowed):
    assert can(cluster, user, groups, **attributes)["allowed"] is allowed


def test_the_reason_names_the_binding(cluster):
    status = can(cluster, "eve", verb="list", resource="pods", namespace="shop")
    expected = 'RBAC: allowed by RoleBinding "b3/shop" of ClusterRole "reader" to User "eve"'
    assert status["reason"] == expected
    assert can(cluster, "eve", verb="list", resource="nodes") == {"allowed": False}


def test_a_local_review_is_about_its_namespace(cluster):
    assert can(cluster, "eve", local="shop", verb="get", resource="pods")["allowed"]
    assert not can(cluster, "eve", local="bank", verb="get", resource="pods")["allowed"]


def test_without_rbac_objects_there_is_nothing_to_review_with(cluster, pod):
    assert can_review(cluster)
    assert not can_review(GivenObjects([pod()]))
