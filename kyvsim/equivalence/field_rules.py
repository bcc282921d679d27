"""Kubernetes' rules for the fields of an object: types, enumerations, required fields."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from kyvsim.kubernetes.defaults import as_typed
from kyvsim.kubernetes.discovery import (
    is_builtin,
    is_builtin_group,
    is_namespaced,
    split_api_version,
)
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.labels import format_problems, is_label, is_subdomain
from kyvsim.kubernetes.objects import KubernetesObject, metadata, object_key, text_field
from kyvsim.kubernetes.quantities import parse_quantity
from kyvsim.kubernetes.validation import problems_of
from kyvsim.model.field_reference import FieldPath, Segment
from kyvsim.patch.structured_merge import misfits
from kyvsim.schema import merge_types

# Rules that are not part of Kubernetes' types: allowed values and required fields.
#
# Only those of fields that policies often read. Source of the rules: the API reference of
# Kubernetes, "Required" and "Possible enum values" of the types in k8s.io/api.

_WORDS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("accessModes",): ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"),
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
"""By the last names of a path: the only strings that an API server accepts."""
_SHARES = frozenset({("maxUnavailable",), ("minAvailable",)})
_SHARE = re.compile(r"[0-9]+%")
_PORTS = frozenset(
    {"containerPort", "hostPort", "nodePort", "port", "targetPort", "endPort", "number"}
)
_BELOW_ZERO = frozenset({"priority", "value", "Port", "maximum", "minimum", "multipleOf"})
"""Numbers that can be negative; all others are amounts, identifiers and times."""
_AT_LEAST_ONE = frozenset(
    {"failureThreshold", "maxReplicas", "maxSkew", "periodSeconds", "successThreshold"}
    | {"timeoutSeconds", "weight"}
)
_HIGHEST_PORT = 65535
_HIGHEST: Mapping[str, int] = MappingProxyType({"weight": 100, "defaultMode": 0o777, "mode": 0o777})
_HOST_PATHS = frozenset({("spec", "rules", "host"), ("spec", "tls", "hosts")})
"""Of an Ingress: host names, of which the first label can be a wildcard."""
_HOSTS = ("a.example.com", "*.example.com")
_HTTP_PATH = ("spec", "rules", "http", "paths", "path")
_PATHS = ("/a", "/b", "/*")
"""Of an Ingress: paths begin with a slash, and load balancers accept a wildcard after it."""
_LONGEST_PORT = 15
_LABELS = frozenset({"labels", "matchLabels", "nodeSelector"})
_MOMENT = ("Time", "Timestamp", "time", "startedAt", "finishedAt", "timeAdded")
_HANDLERS = frozenset({"exec", "grpc", "httpGet", "sleep", "tcpSocket"})
_SOURCES = frozenset(
    {"configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"}
)
_ONE_OF: Mapping[str, frozenset[str]] = {
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
"""By the name of a field: keys of which it, or each element of it, must have exactly one."""
_EXCLUSIVE: Mapping[str, tuple[frozenset[str], ...]] = {
    "env": (frozenset({"value", "valueFrom"}),),
    "spec": (frozenset({"minAvailable", "maxUnavailable"}),),
}
"""By the name of a field: keys of which it, or each element of it, can have only one."""
_PROBES: Mapping[str, object] = MappingProxyType({"tcpSocket": {"port": 80}})
_CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})
OTHER_AMOUNTS: Mapping[str, str] = {"cpu": "memory", "memory": "cpu", "ephemeral-storage": "memory"}
"""Only some names of resources are valid."""
_QUANTITIES = ("1", "2")
_IMAGES = ("nginx", "nginx:1.25", f"nginx@sha256:{'0' * 64}")
"""Patterns of images do not yield any with a digest, which has a special form."""
_NEEDED: Mapping[str, Mapping[str, object]] = {
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
    "ownerReferences": {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "a"},
    "paths": {"pathType": "Prefix", "backend": {"resource": {"kind": "A", "name": "a"}}},
    "persistentVolumeClaim": {"claimName": "a"},
    "resourceFieldRef": {"resource": "limits.cpu"},
    "seccompProfile": {"type": "RuntimeDefault"},
    "secretKeyRef": {"key": "a"},
    "sysctls": {"name": "a", "value": "a"},
    "tcpSocket": {"port": 80},
    "topologySpreadConstraints": {
        "maxSkew": 1,
        "topologyKey": "a",
        "whenUnsatisfiable": "DoNotSchedule",
    },
}
"""Required fields by field name: those of the value or, for a list, of each element."""
_NEEDED_IN_BACKENDS: Mapping[str, tuple[str, ...]] = {
    "resource": ("kind", "name"),
    "service": ("name", "port"),
}
"""The required fields of the two kinds of Ingress backends."""
_BACKENDS = frozenset({"backend", "defaultBackend"})
_NEEDED_AT_TOP: Mapping[str, Mapping[str, object]] = {
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"},
    "rules": {"verbs": ["get"]},
    "subjects": {"kind": "User", "name": "a"},
}
"""The required fields at the top level of an object: those of roles and their bindings."""
_WITH_SPEC = frozenset({"Ingress", "PersistentVolumeClaim", "Service"})
"""Kinds that need a `spec`."""


def needed(name: str, depth: int) -> Mapping[str, object]:
    """Return the required fields of a field or its elements; `depth` is 1 at the top level."""
    return _NEEDED_AT_TOP.get(name, {}) if depth == 1 else _NEEDED.get(name, {})


def rivals(name: str, key: str) -> frozenset[str]:
    """Return the keys of a field that cannot be set together with another key."""
    groups = (_ONE_OF.get(name, frozenset()), *_EXCLUSIVE.get(name, ()))
    return frozenset(one for some in groups if key in some for one in some if one != key)


def names_of(path: FieldPath) -> tuple[str, ...]:
    """Return the names of the fields on a path."""
    return tuple([one for one in path if not isinstance(one, Segment)])


def words(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the strings allowed at a path with these names; None if all are."""
    return _WORDS.get(names[-1:]) or _WORDS.get(names[-2:])


def is_possible(path: FieldPath, value: str | int) -> bool:
    """Return whether a string or a number is allowed at a path.

    Enumerations, images, quantities, labels and ports are checked, and numbers that must be at
    least 0.
    """
    if not isinstance(value, int):
        return _is_text(path, value)
    name = str(path[-1]) if path else ""
    if name in _PORTS:
        return 0 < value <= _HIGHEST_PORT
    least = 1 if name in _AT_LEAST_ONE else 0
    return name in _BELOW_ZERO or least <= value <= _HIGHEST.get(name, value)


def _is_text(path: FieldPath, text: str) -> bool:
    names = names_of(path)
    allowed = words(names)
    if allowed is not None:
        return text in allowed
    if path[-1:] in _SHARES:
        return _SHARE.fullmatch(text) is not None
    if _is_amount(path):
        return is_quantity(text)
    if len(path) > 1 and path[-2] in _LABELS:
        return not format_problems("labelValue", text)
    if names in _HOST_PATHS:
        return is_subdomain(text.removeprefix("*."))
    if names == _HTTP_PATH:
        return text.startswith("/")
    if path[-1:] == ("targetPort",):
        return text.isascii() and text.isalnum() and text.islower() and len(text) <= _LONGEST_PORT
    if is_image_path(path):
        try:
            parse_image(text)
        except ValueError:
            return False
    return True


def _is_amount(path: FieldPath) -> bool:
    return path[-2:-1] in {("limits",), ("requests",), ("hard",)} or path[-1:] == ("sizeLimit",)


def is_quantity(text: str) -> bool:
    """Return whether a string is a quantity that is not negative."""
    found = parse_quantity(text)
    return found is not None and found.mantissa >= 0


def usual_entries(name: str) -> Mapping[str, object]:
    """Return valid entries for a field that is a map with arbitrary keys."""
    return {"cpu": "1"} if _is_amount((name, "cpu")) else {"a": "a"}


def is_image_path(path: FieldPath) -> bool:
    """Return whether a path is that of a container's image."""
    return path[-1:] == ("image",) and bool(path[-3:-2]) and path[-3] in _CONTAINERS


def usual(path: FieldPath) -> tuple[str, ...]:
    """Return a few strings that an API server accepts at a path; () if unknown."""
    names = names_of(path)
    if _is_amount(path):
        return _QUANTITIES
    if names in _HOST_PATHS:
        return _HOSTS
    if names == _HTTP_PATH:
        return _PATHS
    return _IMAGES if is_image_path(path) else (words(names) or ())[:3]


def problems(obj: KubernetesObject) -> Iterator[FieldPath]:
    """Yield the paths of missing or invalid fields of an object."""
    if text_field(obj, "kind") in _WITH_SPEC and not obj.get("spec"):
        yield ("spec",)
    yield from _problems(obj, ())


def _problems(value: object, path: FieldPath) -> Iterator[FieldPath]:
    if path[-1:] in _SHARES and isinstance(value, dict | list | bool):
        yield path
    elif isinstance(value, dict):
        names = names_of(path)
        last, depth = (names or ("",))[-1], len(names)
        if not (last in _ONE_OF and depth > 1):
            in_backend = path[-2:-1] and path[-2] in _BACKENDS
            fields = _NEEDED_IN_BACKENDS.get(last, ()) if in_backend else needed(last, depth)
            lacks = (name for name in fields if value.get(name) in _NOTHING)
            yield from ((*path, name) for name in lacks)
        elif len(_ONE_OF[last] & value.keys()) != 1:
            yield path
        yield from (path for some in _EXCLUSIVE.get(last, ()) if len(some & value.keys()) > 1)
        if last in _LABELS:
            yield from ((*path, name) for name in value if format_problems("qualifiedName", name))
        for name, inner in value.items():
            yield from _problems(inner, (*path, name))
    elif isinstance(value, list):
        for one in value:
            yield from _problems(one, (*path, Segment.ELEMENT))
    elif isinstance(value, str) and not _is_text(path, value):
        yield path


_NOTHING: tuple[object, ...] = (None, "", [])

# The types of values by path, as far as Kubernetes' types are known.

_CLASSES: Mapping[str, frozenset[type]] = {
    merge_types.STRING: frozenset({str}),
    merge_types.NUMERIC: frozenset({int, float}),
    merge_types.BOOLEAN: frozenset({bool}),
    merge_types.UNTYPED: frozenset({str, int, float, bool}),
}
_SAMPLES: Mapping[str, object] = {
    merge_types.STRING: "a",
    merge_types.NUMERIC: 1,
    merge_types.BOOLEAN: True,
}


def type_of(obj: KubernetesObject, find: merge_types.FindType) -> merge_types.Type | None:
    """Return the type of an object, None if it is unknown."""
    key = object_key(obj)
    try:
        return find(key.api_version, key.kind)
    except merge_types.NoTypesError:
        return None


def with_spec(obj: KubernetesObject, kind: merge_types.Type | None) -> KubernetesObject:
    """Return an object with a `spec`, if its kind has one: the field cannot be missing.

    Source of the rule: the types of k8s.io/api, in which the field is never a pointer.
    """
    if obj.get("spec") is not None or type_at(kind, ("spec",)) is None:
        return obj
    return {**obj, "spec": {}}


def leads_somewhere(root: merge_types.Type | None, path: FieldPath) -> bool:
    """Return whether an object can have a value at a path; True if its type is unknown."""
    return root is None or type_at(root, path) is not None


def of_one_shape(paths: Iterable[FieldPath]) -> Iterator[FieldPath]:
    """Yield paths, without those that disagree with earlier ones on whether a value is a list.

    If the types are unknown, the first policy that reads a field decides.
    """
    is_list: dict[FieldPath, bool] = {}
    for path in paths:
        steps = {path[:end]: path[end] is Segment.ELEMENT for end in range(len(path))}
        if all(is_list.setdefault(place, found) is found for place, found in steps.items()):
            yield path


def type_at(root: merge_types.Type | None, path: FieldPath) -> merge_types.Type | None:
    """Return the type of the value at a path, None if there can be none."""
    here = root
    for step in path:
        if here is None:
            return None
        if step is Segment.ELEMENT:
            ref = here.sequence.element if here.sequence else None
        elif here.mapping is None:
            ref = None
        elif step is Segment.KEY:
            ref = here.mapping.others
        else:
            ref = here.mapping.fields.get(str(step), here.mapping.others)
        here = None if ref is None else merge_types.resolve(ref)
    return here


def suits(found: merge_types.Type | None, value: object) -> bool:
    """Return whether the top level of a value has an allowed type."""
    if found is None:
        return True
    if value.__class__ is dict:
        return found.mapping is not None
    if value.__class__ is list:
        return found.sequence is not None
    if value.__class__ is bool and found.scalar == merge_types.UNTYPED:
        # Untyped scalars are quantities and times, unless any value is allowed.
        return found.mapping is not None
    return value.__class__ in _CLASSES.get(found.scalar, ())


def new_element(name: str, depth: int, sequence: merge_types.Type | None) -> object:
    """Return a new element for the list in a field, with its required fields."""
    ref = sequence.sequence.element if sequence and sequence.sequence else None
    inner = merge_types.resolve(ref) if ref is not None else None
    if inner is not None and inner.scalar and inner.mapping is None:
        return _SAMPLES.get(inner.scalar, "a")
    keys = (sequence.sequence.keys if sequence and sequence.sequence else None) or ()
    named = {}
    for key in keys:
        at = type_at(inner, (key,))
        taken = words((key,)) or (_SAMPLES.get(at.scalar if at else "", "a"),)
        named[key] = taken[0]
    return {**named, **needed(name, depth)}


# The types of image data, as far as policies read it.
#
# Source of the rules: the OCI image specification, https://github.com/opencontainers/image-spec
# (manifest.md, config.md, image-index.md).


@cache
def image_type() -> merge_types.Type:
    """Return the type of image data, in the notation of `read_type`."""
    texts = {"a": "s"}
    by_name: object = {"p": {}, "e": "s"}
    # A set of names is represented by a map to empty maps.
    names: object = {"p": {}, "e": {"p": {}}}
    container: dict[str, object] = {
        **dict.fromkeys(("User", "WorkingDir", "StopSignal"), "s"),
        **dict.fromkeys(("Env", "Cmd", "Entrypoint"), texts),
        "Labels": by_name,
        **dict.fromkeys(("ExposedPorts", "Volumes"), names),
    }
    config: dict[str, object] = {
        **dict.fromkeys(("created", "author", "architecture", "os"), "s"),
        "config": {"p": container},
        "rootfs": {"p": {"type": "s", "diff_ids": texts}},
        "history": {"a": {"p": {"created": "s", "created_by": "s", "empty_layer": "b"}}},
    }
    part = {"mediaType": "s", "digest": "s", "size": "n", "annotations": by_name}
    platform = {"p": {"architecture": "s", "os": "s", "variant": "s"}}
    head = {"schemaVersion": "n", "mediaType": "s"}
    layers = {"config": {"p": part}, "layers": {"a": {"p": part}}}
    manifests = {"manifests": {"a": {"p": {**part, "platform": platform}}}}
    whole = {
        "config": {"p": config, "e": "s"},
        "manifest": {"p": {**head, **layers, "annotations": by_name}},
        "imageIndex": {"p": {**head, **manifests, "annotations": by_name}},
    }
    return merge_types.resolve(merge_types.read_type({"p": whole}))


# Whether an API server would accept an object without changing it.

_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9][a-z0-9]*")


def is_accepted(obj: KubernetesObject, find: merge_types.FindType) -> bool:
    """Return whether an API server would accept an object without dropping fields.

    For custom resources, only their types, null values and the metadata are checked.
    """
    kind = type_of(obj, find)
    if kind is not None and (misfits(kind, obj) or not _is_named(kind, obj)):
        return False
    key = object_key(obj)
    group = split_api_version(key.api_version)[0]
    # Objects of cluster-scoped kinds have no namespace.
    is_placed = is_namespaced(group, key.kind) and is_label(key.namespace)
    if misfits(_metadata(), metadata(obj)) or (key.namespace and not is_placed):
        return False
    if not key.name or as_typed(obj) != obj or _has_null(obj):
        return False
    if kind is not None and is_builtin(group, key.kind) and not _has_values(kind, obj, ()):
        return False
    checked = obj if is_builtin_group(group) else {"metadata": metadata(obj)}
    return (
        _KIND.fullmatch(key.kind) is not None
        and _API_VERSION.fullmatch(key.api_version) is not None
        and not any(problems(checked))
        and not any(problems_of(obj))
    )


def _has_values(kind: merge_types.Type, value: object, path: FieldPath) -> bool:
    """Return whether numbers, quantities and times have valid values.

    The types only distinguish scalars: a quantity or a time is untyped, an IntOrString can be
    anything.
    """
    if isinstance(value, dict) and kind.mapping is not None:
        fields = kind.mapping.fields
        return all(
            ref is None or _has_values(merge_types.resolve(ref), one, (*path, name))
            for name, one in value.items()
            for ref in (fields.get(name, kind.mapping.others),)
        )
    if isinstance(value, list) and kind.sequence is not None:
        inner = merge_types.resolve(kind.sequence.element)
        return all(_has_values(inner, one, (*path, Segment.ELEMENT)) for one in value)
    plain = value if isinstance(value, str | int) and not isinstance(value, bool) else None
    if kind.scalar == merge_types.NUMERIC:
        return isinstance(plain, int) and is_possible(path, plain)
    if kind.scalar != merge_types.UNTYPED or path[:1] == ("metadata",):
        return True
    if kind.mapping is not None:
        return plain is not None and is_possible(path, plain)
    is_moment = bool(path) and str(path[-1]).endswith(_MOMENT)
    return isinstance(value, str) and (is_moment or is_quantity(value))


@cache
def _metadata() -> merge_types.Type:
    """Return the type of metadata, which is the same for objects of all kinds."""
    found = type_at(merge_types.find_type("v1", "Pod"), ("metadata",))
    if found is None:
        raise LookupError("the types of Kubernetes have no metadata")
    return found


def _is_named(kind: merge_types.Type, value: object) -> bool:
    """Return whether the elements of lists have their merge keys, at any depth."""
    if isinstance(value, dict) and kind.mapping is not None:
        fields = (
            (kind.mapping.fields.get(name, kind.mapping.others), one) for name, one in value.items()
        )
        return all(ref is None or _is_named(merge_types.resolve(ref), one) for ref, one in fields)
    if isinstance(value, list) and kind.sequence is not None:
        needed = [key for key in kind.sequence.keys or () if not kind.sequence.defaults.get(key)]
        inner = merge_types.resolve(kind.sequence.element)
        return all(all(one.get(key) for key in needed) and _is_named(inner, one) for one in value)
    return True


def _has_null(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_null, value.values() if isinstance(value, dict) else value))
    return value is None
