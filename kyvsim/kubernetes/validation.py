"""Errors for which an API server rejects objects: names, labels, invalid Pods, missing fields.

Source of the rules: k8s.io/apimachinery pkg/api/validation and k8s.io/kubernetes
pkg/apis/*/validation.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import TypeAlias

from kyvsim.kubernetes.discovery import (
    is_builtin,
    is_builtin_group,
    kinds_of_group,
    split_api_version,
)
from kyvsim.kubernetes.labels import (
    SelectorError,
    compile_selector,
    format_problems,
    is_label,
    is_subdomain,
)
from kyvsim.kubernetes.objects import (
    Json,
    JsonMap,
    KubernetesObject,
    annotations,
    entries,
    labels,
    metadata,
    object_key,
    text_field,
    value_at,
)

# Names, labels and annotations.

_PATH_NAMES = frozenset({"rbac.authorization.k8s.io", "apiregistration.k8s.io"})
"""Groups in which names only have to be valid path segments."""
_LABEL_NAMES = frozenset({("", "Namespace"), ("", "Service"), ("apps", "StatefulSet")})
_LONGEST_CRON_JOB = 52


def metadata_problems(obj: object, *, new: bool) -> Iterator[str]:
    """Yield the errors in an object's name, labels and annotations."""
    name = text_field(metadata(obj), "name")
    if not name:
        yield "metadata.name: Required value: name or generateName is required"
    elif new:
        for problem in _name_problems(obj, name):
            yield f'metadata.name: Invalid value: "{name}": {problem}'
    namespace = text_field(metadata(obj), "namespace")
    for problem in _format_problems_of("dns1123Label", namespace) if namespace and new else ():
        yield f'metadata.namespace: Invalid value: "{namespace}": {problem}'
    for key in sorted(labels(obj)):
        for problem in _format_problems_of("qualifiedName", key):
            yield f'metadata.labels: Invalid value: "{key}": {problem}'
    for key in sorted(annotations(obj)):
        for problem in _format_problems_of("qualifiedName", key.lower()):
            yield f'metadata.annotations: Invalid value: "{key}": {problem}'
    yield from label_value_problems(obj, "metadata.labels")
    yield from _owner_problems(obj)


def _owner_problems(obj: object) -> Iterator[str]:
    # upstream: k8s.io/apimachinery pkg/api/validation/objectmeta.go (ValidateOwnerReferences)
    path = "metadata.ownerReferences"
    controllers: list[str] = []
    for owner in entries(metadata(obj), "ownerReferences"):
        api_version = text_field(owner, "apiVersion")
        if not split_api_version(api_version)[1]:
            yield f'{path}.apiVersion: Invalid value: "{api_version}": version must not be empty'
        for field in ("kind", "name", "uid"):
            if not text_field(owner, field):
                yield f'{path}.{field}: Invalid value: "": {field} must not be empty'
        if owner.get("controller") is True:
            controllers.append(text_field(owner, "name"))
            if len(controllers) > 1:
                yield (
                    f"{path}: Invalid value: Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controllers[-2]} and {controllers[-1]}'
                )


def label_value_problems(holder: object, path: str) -> Iterator[str]:
    """Yield the errors in the values of labels."""
    for _, value in sorted(labels(holder).items()):
        for problem in _format_problems_of("labelValue", value):
            yield f'{path}: Invalid value: "{value}": {problem.replace("characters", "bytes", 1)}'


@lru_cache(maxsize=4096)
def _format_problems_of(form: str, text: str) -> tuple[str, ...]:
    """Return the errors in a text; cached, since many objects have the same labels."""
    return tuple(format_problems(form, text))


def _name_problems(obj: object, name: str) -> list[str]:
    key = object_key(obj)
    if key.group in _PATH_NAMES:
        return [f"may not contain '{one}'" for one in ("/", "%") if one in name]
    if (key.group, key.kind) in _LABEL_NAMES:
        return format_problems("dns1123Label", name)
    found = format_problems("dns1123Subdomain", name)
    if (key.group, key.kind) == ("batch", "CronJob") and len(name) > _LONGEST_CRON_JOB:
        found.append(f"must be no more than {_LONGEST_CRON_JOB} characters")
    return found


def identity_problems(obj: KubernetesObject) -> Iterator[str]:
    """Yield the problems of an object's kind, name and namespace, one sentence each."""
    key = object_key(obj)
    if key.group == "rbac.authorization.k8s.io":  # any path segment is valid
        good, form = bool(key.name) and "/" not in key.name and "%" not in key.name, "path segment"
    elif not key.group and key.kind in {"Namespace", "Service"}:
        good, form = is_label(key.name), "RFC 1123 label"
    else:
        good, form = is_subdomain(key.name), "RFC 1123 name"
    if is_builtin_group(key.group) and not is_builtin(key.group, key.kind):
        place = f"the group `{key.group}`" if key.group else "the core group"
        near = get_close_matches(key.kind, kinds_of_group(key.group), n=1)
        meant = f": did you mean `{near[0]}`?" if near else ""
        yield f"no API server accepts {key.kind} `{key.name}`: {place} has no such kind{meant}"
    if not key.name and not metadata(obj).get("generateName"):
        yield (
            f"no API server accepts a {key.kind} without a name: it is empty, as if a variable in "
            "it has no value"
        )
    elif key.name and not good:
        yield f"no API server accepts {key.kind} `{key.name}`: the name is not a valid {form}"
    if key.namespace and not is_label(key.namespace):
        what = f"namespace `{key.namespace}` of {key.kind} `{key.name}`"
        yield f"no API server accepts {what}: it is not a valid RFC 1123 label"


def pod_problems(spec: object, path: str, *, mounts: bool = True) -> Iterator[str]:
    """Yield the errors in a Pod's specification; set `mounts` if it contains all volumes.

    (A StatefulSet adds volumes.)
    """
    volumes = [text_field(one, "name") for one in entries(spec, "volumes")]
    for index, name in enumerate(volumes):
        if name in volumes[:index]:
            yield f'{path}.volumes[{index}].name: Duplicate value: "{name}"'
    if not entries(spec, "containers"):
        yield f"{path}.containers: Required value"
    seen: set[str] = set()
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(entries(spec, group)):
            place = f"{path}.{group}[{index}]"
            yield from _container(container, place)
            name = text_field(container, "name")
            if name in seen:
                yield f'{place}.name: Duplicate value: "{name}"'
            seen.add(name)
            if mounts:
                yield from _mounts(container, place, volumes)


def _container(container: object, path: str) -> Iterator[str]:
    name = text_field(container, "name")
    if not name:
        yield f"{path}.name: Required value"
    else:
        for problem in format_problems("dns1123Label", name):
            yield f'{path}.name: Invalid value: "{name}": {problem}'
    if not text_field(container, "image"):
        yield f"{path}.image: Required value"
    for index, port in enumerate(entries(container, "ports")):
        if not port.get("containerPort"):
            yield f"{path}.ports[{index}].containerPort: Required value"


def _mounts(container: object, path: str, volumes: list[str]) -> Iterator[str]:
    paths: set[str] = set()
    for index, mount in enumerate(entries(container, "volumeMounts")):
        name, where = text_field(mount, "name"), text_field(mount, "mountPath")
        if name not in volumes:
            yield f'{path}.volumeMounts[{index}].name: Not found: "{name}"'
        if where in paths:
            place = f"{path}.volumeMounts[{index}].mountPath"
            yield f'{place}: Invalid value: "{where}": must be unique'
        paths.add(where)


# Kinds whose controllers create Pods.

_JOB_POLICIES = frozenset({"OnFailure", "Never"})
_EMPTY_SELECTORS: Mapping[str, str] = {
    "DaemonSet": "empty selector is invalid for daemonset",
    "Deployment": "empty selector is invalid for deployment",
    # The API server also says "deployment" here.
    "ReplicaSet": "empty selector is invalid for deployment",
    "StatefulSet": "empty selector is invalid for statefulset",
}


def workload_problems(obj: KubernetesObject) -> Iterator[str]:
    """Yield the errors in a workload: its template, its selector, its restart policy."""
    kind, path = text_field(obj, "kind"), "spec"
    spec: Json = obj.get("spec")
    if kind == "CronJob":
        spec = (((spec or {}).get("jobTemplate")) or {}).get("spec")
        path = "spec.jobTemplate.spec"
    template = spec.get("template") if spec.__class__ is dict else None
    if template.__class__ is not dict:
        yield f"{path}.template: Required value"
        return
    if kind == "ReplicationController":
        # The selector has only labels; the default are those of the template.
        labelled = spec.get("selector")
        spec = {"selector": {"matchLabels": labelled or labels(template)}}
    if kind not in {"CronJob", "Job"}:
        yield from _selector_problems(kind, spec, template)
    yield from label_value_problems(template, f"{path}.template.labels")
    pod = template.get("spec")
    yield from pod_problems(pod, f"{path}.template.spec", mounts=kind != "StatefulSet")
    if kind in {"CronJob", "Job"} and text_field(pod, "restartPolicy") not in _JOB_POLICIES:
        place = f"{path}.template.spec.restartPolicy"
        yield f'{place}: Required value: valid values: "OnFailure", "Never"'


def _selector_problems(kind: str, spec: JsonMap, template: JsonMap) -> Iterator[str]:
    """Yield the errors in the selector of a workload, which has to select its template.

    Values are shown as JSON, as in API servers since 1.34.
    """
    selector = spec.get("selector")
    if selector is None:
        yield "spec.selector: Required value"
        return
    if selector.__class__ is dict and not any(
        selector.get(field) for field in ("matchLabels", "matchExpressions")
    ):
        if kind in _EMPTY_SELECTORS:
            yield f"spec.selector: Invalid value: {{}}: {_EMPTY_SELECTORS[kind]}"
        else:
            yield "spec.selector: Required value"
        return
    held = labels(template)
    try:
        selects = compile_selector(selector)
    except SelectorError as error:
        yield f"spec.selector: Invalid value: {error}"
        return
    if not selects(held):
        shown = json.dumps(held, sort_keys=True, separators=(",", ":"))
        yield (
            f"spec.template.metadata.labels: Invalid value: {shown}: "
            "`selector` does not match template `labels`"
        )


def definition_problems(obj: KubernetesObject) -> Iterator[str]:
    """Yield the missing fields of a CustomResourceDefinition.

    An API server also requires schemas and a storage version; nothing here depends on these.
    """
    spec = obj.get("spec")
    names = spec.get("names") if spec.__class__ is dict else None
    for name in ("group", "scope"):
        if not text_field(spec, name):
            yield f"spec.{name}: Required value"
    for name in ("plural", "kind"):
        if not text_field(names, name):
            yield f"spec.names.{name}: Required value"
    written = spec.get("versions") if spec.__class__ is dict else None
    versions = written if written.__class__ is list else []
    for index, one in enumerate(versions):
        if not text_field(one, "name"):
            yield f"spec.versions[{index}].name: Required value"


# Immutable fields: Validate…Update of upstream.

_RBAC_API = "rbac.authorization.k8s.io/v1"
_FIXED: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("v1", "Secret"): (("type",),),
    ("apps/v1", "DaemonSet"): (("spec", "selector"),),
    ("apps/v1", "Deployment"): (("spec", "selector"),),
    ("apps/v1", "ReplicaSet"): (("spec", "selector"),),
    ("apps/v1", "StatefulSet"): (("spec", "selector"), ("spec", "serviceName")),
    ("batch/v1", "Job"): (("spec", "selector"), ("spec", "template")),
}
_POD_FIELDS = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_FREE = frozenset({"activeDeadlineSeconds", "tolerations", "schedulingGates"})


def update_problems(obj: KubernetesObject, old: KubernetesObject) -> Iterator[str]:
    """Yield the forbidden changes of an update."""
    kind = object_key(obj)[:2]
    for path in _FIXED.get(kind, ()):
        if value_at(obj, path) != value_at(old, path):
            yield f"{'.'.join(path)}: Invalid value: field is immutable"
    if kind in {(_RBAC_API, "RoleBinding"), (_RBAC_API, "ClusterRoleBinding")}:
        if obj.get("roleRef") != old.get("roleRef"):
            yield "roleRef: Invalid value: cannot change roleRef"
    elif kind == ("v1", "Pod"):
        yield from _pod_changes(obj.get("spec") or {}, old.get("spec") or {})
    elif kind in {("v1", "ConfigMap"), ("v1", "Secret")} and old.get("immutable") is True:
        if obj.get("immutable") is not True:
            yield "immutable: Forbidden: field is immutable when `immutable` is set"
        for field in ("data", "binaryData"):
            if obj.get(field) != old.get(field):
                yield f"{field}: Forbidden: field is immutable when `immutable` is set"


def _pod_changes(spec: JsonMap, old: JsonMap) -> Iterator[str]:
    for group in ("containers", "initContainers"):
        if len(entries(spec, group)) != len(entries(old, group)):
            yield f"spec.{group}: Forbidden: pod updates may not add or remove containers"
            return
    kept = [one for one in old.get("tolerations") or () if one in (spec.get("tolerations") or ())]
    if kept != (old.get("tolerations") or []):
        yield (
            "spec.tolerations: Forbidden: existing toleration can not be modified except its "
            "tolerationSeconds"
        )
    elif _fixed_part(spec) != _fixed_part(old):
        yield f"spec: Forbidden: pod updates may not change fields other than {_POD_FIELDS}"


def _fixed_part(spec: JsonMap) -> JsonMap:
    """Return a Pod's specification without mutable fields."""
    fixed = {name: value for name, value in spec.items() if name not in _FREE}
    for group in ("containers", "initContainers"):
        if group in fixed:
            fixed[group] = [{**one, "image": ""} for one in entries(fixed, group)]
    return fixed


# Required fields of kinds that are common in repositories. Parts that are completely absent are not
# checked.

_RequiredFields: TypeAlias = Mapping[str, str]
"""Paths of fields that all existing parts must have, "*" for all elements of a list, and the
message for missing ones.
"""


def _required(*paths: str) -> _RequiredFields:
    return dict.fromkeys(paths, "Required value")


_NO_PORT = "Invalid value: 0: must be between 1 and 65535, inclusive"
_VERBS: Mapping[str, str] = {
    "rules.*.verbs": "Required value: verbs must contain at least one value"
}
_BINDING = _required(
    *("roleRef", "roleRef.kind", "roleRef.name", "subjects.*.kind", "subjects.*.name")
)
_AUTOSCALER: Mapping[str, str] = {
    **_required("spec.scaleTargetRef", "spec.scaleTargetRef.kind", "spec.scaleTargetRef.name"),
    "spec.maxReplicas": "Invalid value: 0: must be greater than 0",
}
_INGRESS_PATH = "spec.rules.*.http.paths.*"
_REQUIRED: Mapping[tuple[str, str], _RequiredFields] = {
    ("v1", "LimitRange"): _required("spec.limits.*.type"),
    ("v1", "PersistentVolume"): _required("spec.accessModes", "spec.capacity"),
    ("v1", "PersistentVolumeClaim"): {
        "spec.accessModes": "Required value: at least 1 access mode is required",
        **_required("spec.resources"),
    },
    ("v1", "Service"): {"spec.ports.*.port": _NO_PORT},
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _AUTOSCALER,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): _AUTOSCALER,
    ("batch/v1", "CronJob"): _required("spec.schedule"),
    ("networking.k8s.io/v1", "Ingress"): {
        **_required(f"{_INGRESS_PATH}.backend"),
        f"{_INGRESS_PATH}.pathType": "Required value: pathType must be specified",
        **_required(
            f"{_INGRESS_PATH}.backend.resource.kind",
            f"{_INGRESS_PATH}.backend.resource.name",
            f"{_INGRESS_PATH}.backend.service.name",
        ),
    },
    ("networking.k8s.io/v1", "IngressClass"): _required("spec.controller"),
    (_RBAC_API, "ClusterRole"): _VERBS,
    (_RBAC_API, "ClusterRoleBinding"): _BINDING,
    (_RBAC_API, "Role"): _VERBS,
    (_RBAC_API, "RoleBinding"): _BINDING,
    ("storage.k8s.io/v1", "StorageClass"): _required("provisioner"),
}
_LACKING: tuple[object, ...] = (None, "", 0, [], {})


def required_problems(obj: object) -> Iterator[str]:
    """Yield each missing required field, with Kubernetes' message."""
    for field, problem in _REQUIRED.get(object_key(obj)[:2], {}).items():
        *path, name = field.split(".")
        for place, part in _parts(obj, "", path):
            if part.get(name) in _LACKING:
                yield f"{place}{name}: {problem}"


def _parts(part: object, place: str, path: list[str]) -> Iterator[tuple[str, JsonMap]]:
    """Yield the non-empty maps at a path, each after its position."""
    if not path:
        if part.__class__ is dict and part:
            yield place, part
    elif path[0] == "*":
        for index, one in enumerate(part if part.__class__ is list else ()):
            yield from _parts(one, f"{place.removesuffix('.')}[{index}].", path[1:])
    elif part.__class__ is dict:
        yield from _parts(part.get(path[0]), f"{place}{path[0]}.", path[1:])


_CHECKS: Mapping[tuple[str, str], Callable[[KubernetesObject], Iterator[str]]] = {
    ("v1", "Pod"): lambda obj: pod_problems(obj.get("spec"), "spec"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): definition_problems,
    ("v1", "ReplicationController"): workload_problems,
    **{("apps/v1", kind): workload_problems for kind in ("DaemonSet", "Deployment")},
    **{("apps/v1", kind): workload_problems for kind in ("ReplicaSet", "StatefulSet")},
    **{("batch/v1", kind): workload_problems for kind in ("CronJob", "Job")},
}


def problems_of(obj: KubernetesObject, old: KubernetesObject | None = None) -> Iterator[str]:
    """Yield the errors in an object; `old` is None for a new one."""
    yield from metadata_problems(obj, new=old is None)
    check = _CHECKS.get(object_key(obj)[:2])
    if check:
        yield from check(obj)
    yield from required_problems(obj)
    if old is not None:
        yield from update_problems(obj, old)
