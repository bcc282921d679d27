"""What an update may not change.

Source of the rules: k8s.io/kubernetes pkg/apis/*/validation (Validate…Update).
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json, entries, object_key

_RBAC = "rbac.authorization.k8s.io/v1"
_FIXED: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        ("v1", "Secret"): (("type",),),
        ("apps/v1", "DaemonSet"): (("spec", "selector"),),
        ("apps/v1", "Deployment"): (("spec", "selector"),),
        ("apps/v1", "ReplicaSet"): (("spec", "selector"),),
        ("apps/v1", "StatefulSet"): (("spec", "selector"), ("spec", "serviceName")),
        ("batch/v1", "Job"): (("spec", "selector"), ("spec", "template")),
    }
)
"""By kind, the fields that stay as they are."""
_POD_FIELDS = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_FREE = frozenset({"activeDeadlineSeconds", "tolerations", "schedulingGates"})


def update_problems(obj: Json, old: Json) -> Iterator[str]:
    """Yield what an update changes and must not."""
    kind = object_key(obj)[:2]
    for path in _FIXED.get(kind, ()):
        if _at(obj, path) != _at(old, path):
            yield f"{'.'.join(path)}: Invalid value: field is immutable"
    if kind in {(_RBAC, "RoleBinding"), (_RBAC, "ClusterRoleBinding")}:
        if obj.get("roleRef") != old.get("roleRef"):
            yield "roleRef: Invalid value: cannot change roleRef"
    elif kind == ("v1", "Pod"):
        yield from _pod(obj.get("spec") or {}, old.get("spec") or {})
    elif kind in {("v1", "ConfigMap"), ("v1", "Secret")}:
        yield from _sealed(obj, old)


def _sealed(obj: Json, old: Json) -> Iterator[str]:
    if old.get("immutable") is not True:
        return
    if obj.get("immutable") is not True:
        yield "immutable: Forbidden: field is immutable when `immutable` is set"
    for field in ("data", "binaryData"):
        if obj.get(field) != old.get(field):
            yield f"{field}: Forbidden: field is immutable when `immutable` is set"


def _pod(spec: Json, old: Json) -> Iterator[str]:
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


def _fixed_part(spec: Json) -> Json:
    """Return a Pod's specification without what may change."""
    fixed = {name: value for name, value in spec.items() if name not in _FREE}
    for group in ("containers", "initContainers"):
        if group in fixed:
            fixed[group] = [{**one, "image": ""} for one in entries(fixed, group)]
    return fixed


def _at(data: Json, path: tuple[str, ...]) -> Json:
    for name in path:
        data = data.get(name) if data.__class__ is dict else None
    return data
