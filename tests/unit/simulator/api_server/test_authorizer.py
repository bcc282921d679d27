"""The roles that are bound to a user."""

import pytest

from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server import ObjectStore
from kyvsim.simulator.api_server.authorizer import with_roles

_RBAC = "rbac.authorization.k8s.io/v1"
_ROBOT = UserInfo("system:serviceaccount:shop:robot", groups=("system:serviceaccounts",))


def binding(role, role_kind, subject, place=""):
    where = {"namespace": place} if place else {}
    return {
        "apiVersion": _RBAC,
        "kind": "RoleBinding" if place else "ClusterRoleBinding",
        "metadata": {"name": f"to-{role}", **where},
        "roleRef": {"kind": role_kind, "name": role},
        "subjects": [subject],
    }


ROBOT = {"kind": "ServiceAccount", "namespace": "shop", "name": "robot"}
NEAR = {"kind": "ServiceAccount", "name": "robot"}
ALL = {"kind": "Group", "name": "system:serviceaccounts"}


@pytest.mark.parametrize(
    ("bindings", "roles", "cluster_roles"),
    [
        ([binding("edit", "Role", ROBOT, "shop")], ("shop:edit",), ()),
        ([binding("edit", "Role", ROBOT, "bank")], ("bank:edit",), ()),
        ([binding("edit", "ClusterRole", ROBOT, "shop")], (), ("edit",)),
        ([binding("edit", "ClusterRole", ROBOT, "bank")], (), ()),
        ([binding("view", "ClusterRole", ROBOT)], (), ("view",)),
        ([binding("view", "Role", ROBOT)], (), ()),
        ([binding("edit", "Role", NEAR, "shop")], ("shop:edit",), ()),
        ([binding("edit", "Role", NEAR, "bank")], (), ()),
        ([binding("edit", "Role", {"kind": "User", "name": "robot"}, "shop")], (), ()),
        ([binding("b", "ClusterRole", ALL), binding("a", "ClusterRole", ROBOT)], (), ("a", "b")),
    ],
)
def test_roles_for_a_request_in_a_namespace(bindings, roles, cluster_roles):
    store = ObjectStore()
    for one in bindings:
        store.put(one)
    user = with_roles(_ROBOT, "shop", store)
    assert (user.roles, user.cluster_roles) == (roles, cluster_roles)
