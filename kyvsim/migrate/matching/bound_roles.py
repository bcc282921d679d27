"""`roles` and `clusterRoles` of a filter → a look at the bindings that name who asks.

Requests do not tell roles: Kyverno finds those of a ClusterPolicy in the bindings of the cluster.
upstream: pkg/userinfo/roleRef.go
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kyvsim.migrate.desk import Desk
from kyvsim.migrate.expressions import Each, Relation, Test, every, quoted, some
from kyvsim.model.migration import Condition

_RBAC: Final = "rbac.authorization.k8s.io/v1"
_BOUND: Final = Condition(
    "bound roles",
    "Kyverno may list RoleBindings and ClusterRoleBindings; offline these are given, and roles that"
    " a file tells of a user do not count",
)
_USER: Final = "request.?userInfo.?username.orValue('')"
_GROUPS: Final = "request.?userInfo.?groups.orValue([])"
_NOWHERE: Final = "''"
_HERE: Final = "request.?namespace.orValue('')"
_PLACE: Final = "binding.metadata.?namespace.orValue('')"


def roles_test(field: str, wanted: Sequence[str], desk: Desk) -> Test:
    """Return the test that one of some roles is bound to who asks, for one of `ROLE_FIELDS`."""
    desk.note(_BOUND)
    return ROLE_FIELDS[field](wanted)


def _roles(wanted: Sequence[str]) -> Test:
    """Return the test of Roles, which are written as `namespace:name`."""
    names: dict[str, list[str]] = {}
    for one in wanted:
        namespace, sign, name = one.partition(":")
        if sign:
            names.setdefault(namespace, []).append(name)
    return some(
        _bound(_listed("rolebindings", quoted(namespace)), "Role", some_names)
        for namespace, some_names in names.items()
    )


def _cluster_roles(wanted: Sequence[str]) -> Test:
    """Return the test of ClusterRoles; what a RoleBinding gives counts in its namespace only."""
    listed = f"{_listed('clusterrolebindings', _NOWHERE)} + {_listed('rolebindings', _HERE)}"
    here = some(Relation(_PLACE, "==", one) for one in (_NOWHERE, _HERE))
    return _bound(f"({listed})", "ClusterRole", wanted, here)


ROLE_FIELDS: Final[Mapping[str, Callable[[Sequence[str]], Test]]] = MappingProxyType(
    {"roles": _roles, "clusterRoles": _cluster_roles}
)
"""The fields of a filter that name roles."""


def _listed(resource: str, namespace: str) -> str:
    return f"dyn(resource.List('{_RBAC}', '{resource}', {namespace})).items"


def _bound(bindings: str, kind: str, names: Sequence[str], *more: Test) -> Test:
    is_kind = Relation("binding.roleRef.kind", "==", quoted(kind))
    is_one = Relation("binding.roleRef.name", "in", f"[{', '.join(map(quoted, names))}]")
    return Each(bindings, "binding", every([is_kind, is_one, *more, _names_user()]), "exists")


def _names_user() -> Test:
    """Return the test that a subject of a binding is who asks, or one of their groups."""
    account = (
        f"'system:serviceaccount:' + subject.?namespace.orValue({_PLACE}) + ':' + subject.name"
    )
    ways = (
        ("User", Relation("subject.name", "==", _USER)),
        ("Group", Relation("subject.name", "in", _GROUPS)),
        ("ServiceAccount", Relation(account, "==", _USER)),
    )
    body = some(every([Relation("subject.kind", "==", quoted(kind)), one]) for kind, one in ways)
    return Each("binding.?subjects.orValue([])", "subject", body, "exists")
