"""Who may do what: RBAC as it stands in the store.

Source of the rules: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac.
"""

from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.context.access_review import allows, allows_any, bound_to, roles_given
from kyvsim.kube.discovery import plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey
from kyvsim.model.obstacle import Reason
from kyvsim.model.request import Operation, UserInfo
from kyvsim.sim.server import errors
from kyvsim.sim.server.request import ApiError, ApiRequest
from kyvsim.sim.server.store import Store

_RBAC = "rbac.authorization.k8s.io/v1"
_VERBS = MappingProxyType(
    {Operation.CREATE: "create", Operation.UPDATE: "update", Operation.DELETE: "delete"}
)


def may(user: UserInfo, verb: str, key: ObjectKey, store: Store, *, subresource: str = "") -> bool:
    """Return whether a user may do something to an object, "" for any name."""
    resource = plural(split_api_version(key.api_version)[0], key.kind, store.defined)
    action = _Action(
        username=user.username,
        groups=user.groups,
        verb=verb,
        api_version=key.api_version,
        resource=resource,
        subresource=subresource,
        namespace=key.namespace,
    )
    # Nearly always the name makes no difference: one answer serves all objects of a kind.
    always: bool | None = store.remembered(_may_any, action)
    if always is not None:
        return always
    attributes = {**_attributes(action), "name": key.name}
    return allows(attributes, user, store, partial(store.remembered, bound_to))


class _Action(NamedTuple):
    """What somebody does to resources of a kind in a namespace, or of the cluster."""

    username: str
    groups: tuple[str, ...]
    verb: str
    api_version: str
    resource: str
    subresource: str
    namespace: str


def _may_any(store: Store, action: _Action) -> bool | None:
    user = UserInfo(action.username, groups=action.groups)
    bound = partial(store.remembered, bound_to)
    return allows_any(_attributes(action), user, store, bound)


def _attributes(action: _Action) -> dict[str, Json]:
    group, version = split_api_version(action.api_version)
    return {
        "verb": action.verb,
        "group": group,
        "version": version,
        "resource": action.resource,
        "subresource": action.subresource,
        "namespace": action.namespace,
    }


def denial(
    user: UserInfo, verb: str, key: ObjectKey, store: Store, *, subresource: str = ""
) -> ApiError | None:
    """Return why a user may not do something to an object, "" for any name, or None."""
    if may(user, verb, key, store, subresource=subresource):
        return None
    group = split_api_version(key.api_version)[0]
    resource = "/".join(filter(None, (plural(group, key.kind, store.defined), subresource)))
    where = f' in the namespace "{key.namespace}"' if key.namespace else " at the cluster scope"
    why = (
        f'User "{user.username}" cannot {verb} resource "{resource}" in API group "{group}"{where}'
    )
    return errors.forbidden(key, store.defined, why)._replace(why=Reason.NO_RIGHT)


def refusal(request: ApiRequest, store: Store) -> ApiError | None:
    """Return why a user may not make a request, or None."""
    verb = "patch" if request.patch else _VERBS.get(request.operation, "create")
    return denial(request.user, verb, request.key, store, subresource=request.subresource)


def bound_roles(
    user: UserInfo, namespace: str, store: Store
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the Roles (as `namespace:name`) and the ClusterRoles bound to a user, sorted.

    Those count that requests in a `namespace` are made with.
    """
    found: tuple[tuple[str, ...], tuple[str, ...]]
    found = store.remembered(_bound_roles, user.username, user.groups, namespace)
    return found


def _bound_roles(
    store: Store, username: str, groups: tuple[str, ...], namespace: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = (
        binding
        for kind in ("RoleBinding", "ClusterRoleBinding")
        for _, binding in store.remembered(bound_to, (kind, ""), username, groups)
    )
    return roles_given(found, namespace)
