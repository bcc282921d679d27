"""RBAC: permissions, and the right to grant them."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from kyvsim.engine.context.cluster_api import allows, allows_any, bound_to, roles_given
from kyvsim.kubernetes.discovery import plural, split_api_version
from kyvsim.kubernetes.objects import Json, KubernetesObject, ObjectKey, entries, text_field
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.simulation import FailureCause
from kyvsim.simulator.api_server import errors
from kyvsim.simulator.api_server.request import ApiError, ApiRequest, Review, written
from kyvsim.simulator.api_server.store import ObjectStore

# Permissions: RBAC as stored.
# Source of the rules: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac.

_VERBS: Mapping[Operation, str] = {
    Operation.CREATE: "create",
    Operation.UPDATE: "update",
    Operation.DELETE: "delete",
}

_ATTRIBUTES = ("verb", "group", "version", "resource", "subresource", "namespace")


def service_account(namespace: str, name: str) -> UserInfo:
    """Return the identity of a ServiceAccount."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    user = f"system:serviceaccount:{namespace}:{name}"
    return UserInfo(user, groups=(*groups, "system:authenticated"))


def may(
    user: UserInfo, verb: str, key: ObjectKey, store: ObjectStore, *, subresource: str = ""
) -> bool:
    """Return whether a user may do an action on an object; its name "" is any name."""
    group, version = split_api_version(key.api_version)
    resource = plural(group, key.kind, store.defined)
    action = verb, group, version, resource, subresource, key.namespace
    # The name rarely matters: one cached result serves all objects of a kind.
    always: bool | None = store.cached(_may_any, user.username, user.groups, action)
    if always is not None:
        return always
    attributes = {**dict(zip(_ATTRIBUTES, action, strict=True)), "name": key.name}
    return allows(attributes, user, store, store.cached)


def _may_any(
    store: ObjectStore, username: str, groups: tuple[str, ...], action: tuple[str, ...]
) -> bool | None:
    attributes = dict(zip(_ATTRIBUTES, action, strict=True))
    return allows_any(attributes, UserInfo(username, groups=groups), store.cached)


def denial(
    user: UserInfo, verb: str, key: ObjectKey, store: ObjectStore, *, subresource: str = ""
) -> ApiError | None:
    """Return why a user may not do an action on an object, or None; its name "" is any name."""
    if may(user, verb, key, store, subresource=subresource):
        return None
    resource = "/".join(filter(None, (plural(key.group, key.kind, store.defined), subresource)))
    where = f' in the namespace "{key.namespace}"' if key.namespace else " at the cluster scope"
    what = f'resource "{resource}" in API group "{key.group}"{where}'
    why = f'User "{user.username}" cannot {verb} {what}'
    return errors.forbidden(key, store.defined, why)._replace(why=FailureCause.NO_RIGHT)


def refusal(request: ApiRequest, store: ObjectStore) -> ApiError | None:
    """Return why a user may not send a request, or None."""
    verb = "patch" if request.patch else _VERBS.get(request.operation, "create")
    return denial(request.user, verb, request.key, store, subresource=request.subresource)


def with_roles(user: UserInfo, namespace: str, store: ObjectStore) -> UserInfo:
    """Return a user with the Roles (as `namespace:name`) and ClusterRoles bound to it, sorted.

    They are those for requests in `namespace`.
    """
    bound = store.cached(_bound_roles, user.username, user.groups, namespace)
    return user._replace(roles=bound[0], cluster_roles=bound[1])


def _bound_roles(
    store: ObjectStore, username: str, groups: tuple[str, ...], namespace: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    bindings = (
        binding
        for kind in ("RoleBinding", "ClusterRoleBinding")
        for _, binding in store.cached(bound_to, (kind, ""), username, groups)
    )
    return roles_given(bindings, namespace)


# Permission escalation: users grant only permissions that they have, unless roles allow more.
# Source of the rules: k8s.io/kubernetes pkg/registry/rbac (escalation_check.go,
# validation/rule.go, the policybased storages of roles and bindings).

_GROUP = "rbac.authorization.k8s.io"


class _Right(NamedTuple):
    """One verb on one resource or URL."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""


def refuse_escalation(review: Review, store: ObjectStore) -> ApiError | None:
    """Return why a user may not write a role or a binding, or None."""
    obj, request = written(review), review.request
    if obj is None or split_api_version(request.key.api_version)[0] != _GROUP:
        return None
    user = request.user
    if "system:masters" in user.groups:
        return None
    grants = _granted_by_binding if request.key.kind.endswith("Binding") else _granted_by_role
    granted = grants(review, obj, store)
    if isinstance(granted, ApiError):
        return granted
    rights = (right for rule in granted for right in _rights(rule))
    missing = [one for one in rights if not _has_right(one, user, request.key.namespace, store)]
    if not missing:
        return None
    rules = "\n".join(sorted(_compact(missing)))
    why = (
        f'user "{user.username}" (groups={_listed(user.groups)}) is attempting to grant RBAC '
        f"permissions not currently held:\n{rules}"
    )
    return errors.forbidden(request.key, store.defined, why)


def _granted_by_role(review: Review, role: KubernetesObject, store: ObjectStore) -> list[Json]:
    """Return the rules of a written role; the user needs all their permissions."""
    key, old, aggregation = review.request.key, review.old, "aggregationRule"
    if may(review.request.user, "escalate", key, store):
        return []
    if old is not None and all(old.get(one) == role.get(one) for one in ("rules", aggregation)):
        return []
    rules = entries(role, "rules")
    if role.get(aggregation):
        # The aggregated rules are unknown, so all permissions are needed.
        rules.append({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})
        rules.append({"nonResourceURLs": ["*"], "verbs": ["*"]})
    return rules


def _granted_by_binding(
    review: Review, binding: KubernetesObject, store: ObjectStore
) -> list[Json] | ApiError:
    """Return the rules of the bound role, [] if the user may bind it anyway."""
    key, old = review.request.key, review.old
    reference = binding.get("roleRef") or {}
    kind, name = text_field(reference, "kind"), text_field(reference, "name")
    # The permission `bind` is checked in the namespace of the binding, even for ClusterRoles.
    named = ObjectKey(f"{_GROUP}/v1", kind, key.namespace, name)
    if may(review.request.user, "bind", named, store):
        return []
    if old is not None and all(old.get(one) == binding.get(one) for one in ("roleRef", "subjects")):
        return []
    role_key = named._replace(namespace="" if kind == "ClusterRole" else key.namespace)
    role = store.get(*role_key)
    return errors.not_found(role_key, store.defined) if role is None else entries(role, "rules")


def _rights(rule: Json) -> Iterator[_Right]:
    fields = ("verbs", "nonResourceURLs", "resourceNames", "apiGroups", "resources")
    verbs, urls, names, groups, resources = (
        tuple(map(str, rule.get(field) or ())) for field in fields
    )
    for url in urls:
        yield from (_Right(verb, url=url) for verb in verbs)
    combinations = product(groups, resources, verbs, names or ("",))
    yield from (_Right(verb, group, resource, name) for group, resource, verb, name in combinations)


def _has_right(right: _Right, user: UserInfo, namespace: str, store: ObjectStore) -> bool:
    """Return whether a user has a right; a wildcard is only covered by the same wildcard."""
    if right.url:
        attributes = {"verb": right.verb, "path": right.url}
        return allows(attributes, user, store, store.cached, on_resource=False)
    resource, _, subresource = right.resource.partition("/")
    values = right.verb, right.group, "", resource, subresource, namespace
    attributes = dict(zip(_ATTRIBUTES, values, strict=True))
    return allows({**attributes, "name": right.name}, user, store, store.cached)


def _compact(missing: Iterable[_Right]) -> Iterator[str]:
    """Yield missing rights in the format of the API server, grouped by resource."""
    verbs: dict[_Right, list[str]] = {}
    for right in missing:
        verbs.setdefault(right._replace(verb=""), []).append(right.verb)
    for right, held in verbs.items():
        fields = {"APIGroups": [right.group], "Resources": [right.resource]}
        if right.url:
            fields = {"NonResourceURLs": [right.url]}
        elif right.name:
            fields["ResourceNames"] = [right.name]
        parts = [f"{name}:{_listed(some)}" for name, some in {**fields, "Verbs": held}.items()]
        yield f"{{{', '.join(parts)}}}"


def _listed(texts: Iterable[str]) -> str:
    quoted = (f'"{one}"' for one in texts)
    return f"[{' '.join(quoted)}]"
