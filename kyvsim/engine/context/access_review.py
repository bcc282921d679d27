"""SubjectAccessReviews, answered from the RBAC objects given.

Source of the rules: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac and
pkg/registry/rbac/validation.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.labels import compile_selector
from kyvsim.kubernetes.objects import Json, labels, metadata, object_key, text_field
from kyvsim.model.ports import ClusterView
from kyvsim.model.request import UserInfo

_RBAC = "rbac.authorization.k8s.io/v1"
_KINDS = ("ClusterRoleBinding", "RoleBinding", "ClusterRole", "Role")
_MASTERS = "system:masters"


class _Access(NamedTuple):
    """Who wants to do what."""

    user: str
    groups: tuple[str, ...]
    attributes: Mapping[str, Json]
    """Of a resource, or of a URL path where `on_resource` is false."""
    on_resource: bool


def can_review(cluster: ClusterView) -> bool:
    """Return whether there is any RBAC object to review with."""
    return any(cluster.list(_RBAC, kind, "") for kind in _KINDS)


def review(body: Mapping[str, Json], cluster: ClusterView, namespace: str = "") -> Json:
    """Return a SubjectAccessReview with its status; `namespace` is that of a local review."""
    spec = _map(body.get("spec"))
    on_resource = spec.get("resourceAttributes") is not None
    attributes = _map(spec.get("resourceAttributes" if on_resource else "nonResourceAttributes"))
    if namespace:
        attributes = {**attributes, "namespace": namespace}
    access = _Access(
        text_field(spec, "user"), tuple(_texts(spec.get("groups"))), attributes, on_resource
    )
    reason = _reason(access, cluster)
    status: dict[str, Json] = {"allowed": reason is not None}
    if reason:
        status["reason"] = reason
    return {**body, "status": status}


Bound: TypeAlias = Callable[[tuple[str, str], str, tuple[str, ...]], Sequence[tuple[str, Json]]]
"""Gives the bindings of a kind and namespace that name a user, or one of some groups, each after
the subject by which it does."""


def allows(
    attributes: Mapping[str, Json],
    user: UserInfo,
    cluster: ClusterView,
    bound: Bound | None = None,
) -> bool:
    """Return whether the roles let a user do something to resources.

    `bound` is for those who keep the answers.
    """
    access = _Access(user.username, user.groups, attributes, on_resource=True)
    return _reason(access, cluster, bound) is not None


def allows_any(
    attributes: Mapping[str, Json],
    user: UserInfo,
    cluster: ClusterView,
    bound: Bound | None = None,
) -> bool | None:
    """Return whether the roles let a user do something to resources of any name.

    It is None where that depends on the name: a rule about some names comes before one that
    decides. What is read of the cluster is what `allows` reads for each of these names.
    """
    access = _Access(user.username, user.groups, attributes, on_resource=True)
    if _MASTERS in access.groups:
        return True
    for _, binding in _bindings(access, bound or partial(bound_to, cluster)):
        for rule in _rules(binding, cluster):
            if _concerns(rule, access):
                return None if [*_texts(rule.get("resourceNames"))] else True
    return False


def bound_to(
    cluster: ClusterView, place: tuple[str, str], user: str, groups: tuple[str, ...]
) -> Sequence[tuple[str, Json]]:
    """Return the bindings that name a user, each after the subject that does so.

    `place` is their kind and namespace, "" for all.
    """
    found = ((_bound(one, user, groups), one) for one in cluster.list(_RBAC, *place))
    return tuple((subject, one) for subject, one in found if subject)


def roles_given(
    bindings: Iterable[Json], namespace: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the Roles (as `namespace:name`) and the ClusterRoles that bindings give, sorted.

    Roles are those of all namespaces; a ClusterRole that a RoleBinding gives counts for requests in
    the `namespace` of that. upstream: pkg/userinfo/roleRef.go
    """
    roles: set[str] = set()
    cluster_roles: set[str] = set()
    for binding in bindings:
        reference, key = _map(binding.get("roleRef")), object_key(binding)
        kind, name = text_field(reference, "kind"), text_field(reference, "name")
        if kind == "Role" and key.kind == "RoleBinding":
            roles.add(f"{key.namespace}:{name}")
        elif kind == "ClusterRole" and key.namespace in {"", namespace}:
            cluster_roles.add(name)
    return tuple(sorted(roles)), tuple(sorted(cluster_roles))


def _reason(access: _Access, cluster: ClusterView, bound: Bound | None = None) -> str | None:
    """Return why the access is allowed, or None where it is not."""
    if _MASTERS in access.groups:
        return ""
    for subject, binding in _bindings(access, bound or partial(bound_to, cluster)):
        if any(_allows(rule, access) for rule in _rules(binding, cluster)):
            key = object_key(binding)
            place = f"{key.name}/{key.namespace}" if key.namespace else key.name
            role = _map(binding.get("roleRef"))
            return (
                f'RBAC: allowed by {key.kind} "{place}" of {text_field(role, "kind")} '
                f'"{text_field(role, "name")}" to {subject}'
            )
    return None


def _bindings(access: _Access, bound: Bound) -> Iterator[tuple[str, Json]]:
    yield from bound(("ClusterRoleBinding", ""), access.user, access.groups)
    namespace = text_field(access.attributes, "namespace")
    if namespace and access.on_resource:
        yield from bound(("RoleBinding", namespace), access.user, access.groups)


def _bound(binding: Json, user: str, groups: tuple[str, ...]) -> str:
    """Return the subject of a binding that a user is or has, "" where there is none."""
    for subject in filter(_is_map, binding.get("subjects") or ()):
        kind, name = text_field(subject, "kind"), text_field(subject, "name")
        if kind == "ServiceAccount":
            namespace = text_field(subject, "namespace") or object_key(binding).namespace
            if user == f"system:serviceaccount:{namespace}:{name}":
                return f'ServiceAccount "{name}/{namespace}"'
        elif (kind == "User" and name == user) or (kind == "Group" and name in groups):
            return f'{kind} "{name}"'
    return ""


def _rules(binding: Json, cluster: ClusterView) -> Iterator[Mapping[str, Json]]:
    reference = _map(binding.get("roleRef"))
    kind, name = text_field(reference, "kind"), text_field(reference, "name")
    namespace = object_key(binding).namespace if kind == "Role" else ""
    role = cluster.get(_RBAC, kind, namespace, name)
    if role is None:
        return
    yield from filter(_is_map, role.get("rules") or ())
    # A controller copies the rules of the roles that an aggregating role selects.
    for selector in _map(role.get("aggregationRule")).get("clusterRoleSelectors") or ():
        fits = compile_selector(selector)
        for other in cluster.list(_RBAC, "ClusterRole", ""):
            if metadata(other) and fits(labels(other)):
                yield from filter(_is_map, other.get("rules") or ())


def _allows(rule: Mapping[str, Json], access: _Access) -> bool:
    wanted = access.attributes
    if not access.on_resource:
        path = text_field(wanted, "path")
        return _names(rule.get("verbs"), text_field(wanted, "verb")) and any(
            url in {"*", path} or (url.endswith("*") and path.startswith(url[:-1]))
            for url in _texts(rule.get("nonResourceURLs"))
        )
    names = list(_texts(rule.get("resourceNames")))
    return _concerns(rule, access) and (not names or text_field(wanted, "name") in names)


def _concerns(rule: Mapping[str, Json], access: _Access) -> bool:
    """Return whether a rule lets someone do something to some resources of a kind."""
    wanted = access.attributes
    return (
        _names(rule.get("verbs"), text_field(wanted, "verb"))
        and _names(rule.get("apiGroups"), text_field(wanted, "group"))
        and _names_resource(rule.get("resources"), wanted)
    )


def _names_resource(resources: Json, wanted: Mapping[str, Json]) -> bool:
    part = text_field(wanted, "subresource")
    resource = text_field(wanted, "resource")
    combined = f"{resource}/{part}" if part else resource
    return any(
        one in {"*", combined} or (bool(part) and one == f"*/{part}") for one in _texts(resources)
    )


def _names(given: Json, wanted: str) -> bool:
    return any(one in {"*", wanted} for one in _texts(given))


def _texts(given: Json) -> Iterable[str]:
    return (one for one in given if one.__class__ is str) if given.__class__ is list else ()


def _map(given: Json) -> Mapping[str, Json]:
    return given if given.__class__ is dict else {}


def _is_map(given: Json) -> bool:
    return given.__class__ is dict
