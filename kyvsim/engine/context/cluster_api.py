"""The Kubernetes API over the given objects: GET, LIST with its options, access reviews."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from kyvsim.kubernetes.discovery import ApiPath, parse_path, split_api_version
from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
    value_at,
)
from kyvsim.model.ports import ClusterView
from kyvsim.model.request import UserInfo

# SubjectAccessReviews, evaluated with the given RBAC objects.
#
# Source of the rules: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac and
# pkg/registry/rbac/validation.

_RBAC = "rbac.authorization.k8s.io/v1"
_KINDS = ("ClusterRoleBinding", "RoleBinding", "ClusterRole", "Role")
_MASTERS = "system:masters"


class _Access(NamedTuple):
    user: str
    groups: tuple[str, ...]
    attributes: Mapping[str, object]
    """Attributes of a resource, or of a URL path if `on_resource` is false."""
    on_resource: bool


def can_review(cluster: ClusterView) -> bool:
    """Return whether there are RBAC objects for reviews."""
    return any(cluster.list(_RBAC, kind, "") for kind in _KINDS)


def review(
    body: Mapping[str, object], cluster: ClusterView, namespace: str = ""
) -> KubernetesObject:
    """Return a SubjectAccessReview with its status; `namespace` is that of a local review."""
    spec = _map(body.get("spec"))
    on_resource = spec.get("resourceAttributes") is not None
    attributes = _map(spec.get("resourceAttributes" if on_resource else "nonResourceAttributes"))
    if namespace:
        attributes = {**attributes, "namespace": namespace}
    access = _Access(
        text_field(spec, "user"), tuple(_texts(spec.get("groups"))), attributes, on_resource
    )
    reason = _reason(access, _querying(cluster))
    status: dict[str, object] = {"allowed": reason is not None}
    if reason:
        status["reason"] = reason
    return {**body, "status": status}


Query: TypeAlias = Callable[..., Json]
"""Returns the result of a function of the cluster and further arguments, such as a cached one."""


def allows(
    attributes: Mapping[str, object],
    user: UserInfo,
    cluster: ClusterView,
    query: Query | None = None,
    *,
    on_resource: bool = True,
) -> bool:
    """Return whether the roles allow a user an action on resources, or on a URL path.

    `query` is for callers that cache bindings and rules.
    """
    access = _Access(user.username, user.groups, attributes, on_resource)
    return _reason(access, query or _querying(cluster)) is not None


def allows_any(
    attributes: Mapping[str, object],
    user: UserInfo,
    query: Query,
) -> bool | None:
    """Return whether the roles allow a user an action on resources of any name.

    It is None if that depends on the name: a rule about some names precedes one that decides. It
    reads from the cluster what `allows` reads for each of these names.
    """
    access = _Access(user.username, user.groups, attributes, on_resource=True)
    if _MASTERS in access.groups:
        return True
    for _, binding in _bindings(access, query):
        for rule in _rules(binding, query):
            if _concerns(rule, access):
                return None if [*_texts(rule.get("resourceNames"))] else True
    return False


def bound_to(
    cluster: ClusterView, place: tuple[str, str], user: str, groups: tuple[str, ...]
) -> Sequence[tuple[str, KubernetesObject]]:
    """Return the bindings with a user, each after the matching subject.

    `place` is their kind and namespace, "" for all.
    """
    found = ((_bound(one, user, groups), one) for one in cluster.list(_RBAC, *place))
    return tuple((subject, one) for subject, one in found if subject)


def roles_given(
    bindings: Iterable[KubernetesObject], namespace: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the Roles (as `namespace:name`) and the ClusterRoles that bindings grant, sorted.

    Roles are those of all namespaces; a ClusterRole of a RoleBinding counts for requests in its
    namespace, `namespace`. upstream: pkg/userinfo/roleRef.go
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


def _querying(cluster: ClusterView) -> Query:
    return lambda function, *about: function(cluster, *about)


def _reason(access: _Access, query: Query) -> str | None:
    if _MASTERS in access.groups:
        return ""
    for subject, binding in _bindings(access, query):
        if any(_allows(rule, access) for rule in _rules(binding, query)):
            key = object_key(binding)
            place = f"{key.name}/{key.namespace}" if key.namespace else key.name
            role = _map(binding.get("roleRef"))
            return (
                f'RBAC: allowed by {key.kind} "{place}" of {text_field(role, "kind")} '
                f'"{text_field(role, "name")}" to {subject}'
            )
    return None


def _bindings(access: _Access, query: Query) -> Iterator[tuple[str, KubernetesObject]]:
    yield from query(bound_to, ("ClusterRoleBinding", ""), access.user, access.groups)
    namespace = text_field(access.attributes, "namespace")
    if namespace and access.on_resource:
        yield from query(bound_to, ("RoleBinding", namespace), access.user, access.groups)


def _bound(binding: KubernetesObject, user: str, groups: tuple[str, ...]) -> str:
    for subject in filter(_is_map, binding.get("subjects") or ()):
        kind, name = text_field(subject, "kind"), text_field(subject, "name")
        if kind == "ServiceAccount":
            namespace = text_field(subject, "namespace") or object_key(binding).namespace
            if user == f"system:serviceaccount:{namespace}:{name}":
                return f'ServiceAccount "{name}/{namespace}"'
        elif (kind == "User" and name == user) or (kind == "Group" and name in groups):
            return f'{kind} "{name}"'
    return ""


def _rules(binding: KubernetesObject, query: Query) -> Sequence[KubernetesObject]:
    reference = _map(binding.get("roleRef"))
    kind, name = text_field(reference, "kind"), text_field(reference, "name")
    namespace = object_key(binding).namespace if kind == "Role" else ""
    rules: Sequence[KubernetesObject] = query(_rules_of, kind, namespace, name)
    return rules


def _rules_of(
    cluster: ClusterView, kind: str, namespace: str, name: str
) -> Sequence[KubernetesObject]:
    role = cluster.get(_RBAC, kind, namespace, name) or {}
    roles = [role]
    # A controller copies the rules of roles that an aggregated role selects.
    for selector in _map(role.get("aggregationRule")).get("clusterRoleSelectors") or ():
        with suppress(SelectorError):
            fits, others = compile_selector(selector), cluster.list(_RBAC, "ClusterRole", "")
            roles += [one for one in others if metadata(one) and fits(labels(one))]
    return [rule for one in roles for rule in filter(_is_map, one.get("rules") or ())]


def _allows(rule: Mapping[str, object], access: _Access) -> bool:
    wanted = access.attributes
    if not access.on_resource:
        path = text_field(wanted, "path")
        return _has_any(rule.get("verbs"), ("*", text_field(wanted, "verb"))) and any(
            url in {"*", path} or (url.endswith("*") and path.startswith(url[:-1]))
            for url in _texts(rule.get("nonResourceURLs"))
        )
    names = list(_texts(rule.get("resourceNames")))
    return _concerns(rule, access) and (not names or text_field(wanted, "name") in names)


def _concerns(rule: Mapping[str, object], access: _Access) -> bool:
    wanted = access.attributes
    part, resource = text_field(wanted, "subresource"), text_field(wanted, "resource")
    names = ("*", f"{resource}/{part}", f"*/{part}") if part else ("*", resource)
    return (
        _has_any(rule.get("verbs"), ("*", text_field(wanted, "verb")))
        and _has_any(rule.get("apiGroups"), ("*", text_field(wanted, "group")))
        and _has_any(rule.get("resources"), names)
    )


def _has_any(given: object, names: tuple[str, ...]) -> bool:
    return given.__class__ is list and any(name in given for name in names)


def _texts(given: object) -> Iterable[str]:
    return (one for one in given if one.__class__ is str) if given.__class__ is list else ()


def _map(given: object) -> KubernetesObject:
    return given if given.__class__ is dict else {}


def _is_map(given: object) -> bool:
    return given.__class__ is dict


# The options of a LIST: label selector, field selector and limit, from a URL's query.
#
# Source of the rules: k8s.io/apimachinery pkg/labels and pkg/fields, and the field labels of
# Kubernetes' own kinds (pkg/apis/*/v1/conversion.go).

_Test = Callable[[KubernetesObject], bool]

_REQUIREMENT = re.compile(
    r"\s*(?:"
    r"(?P<absent>!)\s*(?P<lacking>[^\s!=,()]+)"
    r"|(?P<key>[^\s!=,()]+)"
    r"(?:\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)|\s*(?P<sign>==|=|!=)\s*(?P<value>[^\s!=,()]*))?"
    r")\s*(?:,|$)"
)
_FIELD = re.compile(r"\s*(?P<key>[^=!,]+?)\s*(?P<sign>==|=|!=)\s*(?P<value>[^=,]*?)\s*$")
_EVERY_KIND = frozenset({"metadata.name", "metadata.namespace"})
_FALSE_BY_DEFAULT = frozenset({"spec.hostNetwork", "spec.unschedulable"})
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SELECTABLE: Mapping[str, frozenset[str]] = {
    "Pod": frozenset(
        {
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        }
    ),
    "Node": frozenset({"spec.unschedulable"}),
    "Namespace": frozenset({"status.phase"}),
    "Secret": frozenset({"type"}),
    "ReplicaSet": frozenset({"status.replicas"}),
    "ReplicationController": frozenset({"status.replicas"}),
    "Job": frozenset({"status.successful"}),
    "CertificateSigningRequest": frozenset({"spec.signerName"}),
    "Event": frozenset(
        {
            *(f"involvedObject.{name}" for name in _INVOLVED),
            "reason",
            "reportingComponent",
            "source",
            "type",
        }
    ),
}
_WITHOUT_EFFECT = frozenset(
    {"pretty", "timeoutSeconds", "resourceVersion", "resourceVersionMatch", "allowWatchBookmarks"}
)


class OptionsError(ValueError):
    """Options that the API rejects, or that are not supported here."""


class ListOptions(NamedTuple):
    """The options that select objects of a kind."""

    fits: _Test
    limit: int
    """0 for no limit."""


def parse_options(query: str, kind: str) -> ListOptions:
    """Return the options in a URL's query for objects of a kind; raise `OptionsError`."""
    tests: list[_Test] = []
    limit = 0
    for name, value in parse_qsl(query):
        if name == "labelSelector":
            tests.append(_label_test(value))
        elif name == "fieldSelector":
            tests += _field_tests(value, kind)
        elif name == "limit":
            if not value.isascii() or not value.isdigit():
                raise OptionsError(f'limit: Invalid value: "{value}"')
            limit = int(value)
        elif name not in _WITHOUT_EFFECT:
            raise OptionsError(f'kyvsim does not support the option "{name}"')
    return ListOptions(lambda obj: all(test(obj) for test in tests), limit)


def _label_test(text: str) -> _Test:
    try:
        selector = compile_selector({"matchExpressions": list(_requirements(text))})
    except SelectorError as error:
        raise OptionsError(f'unable to parse label selector "{text}": {error}') from error
    return lambda obj: selector(labels(obj))


def _requirements(text: str) -> Iterable[Mapping[str, object]]:
    position = 0
    while position < len(text):
        found = _REQUIREMENT.match(text, position)
        if found is None:
            raise SelectorError(f'cannot read "{text[position:]}"')
        yield _requirement(found)
        position = found.end()


def _requirement(found: re.Match[str]) -> Mapping[str, object]:
    if found["absent"]:
        return {"key": found["lacking"], "operator": "DoesNotExist"}
    if found["set"]:
        values = [value.strip() for value in found["values"].split(",")]
        operator = "In" if found["set"] == "in" else "NotIn"
        return {"key": found["key"], "operator": operator, "values": values}
    if found["sign"]:
        operator = "NotIn" if found["sign"] == "!=" else "In"
        return {"key": found["key"], "operator": operator, "values": [found["value"]]}
    return {"key": found["key"], "operator": "Exists"}


def _field_tests(text: str, kind: str) -> Iterable[_Test]:
    selectable = _EVERY_KIND | _SELECTABLE.get(kind, frozenset())
    for term in filter(str.strip, text.split(",")):
        found = _FIELD.match(term)
        if found is None:
            raise OptionsError(f'invalid field selector: "{term}"')
        if found["key"] not in selectable:
            raise OptionsError(f"field label not supported: {found['key']}")
        yield _field_test(found["key"], found["value"], wanted=found["sign"] != "!=")


def _field_test(key: str, value: str, *, wanted: bool) -> _Test:
    way = key.split(".")
    default = "false" if key in _FALSE_BY_DEFAULT else ""

    def test(obj: KubernetesObject) -> bool:
        node = value_at(obj, way)
        return ((default if node is None else sprint(node)) == value) is wanted

    return test


# The Kubernetes API over the given objects: responses to a GET of a path.
#
# Source of the rules: upstream `rawAbsPathForFakeClient` in pkg/clients/dclient/client.go, which
# supports no options and no paths of Namespaces, and panics on lists of kinds without objects.

_WHOLE_OBJECT = frozenset({"", "status"})


class CallError(Exception):
    """A call without response."""


class NotThereError(CallError):
    """A call for a missing object: a cluster responds with the same error."""

    def __init__(self, message: str, missing: ObjectKey) -> None:
        super().__init__(message)
        self.missing = missing


class NoRightError(CallError):
    """A call that an API server forbids to the account; raw calls do not show the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__("permission denied: unknown")
        self.reason = reason


def answer_get(url: str, cluster: ClusterView, account: UserInfo | None = None) -> object:
    """Return the response to a GET of a URL path with its query; raise `CallError`.

    An API server first checks whether the account is allowed to.
    """
    path, _, query = url.partition("?")
    wanted = parse_path(path)
    if wanted is None:
        raise CallError(f"failed to parse path: {path.removeprefix('/')}")
    if account is not None:
        verb = "get" if wanted.name else "list"
        attributes = {
            "verb": verb,
            "group": split_api_version(wanted.api_version)[0],
            "resource": wanted.resource,
            "subresource": wanted.part,
            "namespace": wanted.namespace,
            "name": wanted.name,
        }
        if not allows(attributes, account, cluster):
            group = attributes["group"]
            resource = f"{wanted.resource}.{group}" if group else wanted.resource
            raise NoRightError(f"`{account.username}` has no right to {verb} {resource}")
    kind = cluster.kind_of(wanted.api_version, wanted.resource)
    if not kind:
        raise CallError("the server could not find the requested resource")
    return _get(wanted, kind, cluster) if wanted.name else _list(wanted, kind, query, cluster)


def _get(wanted: ApiPath, kind: str, cluster: ClusterView) -> KubernetesObject:
    what = f"failed to get resource {wanted.api_version}/{kind}/{wanted.name}"
    if wanted.part not in _WHOLE_OBJECT:
        raise CallError(f'{what}: its subresource "{wanted.part}" is not given')
    found = cluster.get(wanted.api_version, kind, wanted.namespace, wanted.name)
    if found is None:
        group = split_api_version(wanted.api_version)[0]
        resource = ".".join(filter(None, (wanted.resource, group)))
        missing = ObjectKey(wanted.api_version, kind, wanted.namespace, wanted.name)
        raise NotThereError(f'{what}: {resource} "{wanted.name}" not found', missing)
    return found


def _list(wanted: ApiPath, kind: str, query: str, cluster: ClusterView) -> object:
    revision = len(cluster.list(wanted.api_version, kind, "")) + 1
    items = list(cluster.list(wanted.api_version, kind, wanted.namespace))
    metadata: dict[str, object] = {"continue": "", "resourceVersion": str(revision)}
    if query:
        try:
            options = parse_options(query, kind)
        except OptionsError as error:
            raise CallError(
                f"failed to list resources {wanted.api_version}/{kind}: {error}"
            ) from error
        items = [item for item in items if options.fits(item)]
        if options.limit and len(items) > options.limit:
            metadata["continue"] = "more"
            metadata["remainingItemCount"] = float(len(items) - options.limit)
            items = items[: options.limit]
    return {
        "apiVersion": wanted.api_version,
        "kind": f"{kind}List",
        "metadata": metadata,
        "items": items,
    }


def list_of(
    api_version: str, resource: str, namespace: str, cluster: ClusterView
) -> list[KubernetesObject]:
    """Return the objects of a resource in a namespace, "" for all of them."""
    return list(cluster.list(api_version, cluster.kind_of(api_version, resource), namespace))
