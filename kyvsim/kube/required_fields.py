"""What an API server misses in kinds other than Pods and the workloads that make them.

Only fields without which no request succeeds, of kinds that repositories often have. A part that
is absent as a whole is not looked into. upstream: k8s.io/kubernetes pkg/apis/*/validation.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kube.objects import Json, object_key


class _Field(NamedTuple):
    """A field that every part at a path must have."""

    path: tuple[str, ...]
    """Names of fields; "*" stands for each element of a list."""
    name: str
    problem: str = "Required value"


_Fields: TypeAlias = tuple[_Field, ...]

_NO_PORT = "Invalid value: 0: must be between 1 and 65535, inclusive"
_PATHS = ("spec", "rules", "*", "http", "paths", "*")
_VERBS: _Fields = (
    _Field(("rules", "*"), "verbs", "Required value: verbs must contain at least one value"),
)
_BINDING: _Fields = (
    _Field((), "roleRef"),
    _Field(("roleRef",), "kind"),
    _Field(("roleRef",), "name"),
    _Field(("subjects", "*"), "kind"),
    _Field(("subjects", "*"), "name"),
)
_AUTOSCALER: _Fields = (
    _Field(("spec",), "scaleTargetRef"),
    _Field(("spec", "scaleTargetRef"), "kind"),
    _Field(("spec", "scaleTargetRef"), "name"),
    _Field(("spec",), "maxReplicas", "Invalid value: 0: must be greater than 0"),
)
_RBAC = "rbac.authorization.k8s.io/v1"
_REQUIRED: Mapping[tuple[str, str], _Fields] = MappingProxyType(
    {
        ("v1", "LimitRange"): (_Field(("spec", "limits", "*"), "type"),),
        ("v1", "PersistentVolume"): (
            _Field(("spec",), "accessModes"),
            _Field(("spec",), "capacity"),
        ),
        ("v1", "PersistentVolumeClaim"): (
            _Field(("spec",), "accessModes", "Required value: at least 1 access mode is required"),
            _Field(("spec",), "resources"),
        ),
        ("v1", "Service"): (_Field(("spec", "ports", "*"), "port", _NO_PORT),),
        ("autoscaling/v1", "HorizontalPodAutoscaler"): _AUTOSCALER,
        ("autoscaling/v2", "HorizontalPodAutoscaler"): _AUTOSCALER,
        ("batch/v1", "CronJob"): (_Field(("spec",), "schedule"),),
        ("networking.k8s.io/v1", "Ingress"): (
            _Field(_PATHS, "backend"),
            _Field(_PATHS, "pathType", "Required value: pathType must be specified"),
            _Field((*_PATHS, "backend", "resource"), "kind"),
            _Field((*_PATHS, "backend", "resource"), "name"),
            _Field((*_PATHS, "backend", "service"), "name"),
        ),
        ("networking.k8s.io/v1", "IngressClass"): (_Field(("spec",), "controller"),),
        (_RBAC, "ClusterRole"): _VERBS,
        (_RBAC, "ClusterRoleBinding"): _BINDING,
        (_RBAC, "Role"): _VERBS,
        (_RBAC, "RoleBinding"): _BINDING,
        ("storage.k8s.io/v1", "StorageClass"): (_Field((), "provisioner"),),
    }
)
_LACKING: tuple[Json, ...] = (None, "", 0, [], {})


def required_problems(obj: Json) -> Iterator[str]:
    """Yield each required field that an object lacks, in the words of Kubernetes."""
    for field in _REQUIRED.get(object_key(obj)[:2], ()):
        for place, part in _parts(obj, "", field.path):
            if part.get(field.name) in _LACKING:
                yield f"{place}{field.name}: {field.problem}"


def _parts(part: Json, place: str, path: tuple[str, ...]) -> Iterator[tuple[str, Json]]:
    """Yield the maps at a path that are there and not empty, each after its place."""
    if not path:
        if part.__class__ is dict and part:
            yield place, part
    elif path[0] == "*":
        for index, one in enumerate(part if part.__class__ is list else ()):
            yield from _parts(one, f"{place.removesuffix('.')}[{index}].", path[1:])
    elif part.__class__ is dict:
        yield from _parts(part.get(path[0]), f"{place}{path[0]}.", path[1:])
