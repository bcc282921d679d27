"""What the types of Kubernetes do not tell: words that fields take, and fields that must be there.

Only what policies are often about. Source of the rules: the API reference of Kubernetes, "Required"
and "Possible enum values" of the types in k8s.io/api.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.labels import format_problems, is_subdomain
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.kubernetes.quantities import parse_quantity
from kyvsim.model.policy import Hole, Way

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
        ("updateStrategy", "type"): ("RollingUpdate", "OnDelete"),
        ("subjects", "kind"): ("User", "Group", "ServiceAccount"),
        ("roleRef", "kind"): ("ClusterRole", "Role"),
        ("tolerations", "operator"): ("Exists", "Equal"),
        ("matchExpressions", "operator"): ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
        ("httpGet", "scheme"): ("HTTP", "HTTPS"),
        ("volumeBindingMode",): ("Immediate", "WaitForFirstConsumer"),
        ("volumeMode",): ("Filesystem", "Block"),
        ("fsGroupChangePolicy",): ("Always", "OnRootMismatch"),
        ("terminationMessagePolicy",): ("File", "FallbackToLogsOnError"),
        ("podManagementPolicy",): ("OrderedReady", "Parallel"),
        ("completionMode",): ("NonIndexed", "Indexed"),
        ("internalTrafficPolicy",): ("Cluster", "Local"),
        ("ipFamilyPolicy",): ("SingleStack", "PreferDualStack", "RequireDualStack"),
        ("ipFamilies",): ("IPv4", "IPv6"),
        ("mountPropagation",): ("None", "HostToContainer", "Bidirectional"),
        ("hostPath", "type"): (
            "",
            "DirectoryOrCreate",
            "Directory",
            "FileOrCreate",
            "File",
            "Socket",
            "CharDevice",
            "BlockDevice",
        ),
        ("spec", "type"): ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    }
)
"""By the last names of a way: the only texts that an API server takes there."""
_SHARES: frozenset[Way] = frozenset({("maxUnavailable",), ("minAvailable",)})
"""Numbers, or texts that are so many percent."""
_SHARE = re.compile(r"[0-9]+%")
_PORTS = frozenset(
    {"containerPort", "hostPort", "nodePort", "port", "targetPort", "endPort", "number"}
)
_BELOW_ZERO = frozenset({"priority", "value", "Port", "maximum", "minimum", "multipleOf"})
"""Numbers that may be negative; all others are amounts, identifiers and times."""
_AT_LEAST_ONE = frozenset(
    {"failureThreshold", "maxReplicas", "maxSkew", "periodSeconds", "successThreshold"}
    | {"timeoutSeconds", "weight"}
)
_HIGHEST_PORT = 65535
_HIGHEST: Mapping[str, int] = MappingProxyType({"weight": 100, "defaultMode": 0o777, "mode": 0o777})
_HOST_WAYS = frozenset({("spec", "rules", "host"), ("spec", "tls", "hosts")})
"""Of an Ingress: names of hosts, of which the first part may be a wildcard."""
_HOSTS = ("a.example.com", "*.example.com")
_PATH_WAY = ("spec", "rules", "http", "paths", "path")
_PATHS = ("/a", "/b", "/*")
"""Of an Ingress: paths begin with a slash, and load balancers take a wildcard behind it."""
_PORT_WAYS = frozenset({("targetPort",)})
"""Numbers, or names of ports."""
_LONGEST_PORT = 15
_LABELS = frozenset({"labels", "matchLabels", "nodeSelector"})
_MOMENT = ("Time", "Timestamp", "time", "startedAt", "finishedAt", "timeAdded")
_HANDLERS = frozenset({"exec", "grpc", "httpGet", "sleep", "tcpSocket"})
_SOURCES = frozenset({"configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef"}) | {
    "secretKeyRef"
}
_ONE_OF: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "livenessProbe": _HANDLERS,
        "readinessProbe": _HANDLERS,
        "startupProbe": _HANDLERS,
        "postStart": _HANDLERS,
        "preStop": _HANDLERS,
        "valueFrom": _SOURCES,
        "envFrom": frozenset({"configMapRef", "secretRef"}),
        "backend": frozenset({"service", "resource"}),
        "defaultBackend": frozenset({"service", "resource"}),
    }
)
"""By the name of a field: parts of which it, or each element of it, has just one."""
_EXCLUSIVE: Mapping[str, tuple[frozenset[str], ...]] = MappingProxyType(
    {
        "env": (frozenset({"value", "valueFrom"}),),
        "spec": (frozenset({"minAvailable", "maxUnavailable"}),),
    }
)
"""By the name of a field: parts of which it, or each element of it, has no two."""
_PROBES: Mapping[str, Json] = MappingProxyType({"tcpSocket": {"port": 80}})
_CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})
_OTHER_AMOUNTS: Mapping[str, str] = MappingProxyType(
    {"cpu": "memory", "memory": "cpu", "ephemeral-storage": "memory"}
)
"""Of resources only some names are taken."""
_QUANTITIES = ("1", "2")
_IMAGES = ("nginx", "nginx:1.25", f"nginx@sha256:{'0' * 64}")
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
        "livenessProbe": _PROBES,
        "readinessProbe": _PROBES,
        "startupProbe": _PROBES,
        "postStart": {"exec": {"command": ["true"]}},
        "preStop": {"exec": {"command": ["true"]}},
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
        "envFrom": {"configMapRef": {"name": "a"}},
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
_NEEDED_IN_BACKENDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"resource": ("kind", "name"), "service": ("name", "port")}
)
"""What the two kinds of backends of an Ingress must have."""
_BACKENDS = frozenset({"backend", "defaultBackend"})
_NEEDED_AT_TOP: Mapping[str, Mapping[str, Json]] = MappingProxyType({"rules": {"verbs": ["get"]}})
"""The same of fields at the top of an object: those of roles."""
_WITH_SPEC = frozenset({"Ingress", "PersistentVolumeClaim", "Service"})
"""Kinds of which nothing is left without a specification."""


def needed(name: str, depth: int) -> Mapping[str, Json]:
    """Return what a field, or an element of it, must have; `depth` counts from 1 at the top."""
    return _NEEDED_AT_TOP.get(name, {}) if depth == 1 else _NEEDED.get(name, {})


def _needed_at(way: Way, depth: int) -> Iterable[str]:
    """Return the names of what must be in what stands at a way."""
    last = next((one for one in reversed(way) if not isinstance(one, Hole)), "")
    if way[-2:-1] and way[-2] in _BACKENDS:
        return _NEEDED_IN_BACKENDS.get(last, ())
    return needed(last, depth)


def rivals(name: str, key: str) -> frozenset[str]:
    """Return the parts of a field that cannot be there together with another one of it."""
    groups = (_ONE_OF.get(name, frozenset()), *_EXCLUSIVE.get(name, ()))
    return frozenset(one for some in groups if key in some for one in some if one != key)


def other_key(key: str) -> str:
    """Return a key for which a map may have a value in place of another one."""
    return _OTHER_AMOUNTS.get(key, "other")


def names_of(way: Way) -> tuple[str, ...]:
    """Return the names of the fields on a way."""
    return tuple(one for one in way if not isinstance(one, Hole))


def words(way: Way) -> tuple[str, ...] | None:
    """Return the texts that may stand at a way; None where it may be any."""
    names = names_of(way)
    return _WORDS.get(names[-1:]) or _WORDS.get(names[-2:])


def is_possible(way: Way, value: str | int) -> bool:
    """Return whether a text or a number may stand at a way.

    Words of its field, images, quantities, labels, ports, numbers that are no less than 0.
    """
    return _is_number(way, value) if isinstance(value, int) else _is_text(way, value)


def _is_text(way: Way, text: str) -> bool:
    allowed = words(way)
    if allowed is not None:
        return text in allowed
    if way[-1:] in _SHARES:
        return _SHARE.fullmatch(text) is not None
    if _is_amount(way):
        return is_quantity(text)
    if _is_label(way):
        return not format_problems("labelValue", text)
    if names_of(way) in _HOST_WAYS:
        return is_subdomain(text.removeprefix("*."))
    if names_of(way) == _PATH_WAY:
        return text.startswith("/")
    if way[-1:] in _PORT_WAYS:
        return text.isascii() and text.isalnum() and text.islower() and len(text) <= _LONGEST_PORT
    return not _is_image(way) or _is_reference(text)


def _is_number(way: Way, number: int) -> bool:
    name = str(way[-1]) if way else ""
    if name in _PORTS:
        return 0 < number <= _HIGHEST_PORT
    least = 1 if name in _AT_LEAST_ONE else 0
    return name in _BELOW_ZERO or least <= number <= _HIGHEST.get(name, number)


def _is_amount(way: Way) -> bool:
    """Return whether a way leads to an amount of a resource."""
    return way[-2:-1] in {("limits",), ("requests",), ("hard",)} or way[-1:] == ("sizeLimit",)


def is_quantity(text: str) -> bool:
    """Return whether a text is a quantity, and not a negative one: there is no use for these."""
    found = parse_quantity(text)
    return found is not None and found.mantissa >= 0


def is_moment(way: Way) -> bool:
    """Return whether a way leads to a time."""
    return bool(way) and str(way[-1]).endswith(_MOMENT)


def _is_label(way: Way) -> bool:
    """Return whether a way leads to the value of a label."""
    return bool(way[-2:-1]) and way[-2] in _LABELS


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
    if names_of(way) in _HOST_WAYS:
        return _HOSTS
    if names_of(way) == _PATH_WAY:
        return _PATHS
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
        if not (last in _ONE_OF and depth > 1):
            lacks = (name for name in _needed_at(way, depth) if value.get(name) in _NOTHING)
            yield from ((*way, name) for name in lacks)
        elif len(_ONE_OF[last] & value.keys()) != 1:
            yield way
        yield from (way for some in _EXCLUSIVE.get(last, ()) if len(some & value.keys()) > 1)
        if last in _LABELS:
            yield from ((*way, name) for name in value if format_problems("qualifiedName", name))
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
    return value.__class__ is not str or _is_text(way, value)


_NOTHING: tuple[Json, ...] = (None, "", [])
