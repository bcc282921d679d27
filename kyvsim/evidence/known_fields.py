"""What the types of Kubernetes do not tell: words that fields take, and fields that must be there.

Only what policies are often about. Source of the rules: the API reference of Kubernetes, "Required"
and "Possible enum values" of the types in k8s.io/api.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.image import parse_image
from kyvsim.kube.objects import Json, text_field
from kyvsim.kube.quantity import parse_quantity
from kyvsim.light.regex import regex
from kyvsim.model.mention import Hole, Way

_WORDS: Mapping[tuple[str, ...], tuple[str, ...]] = MappingProxyType(
    {
        ("accessModes",): (
            "ReadWriteOnce",
            "ReadOnlyMany",
            "ReadWriteMany",
            "ReadWriteOncePod",
        ),
        ("concurrencyPolicy",): ("Allow", "Forbid", "Replace"),
        ("dnsPolicy",): ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
        ("effect",): ("NoSchedule", "PreferNoSchedule", "NoExecute"),
        ("externalTrafficPolicy",): ("Cluster", "Local"),
        ("imagePullPolicy",): ("Always", "IfNotPresent", "Never"),
        ("pathType",): ("Exact", "Prefix", "ImplementationSpecific"),
        ("persistentVolumeReclaimPolicy",): ("Retain", "Recycle", "Delete"),
        ("policyTypes",): ("Ingress", "Egress"),
        ("preemptionPolicy",): ("Never", "PreemptLowerPriority"),
        ("procMount",): ("Default", "Unmasked"),
        ("protocol",): ("TCP", "UDP", "SCTP"),
        ("restartPolicy",): ("Always", "OnFailure", "Never"),
        ("sessionAffinity",): ("None", "ClientIP"),
        ("whenUnsatisfiable",): ("DoNotSchedule", "ScheduleAnyway"),
        ("seccompProfile", "type"): ("RuntimeDefault", "Localhost", "Unconfined"),
        ("appArmorProfile", "type"): ("RuntimeDefault", "Localhost", "Unconfined"),
        ("strategy", "type"): ("Recreate", "RollingUpdate"),
        ("spec", "type"): ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    }
)
"""By the last names of a way: the only texts that an API server takes there."""
_SHARES: frozenset[Way] = frozenset({("maxUnavailable",), ("minAvailable",)})
"""Numbers, or texts that are so many percent."""
_SHARE = regex(r"[0-9]+%")
_CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})
_OTHER_AMOUNTS: Mapping[str, str] = MappingProxyType(
    {"cpu": "memory", "memory": "cpu", "ephemeral-storage": "memory"}
)
"""Of resources only some names are taken."""
_QUANTITIES = ("1", "2")
_IMAGES = ("nginx", f"nginx@sha256:{'0' * 64}")
"""Patterns of images give none with a digest, which has a form of its own."""
_NEEDED: Mapping[str, Mapping[str, Json]] = MappingProxyType(
    {
        "appArmorProfile": {"type": "RuntimeDefault"},
        "configMapKeyRef": {"key": "a"},
        "ephemeralContainers": {"name": "c", "image": "nginx"},
        "fieldRef": {"fieldPath": "metadata.name"},
        "hostPath": {"path": "/a"},
        "httpGet": {"port": 80},
        "initContainers": {"name": "b", "image": "nginx"},
        "containers": {"name": "a", "image": "nginx"},
        "nfs": {"server": "a", "path": "/a"},
        "paths": {"pathType": "Prefix", "backend": {"resource": {"kind": "A", "name": "a"}}},
        "persistentVolumeClaim": {"claimName": "a"},
        "resourceFieldRef": {"resource": "limits.cpu"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"},
        "seccompProfile": {"type": "RuntimeDefault"},
        "secretKeyRef": {"key": "a"},
        "subjects": {"kind": "User", "name": "a"},
        "sysctls": {"name": "a", "value": "a"},
        "tcpSocket": {"port": 80},
        "topologySpreadConstraints": {
            "maxSkew": 1,
            "topologyKey": "a",
            "whenUnsatisfiable": "DoNotSchedule",
        },
    }
)
"""By the name of a field: what it, or each element of it, must have."""
_NEEDED_AT_TOP: Mapping[str, Mapping[str, Json]] = MappingProxyType({"rules": {"verbs": ["get"]}})
"""The same of fields at the top of an object: those of roles."""
_WITH_SPEC = frozenset({"Ingress", "PersistentVolumeClaim", "Service"})
"""Kinds of which nothing is left without a specification."""


def needed(name: str, depth: int) -> Mapping[str, Json]:
    """Return what a field, or an element of it, must have; `depth` counts from 1 at the top."""
    return _NEEDED_AT_TOP.get(name, {}) if depth == 1 else _NEEDED.get(name, {})


def other_key(key: str) -> str:
    """Return a key for which a map may have a value in place of another one."""
    return _OTHER_AMOUNTS.get(key, "other")


def words(way: Way) -> tuple[str, ...] | None:
    """Return the texts that may stand at a way; None where it may be any."""
    names = tuple(one for one in way if not isinstance(one, Hole))
    return _WORDS.get(names[-1:]) or _WORDS.get(names[-2:])


def is_possible(way: Way, text: str) -> bool:
    """Return whether a text may stand at a way: a word of its field, an image, an amount."""
    allowed = words(way)
    if allowed is not None:
        return text in allowed
    if way[-1:] in _SHARES:
        return _SHARE.fullmatch(text) is not None
    if _is_amount(way):
        return parse_quantity(text) is not None
    return not _is_image(way) or _is_reference(text)


def _is_amount(way: Way) -> bool:
    """Return whether a way leads to an amount of a resource."""
    return way[-2:-1] in {("limits",), ("requests",)}


def usual_entries(name: str) -> Mapping[str, Json]:
    """Return what an API server takes in a field that is a map with keys of one's own."""
    return {"cpu": "1"} if _is_amount((name, "cpu")) else {"a": "a"}


def _is_image(way: Way) -> bool:
    """Return whether a way leads to the image of a container."""
    return way[-1:] == ("image",) and bool(way[-3:-2]) and way[-3] in _CONTAINERS


def _is_reference(text: str) -> bool:
    try:
        parse_image(text)
    except ValueError:
        return False
    return True


def usual(way: Way) -> tuple[str, ...]:
    """Return a few texts that an API server takes at a way; () where nothing is known."""
    if _is_amount(way):
        return _QUANTITIES
    return _IMAGES if _is_image(way) else (words(way) or ())[:3]


def problems(obj: Json) -> Iterator[Way]:
    """Yield the ways to what an API server would miss in an object, or would not take there."""
    if text_field(obj, "kind") in _WITH_SPEC and not obj.get("spec"):
        yield ("spec",)
    yield from _problems(obj, ())


def _problems(value: Json, way: Way) -> Iterator[Way]:
    if way[-1:] in _SHARES and value.__class__ in {dict, list}:
        yield way
    elif value.__class__ is dict:
        last = next((one for one in reversed(way) if not isinstance(one, Hole)), "")
        depth = sum(not isinstance(one, Hole) for one in way)
        yield from ((*way, name) for name in needed(last, depth) if value.get(name) in _NOTHING)
        for name, inner in value.items():
            yield from _problems(inner, (*way, name))
    elif value.__class__ is list:
        for one in value:
            yield from _problems(one, (*way, Hole.ELEMENT))
    elif not _fits(value, way):
        yield way


def _fits(value: Json, way: Way) -> bool:
    """Return whether a text or a truth may stand at a way."""
    if value.__class__ is bool:
        return way[-1:] not in _SHARES
    return value.__class__ is not str or is_possible(way, value)


_NOTHING: tuple[Json, ...] = (None, "", [])
