"""Requests for a part of an object: what is sent to which subresource, and with which operation.

Source of the rules: k8s.io/kubernetes pkg/registry (core/pod/rest, core/pod/storage,
apps/*/storage) and the option types of k8s.io/api core/v1.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.equivalence.case import Case
from kyvsim.equivalence.seeds import KindName, kinds_meant, smallest
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.objects import Json, metadata, object_key
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.request import Operation
from kyvsim.patch.merge_types import FindType, NoTypesError, Type, read_type, resolve
from kyvsim.simulator.api_server.subresources import scale_of


class Part(NamedTuple):
    """A subresource of a kind."""

    kind: KindName
    name: str


class _Sent(NamedTuple):
    """What is sent to a subresource."""

    operation: Operation
    api_version: str
    kind: str
    body: Mapping[str, Json]


def _options(kind: str, **body: Json) -> _Sent:
    return _Sent(Operation.CONNECT, "v1", kind, MappingProxyType(body))


_SENT: Mapping[tuple[str, str, str], _Sent] = MappingProxyType(
    {
        ("", "Pod", "exec"): _options("PodExecOptions", stdout=True, command=["sh"]),
        ("", "Pod", "attach"): _options("PodAttachOptions", stdout=True),
        ("", "Pod", "portforward"): _options("PodPortForwardOptions", ports=[80]),
        ("", "Pod", "proxy"): _options("PodProxyOptions", path="/"),
        ("", "Service", "proxy"): _options("ServiceProxyOptions", path="/"),
        ("", "Node", "proxy"): _options("NodeProxyOptions", path="/"),
        ("", "Pod", "eviction"): _Sent(
            Operation.CREATE, "policy/v1", "Eviction", MappingProxyType({})
        ),
        ("", "Pod", "binding"): _Sent(
            Operation.CREATE,
            "v1",
            "Binding",
            MappingProxyType({"target": {"kind": "Node", "name": "a"}}),
        ),
        ("", "ServiceAccount", "token"): _Sent(
            Operation.CREATE,
            "authentication.k8s.io/v1",
            "TokenRequest",
            MappingProxyType({"spec": {"audiences": ["a"]}}),
        ),
    }
)
_SCALED = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"})
_OF_PODS = frozenset({"ephemeralcontainers", "resize"})
_STATUS = "status"
_SCALE = "scale"


def parts_meant(written: str, kinds: KindTable) -> Iterator[Part]:
    """Yield the subresources that `group/version/Kind/part` means, as far as they can be tried.

    Of all kinds those of Pods, which are the ones that people connect to.
    """
    *whole, name = written.split("/")
    if len(whole) != len(KindName._fields):
        return
    some = [one for one in kinds_meant("/".join(whole), kinds) if (one.group, one.kind) in _kinds()]
    for kind in some if has_wildcard(whole[2]) else kinds_meant("/".join(whole), kinds):
        yield from (Part(kind, one) for one in _names(kind) if matches(name, one))


def _kinds() -> frozenset[tuple[str, str]]:
    return frozenset((group, kind) for group, kind, _ in _SENT)


def _names(kind: KindName) -> Iterator[str]:
    yield from (part for group, of, part in _SENT if (group, of) == (kind.group, kind.kind))
    if (kind.group, kind.kind) == ("", "Pod"):
        yield from sorted(_OF_PODS)
    if kind.kind in _SCALED:
        yield _SCALE
    yield _STATUS


def smallest_requests(part: Part, kinds: KindTable) -> Iterator[Case]:
    """Yield requests for a subresource of the smallest object of its kind."""
    obj = smallest(part.kind, kinds)
    case = Case(obj, part=part.name, parent=part.kind)
    sent = _SENT.get((part.kind.group, part.kind.kind, part.name))
    if sent is not None:
        key = object_key(obj)
        meta = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        whole = {"apiVersion": sent.api_version, "kind": sent.kind, "metadata": meta, **sent.body}
        yield case._replace(object=whole, operation=sent.operation)
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


def details_of(case: Case, plural: str) -> Mapping[str, Json]:
    """Return what an API server says of a request for a subresource besides its objects."""
    key = object_key(case.object)
    group, version, _ = case.parent or ("", "", "")
    sent_group, _, sent_version = key.api_version.rpartition("/")
    sent = {"group": sent_group, "version": sent_version, "kind": key.kind}
    resource = {"group": group, "version": version, "resource": plural}
    return {
        "kind": sent,
        "resource": resource,
        "requestKind": sent,
        "requestResource": resource,
        "name": metadata(case.object).get("name", ""),
        "subResource": case.part,
        "requestSubResource": case.part,
    }


def with_option_types(find: FindType) -> FindType:
    """Return what finds the types of what is sent to subresources, too."""

    def found(api_version: str, kind: str) -> Type | None:
        own = _types().get((api_version, kind))
        if own is not None:
            return own
        try:
            return find(api_version, kind)
        except NoTypesError:
            return None

    return found


@cache
def _types() -> Mapping[tuple[str, str], Type]:
    texts: Json = {"a": "s"}
    meta: Json = {"p": {"name": "s", "namespace": "s"}}
    flags: Json = dict.fromkeys(("stdin", "stdout", "stderr", "tty"), "b")
    fields: Mapping[tuple[str, str], Json] = {
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
