"""Cases: requests with their objects, and the space of cases that policies refer to."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from kyvsim.equivalence.edits import is_key, moments, samples
from kyvsim.equivalence.field_rules import is_image_path
from kyvsim.equivalence.objects import (
    CONTROLLERS,
    NAME,
    NAMESPACE,
    POD,
    KindName,
    kinds_meant,
    smallest,
)
from kyvsim.kubernetes.discovery import KindTable, plural
from kyvsim.kubernetes.objects import KubernetesObject, metadata, object_key
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.field_reference import FieldPath, FieldReference, Subject
from kyvsim.model.request import Operation, UserInfo
from kyvsim.schema.merge_types import FindType, NoTypesError, Type, read_type, resolve
from kyvsim.simulator.api_server.server import scale_of

STRANGER = UserInfo("somebody", groups=("system:authenticated",))
"""The default user, since every request in a cluster has one."""


class Case(NamedTuple):
    """A request, and the other objects for it."""

    object: KubernetesObject
    """The object that is created or updated; for DELETE the deleted one."""
    operation: Operation = Operation.CREATE
    old: KubernetesObject | None = None
    """The former object; None if it is created."""
    user: UserInfo = STRANGER
    namespace_labels: Mapping[str, str] = MappingProxyType({})
    there: tuple[KubernetesObject, ...] = ()
    """Other objects in the cluster, and image data, created for lookups."""
    given: bool = False
    """Whether the object is an input, not generated."""
    part: str = ""
    """The subresource of the request, such as `exec`; the object is its body."""
    parent: tuple[str, str, str] | None = None
    """Group, version and kind of the parent of the subresource."""
    unusual: bool = False
    """Whether it has values of types that neither schemas nor policies suggest."""

    @property
    def is_plain(self) -> bool:
        """Whether a manifest of the object describes the whole case."""
        is_creation = self.operation is Operation.CREATE and self.user == STRANGER
        return is_creation and not (self.namespace_labels or self.there or self.part)


# Requests for subresources: their bodies and operations.
#
# Source of the rules: k8s.io/kubernetes pkg/registry (core/pod/rest, core/pod/storage,
# apps/*/storage) and the option types of k8s.io/api core/v1.


class SubresourceKind(NamedTuple):
    """A subresource of a kind."""

    kind: KindName
    name: str


_SENT: Mapping[tuple[str, str, str], tuple[str, str, Mapping[str, object]]] = {
    ("", "Pod", "exec"): ("v1", "PodExecOptions", {"stdout": True, "command": ["sh"]}),
    ("", "Pod", "attach"): ("v1", "PodAttachOptions", {"stdout": True}),
    ("", "Pod", "portforward"): ("v1", "PodPortForwardOptions", {"ports": [80]}),
    ("", "Pod", "proxy"): ("v1", "PodProxyOptions", {"path": "/"}),
    ("", "Service", "proxy"): ("v1", "ServiceProxyOptions", {"path": "/"}),
    ("", "Node", "proxy"): ("v1", "NodeProxyOptions", {"path": "/"}),
    ("", "Pod", "eviction"): ("policy/v1", "Eviction", {}),
    ("", "Pod", "binding"): ("v1", "Binding", {"target": {"kind": "Node", "name": "a"}}),
    ("", "ServiceAccount", "token"): (
        "authentication.k8s.io/v1",
        "TokenRequest",
        {"spec": {"audiences": ["a"]}},
    ),
}
"""By group, kind and subresource the body of a request: apiVersion, kind and fields.

Options are sent with CONNECT, others are created."""
_SCALED = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"})
_OF_PODS = frozenset({"ephemeralcontainers", "resize"})
_STATUS = "status"
_SCALE = "scale"


def parts_meant(written: str, kinds: KindTable) -> Iterator[SubresourceKind]:
    """Yield the subresources that `group/version/Kind/part` selects, if they can be tried.

    For wildcard kinds only those of Pods and other kinds to which clients connect.
    """
    *whole, name = written.split("/")
    if len(whole) != len(KindName._fields):
        return
    for kind in kinds_meant("/".join(whole), kinds):
        key = (kind.group, kind.kind)
        names = [part for *of, part in _SENT if (*of,) == key]
        if has_wildcard(whole[2]) and not names:
            continue
        names += sorted(_OF_PODS) if key == POD else ()
        names += [_SCALE] if kind.kind in _SCALED else ()
        yield from (SubresourceKind(kind, one) for one in (*names, _STATUS) if matches(name, one))


def smallest_requests(part: SubresourceKind, kinds: KindTable) -> Iterator[Case]:
    """Yield requests for a subresource of the smallest object of its kind."""
    obj = smallest(part.kind, kinds)
    case = Case(obj, part=part.name, parent=part.kind)
    sent = _SENT.get((part.kind.group, part.kind.kind, part.name))
    if sent is not None:
        key = object_key(obj)
        meta = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        api_version, kind, body = sent
        whole = {"apiVersion": api_version, "kind": kind, "metadata": meta, **body}
        is_option = kind.endswith("Options")
        operation = Operation.CONNECT if is_option else Operation.CREATE
        yield case._replace(object=whole, operation=operation)
    elif part.name == _SCALE:
        scale = {name: one for name, one in scale_of(obj).items() if name != _STATUS}
        more = {**scale, "spec": {"replicas": scale["spec"]["replicas"] + 1}}
        yield case._replace(object=more, old=scale, operation=Operation.UPDATE)
    elif part.name == "ephemeralcontainers":
        added = {"name": "debugger", "image": "busybox"}
        spec = {**obj["spec"], "ephemeralContainers": [added]}
        yield case._replace(object={**obj, "spec": spec}, old=obj, operation=Operation.UPDATE)
    else:
        yield case._replace(old=obj, operation=Operation.UPDATE)


def details_of(case: Case, kinds: KindTable) -> Mapping[str, object]:
    """Return the fields that an API server adds to a subresource request, besides its objects."""
    key = object_key(case.object)
    group, version, kind = case.parent or ("", "", "")
    sent_group, _, sent_version = key.api_version.rpartition("/")
    sent = {"group": sent_group, "version": sent_version, "kind": key.kind}
    resource = {"group": group, "version": version, "resource": plural(group, kind, kinds)}
    return {
        "kind": sent,
        "resource": resource,
        "requestKind": sent,
        "requestResource": resource,
        "name": metadata(case.object).get("name", ""),
        "subResource": case.part,
        "requestSubResource": case.part,
    }


@cache
def _option_types() -> Mapping[tuple[str, str], Type]:
    texts = {"a": "s"}
    meta = {"p": {"name": "s", "namespace": "s"}}
    flags = dict.fromkeys(("stdin", "stdout", "stderr", "tty"), "b")
    fields: Mapping[tuple[str, str], Mapping[str, object]] = {
        ("v1", "PodExecOptions"): {**flags, "container": "s", "command": texts},
        ("v1", "PodAttachOptions"): {**flags, "container": "s"},
        ("v1", "PodPortForwardOptions"): {"ports": {"a": "n"}},
        ("v1", "PodProxyOptions"): {"path": "s"},
        ("v1", "ServiceProxyOptions"): {"path": "s"},
        ("v1", "NodeProxyOptions"): {"path": "s"},
        ("policy/v1", "Eviction"): {"deleteOptions": {"p": {"gracePeriodSeconds": "n"}}},
        ("autoscaling/v1", "Scale"): {"spec": {"p": {"replicas": "n"}}},
        ("authentication.k8s.io/v1", "TokenRequest"): {
            "spec": {"p": {"audiences": texts, "expirationSeconds": "n"}}
        },
    }
    whole = {"apiVersion": "s", "kind": "s", "metadata": meta}
    return {key: resolve(read_type({"p": {**whole, **one}})) for key, one in fields.items()}


def with_option_types(find: FindType) -> FindType:
    """Return a type finder that also finds the types of subresource requests."""

    def found(api_version: str, kind: str) -> Type | None:
        own = _option_types().get((api_version, kind))
        if own is not None:
            return own
        try:
            return find(api_version, kind)
        except NoTypesError:
            return None

    return found


# The variations: the kinds, paths, users and labels in either set of policies.

_LABELS: FieldPath = ("metadata", "labels")
_ACCOUNT = UserInfo(f"system:serviceaccount:{NAMESPACE}:a")
IMAGE_SOURCES = frozenset({"imageRegistry", "image"})
"""Sources of the metadata of images."""
_NO_PLACES: frozenset[FieldPath] = frozenset({(), ("kind",)})
"""Paths that are never changed: an object of another kind is another object."""


class Space(NamedTuple):
    """The variations of cases."""

    kinds: tuple[KindName, ...]
    derived: frozenset[str]
    """Those of them that no policy names: controllers for which rules are derived."""
    places: Mapping[FieldPath, tuple[object, ...]]
    """Paths in the object, with the values for them in policies."""
    read: Mapping[FieldPath, tuple[object, ...]]
    """Paths in looked-up data, starting with the source's name, with the values compared there."""
    sizes: Mapping[FieldPath, tuple[int, ...]]
    user: UserInfo
    """The user of requests by default."""
    users: tuple[UserInfo, ...]
    namespace_labels: tuple[Mapping[str, str], ...]
    lookups: tuple[str, ...]
    """Sources of data besides object and request: `configMap`, `resource`, …"""
    parts: tuple[SubresourceKind, ...]
    subresources: tuple[str, ...]
    """Subresources whose request bodies are unknown: these are not tried."""
    updates: frozenset[FieldPath]
    """Paths at which policies read the old object."""


_Item = TypeVar("_Item")


def space_of(mentions: Iterable[FieldReference], kinds: KindTable, now: datetime) -> Space:
    """Return the space of cases that policies refer to; `now` is the time of evaluation."""
    references = tuple(mentions)
    places = _by_path(_places(references))
    images = tuple(_images(references))
    written = _same_spelling(one for m in references if m.about is Subject.KIND for one in m.values)
    found = dict.fromkeys(kind for one in written for kind in kinds_meant(one, kinds))
    # If the kinds include Pods, rules are derived for their controllers.
    has_pods = any((one.group, one.kind) == POD for one in found)
    names = [KindName(group, "v1", kind) for group, kind in CONTROLLERS] if has_pods else ()
    controllers = tuple(one for one in names if one not in found)
    parts = {one: tuple(parts_meant(one, kinds)) for one in written if one.count("/") > 2}
    return Space(
        kinds=(*found, *controllers),
        derived=frozenset(one.kind for one in controllers),
        places={
            path: (*values, *moments(path, values, now), *(images if is_image_path(path) else ()))
            for path, values in places.items()
        },
        read=_by_path((one.path, one.values) for one in references if one.about is Subject.WORLD),
        sizes=_by_path((one.path, one.sizes) for one in references if one.sizes),
        user=STRANGER,
        users=tuple(dict.fromkeys(_users(references))),
        namespace_labels=tuple(_namespace_labels(references)),
        lookups=tuple(sorted({str(m.path[0]) for m in references if m.about is Subject.WORLD})),
        parts=tuple(dict.fromkeys(part for some in parts.values() for part in some)),
        subresources=tuple(one for one, some in parts.items() if not some),
        updates=frozenset(m.path for m in references if m.about is Subject.OLD_OBJECT and m.path),
    )


def _same_spelling(written: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds in policies, each in one spelling.

    One that is guessed from a plural has only one capital letter: a spelling with more of them
    is preferred.
    """
    parts = [one.split("/") for one in written]
    best: dict[str, str] = {}
    for _, _, kind, *_ in parts:
        known = best.get(kind.lower(), kind)
        best[kind.lower()] = max(known, kind, key=lambda name: sum(map(str.isupper, name)))
    spelled = ("/".join((*some[:2], best[some[2].lower()], *some[3:])) for some in parts)
    return tuple(dict.fromkeys(spelled))


def _places(mentions: Iterable[FieldReference]) -> Iterator[tuple[FieldPath, tuple[object, ...]]]:
    """Yield the paths in objects with the values for them in policies."""
    for one in mentions:
        if one.about in {Subject.OBJECT, Subject.OLD_OBJECT} and one.path not in _NO_PLACES:
            yield one.path, one.values
        elif one.about is Subject.REQUEST and one.path[:1] in {("namespace",), ("name",)}:
            yield ("metadata", *one.path[:1]), one.values


def _images(mentions: Iterable[FieldReference]) -> Iterator[str]:
    """Yield images of the registries that policies compare with that of an image."""
    for one in mentions:
        if one.about is Subject.WORLD and one.path[0] in IMAGE_SOURCES and "registry" in one.path:
            yield from (f"{value}/a" for value in one.values if isinstance(value, str))


def _by_path(
    found: Iterable[tuple[FieldPath, tuple[_Item, ...]]],
) -> dict[FieldPath, tuple[_Item, ...]]:
    by_path: dict[FieldPath, tuple[_Item, ...]] = {}
    for path, items in found:
        by_path[path] = (*by_path.get(path, ()), *items)
    return by_path


def _users(mentions: Iterable[FieldReference]) -> Iterator[UserInfo]:
    for one in mentions:
        if one.about is not Subject.REQUEST or not one.path:
            continue
        field = str(one.path[1]) if one.path[0] == "userInfo" and len(one.path) > 1 else one.path[0]
        # The account may only be compared with a field of the object.
        written = one.values or (("a",) if field == "serviceAccountName" else ())
        for value in samples(written):
            if isinstance(value, str) and value:
                yield from _user(str(field), value)


def _user(field: str, value: str) -> Iterator[UserInfo]:
    if field == "username":
        yield STRANGER._replace(username=value)
    elif field == "serviceAccountName" and is_key(value):
        yield STRANGER._replace(username=f"system:serviceaccount:{NAMESPACE}:{value}")
    elif field == "groups":
        yield STRANGER._replace(groups=(*STRANGER.groups, value))
    elif field == "roles":
        yield from (one._replace(roles=(value,)) for one in (STRANGER, _ACCOUNT))
    elif field == "clusterRoles":
        yield from (one._replace(cluster_roles=(value,)) for one in (STRANGER, _ACCOUNT))


def _namespace_labels(mentions: Iterable[FieldReference]) -> Iterator[Mapping[str, str]]:
    """Yield the labels one by one, then the first value of each together."""
    together: dict[str, str] = {}
    for one in mentions:
        if one.about is not Subject.NAMESPACE or one.path[:2] != _LABELS or len(one.path) != 3:
            continue
        name = str(one.path[2])
        texts = [value for value in samples(one.values or ("a",)) if isinstance(value, str)]
        if texts:
            together[name] = texts[0]
        yield from ({name: text} for text in texts)
    if len(together) > 1:
        yield together


def manifests(cases: Iterable[Case]) -> tuple[list[KubernetesObject], int]:
    """Return the objects of cases that a test can distinguish, and the number of other cases.

    Tests create objects without user information, and identify them by name.
    """
    found: dict[tuple[str, ...], KubernetesObject] = {}
    left_out = 0
    for case in cases:
        obj, meta = case.object, metadata(case.object)
        if meta.get("name") == NAME:
            obj = {**obj, "metadata": {**meta, "name": f"case-{len(found) + 1}"}}
        key = tuple(object_key(obj))
        if case.is_plain and all((key[0], key[1], key[3])) and key not in found:
            found[key] = obj
        else:
            left_out += 1
    return list(found.values()), left_out
