"""Who may give rights: nobody gives more than they have, unless roles let them.

Source of the rules: k8s.io/kubernetes pkg/registry/rbac (escalation_check.go, validation/rule.go,
the policybased storages of roles and bindings).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from kyvsim.context.access_review import review as review_access
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey, entries, text_field
from kyvsim.model.request import UserInfo
from kyvsim.sim.server import errors
from kyvsim.sim.server.authorizer import may
from kyvsim.sim.server.request import ApiError, Review, written
from kyvsim.sim.server.store import Store

_GROUP = "rbac.authorization.k8s.io"
_RBAC = f"{_GROUP}/v1"
_ROLES = frozenset({"Role", "ClusterRole"})
_BINDINGS = frozenset({"RoleBinding", "ClusterRoleBinding"})
_AGGREGATION = "aggregationRule"
"""What a role gathers by it nobody can tell, so it takes every right to set it."""
_MASTERS = "system:masters"
_EVERYTHING = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)


class _Right(NamedTuple):
    """One verb on one thing."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""


def refuse_escalation(review: Review, store: Store) -> ApiError | None:
    """Return why a role or a binding may not be written by who wants to, or None."""
    obj, request = written(review), review.request
    if obj is None or split_api_version(request.key.api_version)[0] != _GROUP:
        return None
    user = request.user
    if _MASTERS in user.groups:
        return None
    if request.key.kind in _ROLES:
        granted = _granted_by_role(review, obj, store)
    elif request.key.kind in _BINDINGS:
        granted = _granted_by_binding(review, obj, store)
    else:
        return None
    if isinstance(granted, ApiError):
        return granted
    missing = list(_not_held(granted, user, request.key.namespace, store))
    if not missing:
        return None
    told = "\n".join(sorted(_compact(missing)))
    why = (
        f'user "{user.username}" (groups={_listed(user.groups)}) is attempting to grant RBAC '
        f"permissions not currently held:\n{told}"
    )
    return errors.forbidden(request.key, store.defined, why)


def _granted_by_role(review: Review, role: Json, store: Store) -> tuple[Json, ...]:
    """Return the rules that a role would give anew, of which its writer must have every right."""
    key, old = review.request.key, review.old
    if may(review.request.user, "escalate", key, store):
        return ()
    if old is not None and all(old.get(one) == role.get(one) for one in ("rules", _AGGREGATION)):
        return ()
    rules = tuple(entries(role, "rules"))
    return (*rules, *_EVERYTHING) if role.get(_AGGREGATION) else rules


def _granted_by_binding(review: Review, binding: Json, store: Store) -> tuple[Json, ...] | ApiError:
    """Return the rules of the role that would be bound, unless that is allowed as such."""
    key, old = review.request.key, review.old
    reference = binding.get("roleRef") or {}
    kind, name = text_field(reference, "kind"), text_field(reference, "name")
    place = "" if kind == "ClusterRole" else key.namespace
    # The right to bind is asked for in the namespace of the binding, whatever it binds.
    if may(review.request.user, "bind", ObjectKey(_RBAC, kind, key.namespace, name), store):
        return ()
    if old is not None and all(old.get(one) == binding.get(one) for one in ("roleRef", "subjects")):
        return ()
    role = store.get(_RBAC, kind, place, name)
    if role is None:
        return errors.not_found(ObjectKey(_RBAC, kind, place, name), store.defined)
    return tuple(entries(role, "rules"))


def _not_held(
    rules: Iterable[Json], user: UserInfo, namespace: str, store: Store
) -> Iterator[_Right]:
    for rule in rules:
        for right in _rights(rule):
            if not _holds(right, user, namespace, store):
                yield right


def _rights(rule: Json) -> Iterator[_Right]:
    verbs = _texts(rule, "verbs")
    for url in _texts(rule, "nonResourceURLs"):
        yield from (_Right(verb, url=url) for verb in verbs)
    names = _texts(rule, "resourceNames") or ("",)
    things = product(_texts(rule, "apiGroups"), _texts(rule, "resources"), verbs, names)
    yield from (_Right(verb, group, resource, name) for group, resource, verb, name in things)


def _texts(rule: Json, field: str) -> tuple[str, ...]:
    return tuple(str(one) for one in rule.get(field) or ())


def _holds(right: _Right, user: UserInfo, namespace: str, store: Store) -> bool:
    """Return whether a user has a right; one with a wildcard is had by the same wildcard only."""
    asked: Mapping[str, Json]
    if right.url:
        asked = {"nonResourceAttributes": {"verb": right.verb, "path": right.url}}
    else:
        resource, _, subresource = right.resource.partition("/")
        attributes = {
            "verb": right.verb,
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": namespace,
            "name": right.name,
        }
        asked = {"resourceAttributes": attributes}
    spec = {"user": user.username, "groups": list(user.groups), **asked}
    return bool(review_access({"spec": spec}, store)["status"]["allowed"])


def _compact(missing: Iterable[_Right]) -> Iterator[str]:
    """Give what is missing as an API server writes it, the verbs on one thing together."""
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
