"""The fields of Pods that a `podSecurity` block checks, and the values that decide there."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.pod_security.controls import (
    ALL_CAPABILITIES,
    APP_ARMOR_ANNOTATION,
    APP_ARMOR_PROFILES,
    CONTAINER_FIELDS,
    DEFAULT_CAPABILITIES,
    DEFAULT_PROC_MOUNT,
    HOST_HANDLERS,
    HOST_NAMESPACES,
    LIFECYCLE,
    OTHER_VOLUMES,
    PROBES,
    RESTRICTED_CAPABILITIES,
    SECCOMP_PROFILES,
    SELINUX_FIELDS,
    ActiveCheck,
    active_checks,
)
from kyvsim.model.policy import FieldPath, Segment

_Places: TypeAlias = Mapping[str, tuple[Json, ...]]
"""Values by fields, with `[]` behind lists. What begins with `each.` is a field of containers."""

_BOTH: tuple[Json, ...] = (False, True)
_UNCONFINED = "Unconfined"
_EACH = "each."


def _setting(field: str, *values: Json) -> _Places:
    """Return a setting that a Pod and its containers have."""
    field = f"securityContext.{field}"
    return {f"spec.{field}": values, f"{_EACH}{field}": values}


_HANDLERS = (*PROBES, *(f"lifecycle.{name}" for name in LIFECYCLE))
_SYSTEM: _Places = MappingProxyType({"spec.os.name": ("windows",)})
_PLACES: Mapping[str, _Places] = MappingProxyType(
    {
        "allowPrivilegeEscalation": {f"{_EACH}securityContext.allowPrivilegeEscalation": _BOTH},
        "appArmorProfile": {
            **_setting("appArmorProfile.type", *sorted(APP_ARMOR_PROFILES), _UNCONFINED),
            f"metadata.annotations.{APP_ARMOR_ANNOTATION}a": (
                "runtime/default",
                "unconfined",
                "localhost/a",
            ),
        },
        "capabilities_baseline": {
            f"{_EACH}securityContext.capabilities.add[]": (
                *sorted(DEFAULT_CAPABILITIES),
                "SYS_ADMIN",
            )
        },
        "capabilities_restricted": {
            f"{_EACH}securityContext.capabilities.add[]": (
                *sorted(RESTRICTED_CAPABILITIES),
                "CHOWN",
            ),
            f"{_EACH}securityContext.capabilities.drop[]": (ALL_CAPABILITIES,),
        },
        "hostNamespaces": {f"spec.{field}": _BOTH for field in HOST_NAMESPACES},
        "hostPathVolumes": {"spec.volumes[].hostPath.path": ("/a",)},
        "hostPorts": {f"{_EACH}ports[].hostPort": (0, 80)},
        "hostProbesAndHostLifecycle": {
            f"{_EACH}{one}.{way}.host": ("a",) for one in _HANDLERS for way in HOST_HANDLERS
        },
        "privileged": {f"{_EACH}securityContext.privileged": _BOTH},
        "procMount": {f"{_EACH}securityContext.procMount": (DEFAULT_PROC_MOUNT, "Unmasked")},
        "restrictedVolumes": {
            f"spec.volumes[].{kind}": () for kind in ("emptyDir", *OTHER_VOLUMES)
        },
        "runAsNonRoot": _setting("runAsNonRoot", *_BOTH),
        "runAsUser": _setting("runAsUser", 0, 1),
        "seccompProfile_baseline": _setting(
            "seccompProfile.type", *sorted(SECCOMP_PROFILES), _UNCONFINED
        ),
        "seccompProfile_restricted": _setting("seccompProfile.type", *sorted(SECCOMP_PROFILES)),
        "windowsHostProcess": _setting("windowsOptions.hostProcess", *_BOTH),
    }
)
"""By the ids of the checks, where versions do not differ."""


def mentioned(block: Mapping[str, Json]) -> Iterator[tuple[FieldPath, tuple[Json, ...]]]:
    """Yield the ways that a block looks at, with values: those of controls, then of exclusions."""
    checks = active_checks(block.get("level") or "", block.get("version") or "") or ()
    for check in checks:
        yield from _ways(_places_of(check))
    for entry in block.get("exclude") or ():
        images = {f"{_EACH}image": tuple(entry.get("images") or ())}
        field = (entry.get("restrictedField") or "").replace("[*]", "[]")
        excluded = {field: tuple(entry.get("values") or ())} if field else {}
        yield from _ways({**images, **excluded})


def _places_of(check: ActiveCheck) -> _Places:
    """Return what a check looks at, as it is in its version of the standards."""
    allowed = tuple(sorted(check.variant.allowed))
    windows = _SYSTEM if check.variant.spares_windows else {}
    if check.id == "sysctls":
        return {"spec.securityContext.sysctls[].name": (*allowed, "a")}
    if check.id == "seLinuxOptions":
        values = {part: (*allowed, "a") if part == "type" else ("a",) for part in SELINUX_FIELDS}
        settings = (_setting(f"seLinuxOptions.{part}", *some) for part, some in values.items())
        return {field: found for one in settings for field, found in one.items()}
    return {**_PLACES[check.id], **windows}


def _ways(places: _Places) -> Iterator[tuple[FieldPath, tuple[Json, ...]]]:
    for field, values in places.items():
        if field.startswith(_EACH):
            rest = field.removeprefix(_EACH)
            yield from ((_way(f"spec.{group}[].{rest}"), values) for group in CONTAINER_FIELDS)
        else:
            yield _way(field), values


def _way(field: str) -> FieldPath:
    steps: list[str | Segment] = []
    for name in _names(field):
        steps.append(name.removesuffix("[]"))
        steps += (Segment.ELEMENT,) if name.endswith("[]") else ()
    return tuple(steps)


def _names(field: str) -> Iterable[str]:
    """Return the names in a field; behind `annotations` all is one name."""
    start, sign, key = field.partition("metadata.annotations.")
    return ("metadata", "annotations", key) if sign else start.split(".")
