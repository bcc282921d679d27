"""The controls of the Pod Security Standards, and which apply at a level and a version.

Source of the rules: upstream's fork of k8s.io/pod-security-admission, package policy; the names of
controls are those of pkg/pss/utils/mapping.go.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json

CONTAINER_FIELDS = ("initContainers", "containers", "ephemeralContainers")


class PodContainer(NamedTuple):
    """One container of any group."""

    path: str
    """Its path, such as `spec.containers[0]`."""
    name: str
    data: Mapping[str, Json]
    security: Mapping[str, Json] | None


class CheckedPod(NamedTuple):
    """A Pod, or the Pod template of a controller."""

    annotations: Mapping[str, str]
    spec: Mapping[str, Json]
    containers: tuple[PodContainer, ...]

    @property
    def security(self) -> Mapping[str, Json]:
        """The Pod's own security context; empty if it has none."""
        found: Mapping[str, object] = self.spec.get("securityContext") or {}
        return found


class ForbiddenField(NamedTuple):
    """A field that violates a check."""

    field: str
    value: str | bool | int | tuple[str, ...] = ""
    """The forbidden value; "" if none is reported."""
    container: PodContainer | None = None
    required: bool = False
    """Whether the field is missing rather than forbidden."""


class Violation(NamedTuple):
    """The result of a check that a Pod fails."""

    reason: str
    findings: tuple[ForbiddenField, ...]


PodCheck: TypeAlias = Callable[[CheckedPod], Violation | None]


def read_pod(annotations: Mapping[str, str], spec: Mapping[str, Json]) -> CheckedPod:
    """Return a Pod's annotations and spec, decoded as Go does, for the checks."""
    containers = tuple(
        PodContainer(f"spec.{group}[{at}]", one.get("name", ""), one, one.get("securityContext"))
        for group in CONTAINER_FIELDS
        for at, one in enumerate(spec.get(group, ()))
    )
    return CheckedPod(annotations, spec, containers)


def _violates(
    reason: str,
) -> Callable[[Callable[[CheckedPod], Iterable[ForbiddenField]]], PodCheck]:
    """Return a decorator for functions that yield violating fields; a Pod with any fails."""

    def make(find: Callable[[CheckedPod], Iterable[ForbiddenField]]) -> PodCheck:
        def check(pod: CheckedPod) -> Violation | None:
            findings = tuple(find(pod))
            return Violation(reason, findings) if findings else None

        return check

    return make


def settings(
    pod: CheckedPod, option: str
) -> Iterator[tuple[str, Mapping[str, Json], PodContainer | None]]:
    """Yield path, content and container of a map in the security contexts, the Pod's own first."""
    own = pod.security.get(option)
    if own is not None:
        yield f"spec.securityContext.{option}", own, None
    for container in pod.containers:
        found = container.security.get(option) if container.security else None
        if found is not None:
            yield f"{container.path}.securityContext.{option}", found, container


APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
"""The prefix of annotations with the AppArmor profile of a container."""
APP_ARMOR_PROFILES = frozenset(("RuntimeDefault", "Localhost"))
APP_ARMOR_NAMED, APP_ARMOR_LOCAL = frozenset(("", "runtime/default")), "localhost/"
"""The profiles that annotations may have, and the prefix of other permitted ones."""


def app_armor(pod: CheckedPod) -> Violation | None:
    """Only the runtime's default profile and local profiles are allowed."""
    fields = [
        ForbiddenField(f"{path}.type", profile.get("type", ""), container)
        for path, profile, container in settings(pod, "appArmorProfile")
        if profile.get("type") not in APP_ARMOR_PROFILES
    ]
    annotations = [
        ForbiddenField(f"metadata.annotations[{key}]", value)
        for key, value in sorted(pod.annotations.items())
        if key.startswith(APP_ARMOR_ANNOTATION)
        and value not in APP_ARMOR_NAMED
        and not value.startswith(APP_ARMOR_LOCAL)
    ]
    if not fields and not annotations:
        return None
    several = len({finding.value for finding in fields}) + len(annotations) > 1
    reason = "forbidden AppArmor profiles" if several else "forbidden AppArmor profile"
    return Violation(reason, (*fields, *annotations))


DEFAULT_CAPABILITIES = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
    "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip
"""The capabilities that the baseline level allows to add."""
RESTRICTED_CAPABILITIES = frozenset(("NET_BIND_SERVICE",))
ALL_CAPABILITIES = "ALL"


@_violates("non-default capabilities")
def capabilities_baseline(pod: CheckedPod) -> Iterable[ForbiddenField]:
    """Only capabilities of the default set may be added."""
    return _added(pod, DEFAULT_CAPABILITIES)


@_violates("unrestricted capabilities")
def capabilities_restricted(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """All must be dropped, and only NET_BIND_SERVICE may be added."""
    for container in pod.containers:
        dropped = _listed(container, "drop")
        if ALL_CAPABILITIES not in dropped:
            path, values = _path(container, "drop"), tuple(sorted(set(dropped)))
            yield ForbiddenField(path, values or "", container, required=not values)
    yield from _added(pod, RESTRICTED_CAPABILITIES)


def _added(pod: CheckedPod, allowed: frozenset[str]) -> list[ForbiddenField]:
    return [
        ForbiddenField(_path(container, "add"), tuple(sorted(added)), container)
        for container in pod.containers
        if (added := set(_listed(container, "add")) - allowed)
    ]


def _listed(container: PodContainer, action: str) -> tuple[str, ...]:
    capabilities = (container.security or {}).get("capabilities") or {}
    return tuple(capabilities.get(action, ()))


def _path(container: PodContainer, action: str) -> str:
    return f"{container.path}.securityContext.capabilities.{action}"


HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
LIFECYCLE = ("postStart", "preStop")
HOST_HANDLERS = ("httpGet", "tcpSocket")
"""The handler fields that may contain a host."""


@_violates("host namespaces")
def host_namespaces(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """No namespaces of the node may be used."""
    for field in HOST_NAMESPACES:
        if pod.spec.get(field):
            yield ForbiddenField(f"spec.{field}", value=True)


@_violates("hostPath volumes")
def host_path_volumes(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """No hostPath volumes may be used."""
    for at, volume in enumerate(pod.spec.get("volumes", ())):
        if "hostPath" in volume:
            path = volume["hostPath"].get("path", "")
            yield ForbiddenField(f"spec.volumes[{at}].hostPath", path)


@_violates("hostPort")
def host_ports(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """No ports of the node may be used."""
    for container in pod.containers:
        for at, port in enumerate(container.data.get("ports", ())):
            if port.get("hostPort"):
                path = f"{container.path}.ports[{at}].hostPort"
                yield ForbiddenField(path, int(port["hostPort"]), container)


def host_probes(pod: CheckedPod) -> Violation | None:
    """Probes and lifecycle handlers must not set `host`; the field is not reported."""
    for container in pod.containers:
        lifecycle = container.data.get("lifecycle", {})
        handlers = [container.data.get(name) for name in PROBES]
        handlers += [lifecycle.get(name) for name in LIFECYCLE]
        for handler in filter(None, handlers):
            if any(handler.get(kind, {}).get("host") for kind in HOST_HANDLERS):
                return Violation("probe or lifecycle host", ())
    return None


DEFAULT_PROC_MOUNT = "Default"


@_violates("privileged")
def privileged(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """No container may be privileged."""
    for one in pod.containers:
        if one.security and one.security.get("privileged"):
            yield ForbiddenField(f"{one.path}.securityContext.privileged", True, one)


@_violates("procMount")
def proc_mount(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """/proc must have the default masks."""
    for one in pod.containers:
        found = (one.security or {}).get("procMount", DEFAULT_PROC_MOUNT)
        if found != DEFAULT_PROC_MOUNT:
            yield ForbiddenField(f"{one.path}.securityContext.procMount", found, one)


@_violates("hostProcess")
def windows_host_process(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """No Windows HostProcess containers are allowed."""
    for path, options, container in settings(pod, "windowsOptions"):
        if options.get("hostProcess"):
            yield ForbiddenField(f"{path}.hostProcess", True, container)


@_violates("allowPrivilegeEscalation != false")
def privilege_escalation(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """Every container must disable privilege escalation."""
    for container in pod.containers:
        path = f"{container.path}.securityContext.allowPrivilegeEscalation"
        if container.security is None:
            yield ForbiddenField(path, container=container, required=True)
        elif allowed := container.security.get("allowPrivilegeEscalation", "nil"):
            yield ForbiddenField(path, allowed, container)


SECCOMP_PROFILES = frozenset(("RuntimeDefault", "Localhost"))


@_violates("seccompProfile")
def seccomp_annotations(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """Annotations, used before Kubernetes 1.19, must not name another profile."""
    container_key = "container.seccomp.security.alpha.kubernetes.io/"
    keys = (container_key + container.name for container in pod.containers)
    for key in ("seccomp.security.alpha.kubernetes.io/pod", *keys):
        profile = pod.annotations.get(key, "localhost/")
        is_known = profile in {"runtime/default", "docker/default"}
        if not is_known and not profile.startswith("localhost/"):
            yield ForbiddenField(f"metadata.annotations[{key}]", profile)


@_violates("seccompProfile")
def seccomp_restricted(pod: CheckedPod) -> Iterable[ForbiddenField]:
    """The Pod or all of its containers set a profile; containers without one are reported last."""
    findings = _bad_profiles(pod)
    if findings or "seccompProfile" in pod.security:
        return findings
    return [
        ForbiddenField(
            f"{one.path}.securityContext.seccompProfile.type", container=one, required=True
        )
        for one in pod.containers
        if "seccompProfile" not in (one.security or {})
    ]


def _bad_profiles(pod: CheckedPod) -> list[ForbiddenField]:
    return [
        ForbiddenField(f"{path}.type", profile.get("type", ""), container)
        for path, profile, container in settings(pod, "seccompProfile")
        if profile.get("type") not in SECCOMP_PROFILES
    ]


SELINUX_FIELDS = ("type", "user", "role")


def selinux(types: frozenset[str]) -> PodCheck:
    """Return the check that allows these types for containers, but no user and no role."""

    @_violates("seLinuxOptions")
    def check(pod: CheckedPod) -> Iterator[ForbiddenField]:
        for path, options, container in settings(pod, "seLinuxOptions"):
            for part in SELINUX_FIELDS:
                if options.get(part) and not (part == "type" and options[part] in types):
                    yield ForbiddenField(f"{path}.{part}", options[part], container)

    return check


def sysctls(safe: frozenset[str]) -> PodCheck:
    """Return the check that allows these sysctls, which are namespaced per Pod."""

    @_violates("forbidden sysctls")
    def check(pod: CheckedPod) -> Iterator[ForbiddenField]:
        for at, sysctl in enumerate(pod.security.get("sysctls", ())):
            if sysctl.get("name") not in safe:
                place = f"spec.securityContext.sysctls[{at}].name"
                yield ForbiddenField(place, sysctl.get("name", ""))

    return check


@_violates("runAsNonRoot != true")
def run_as_non_root(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """The Pod or all of its containers must set runAsNonRoot; none may set it to false."""
    inherited, silent = pod.security.get("runAsNonRoot"), []
    if inherited is False:
        yield ForbiddenField("spec.securityContext.runAsNonRoot", value=False)
    for container in pod.containers:
        path = f"{container.path}.securityContext.runAsNonRoot"
        own = (container.security or {}).get("runAsNonRoot")
        if own is False:
            yield ForbiddenField(path, value=False, container=container)
        elif own is None and not inherited:
            silent.append(ForbiddenField(path, container=container, required=True))
    yield from silent


@_violates("runAsUser=0")
def run_as_user(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """The user must not be 0."""
    if pod.security.get("runAsUser") == 0:
        yield ForbiddenField("spec.securityContext.runAsUser", 0)
    for one in pod.containers:
        if (one.security or {}).get("runAsUser") == 0:
            yield ForbiddenField(f"{one.path}.securityContext.runAsUser", 0, one)


RESTRICTED_VOLUMES = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
    "projected", "secret",
))  # fmt: skip
OTHER_VOLUMES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs",
    "rbd", "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume",
    "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO", "storageos",
)  # fmt: skip
"""The first of them that a volume has is reported."""


@_violates("restricted volume types")
def restricted_volumes(pod: CheckedPod) -> Iterator[ForbiddenField]:
    """Volumes of other types, or without a type, are not allowed."""
    for at, volume in enumerate(pod.spec.get("volumes", ())):
        if RESTRICTED_VOLUMES.isdisjoint(volume):
            kind = next((one for one in OTHER_VOLUMES if one in volume), "unknown")
            yield ForbiddenField(f"spec.volumes[{at}].{kind}")


_LATEST = 1 << 62
"""A minor version after all others."""
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]{0,17})")

_SELINUX_TYPES = frozenset(("container_t", "container_init_t", "container_kvm_t"))
_SELINUX_TYPES_31 = _SELINUX_TYPES | {"container_engine_t"}
_SYSCTLS = frozenset((
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
))  # fmt: skip
_SYSCTLS_27 = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29 = _SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_32 = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


class ControlVersion(NamedTuple):
    """A check as it applies since a version of Kubernetes."""

    run: PodCheck
    since: int = 0
    allowed: frozenset[str] = frozenset()
    """The allowed values, if they differ between versions."""
    spares_windows: bool = False
    """Whether Windows Pods are exempt."""

    @property
    def check(self) -> PodCheck:
        """The check."""
        if not self.spares_windows:
            return self.run
        return lambda pod: (
            None if (pod.spec.get("os") or {}).get("name") == "windows" else self.run(pod)
        )


class Control(NamedTuple):
    """One check with all its versions."""

    id: str
    level: str
    name: str
    """The name that rules use to exclude it; "" if they cannot."""
    variants: tuple[ControlVersion, ...]
    """In the order of versions; the first one also applies to earlier versions."""


def _control(key: str, level: str, name: str, *variants: ControlVersion | PodCheck) -> Control:
    """Return a control; a variant without a version applies to all versions."""
    every = (one if isinstance(one, ControlVersion) else ControlVersion(one) for one in variants)
    return Control(key, level, name, tuple(every))


CONTROLS = (
    _control(
        "allowPrivilegeEscalation",
        "restricted",
        "Privilege Escalation",
        ControlVersion(privilege_escalation, 8),
        ControlVersion(privilege_escalation, 25, spares_windows=True),
    ),
    _control("appArmorProfile", "baseline", "AppArmor", app_armor),
    _control("capabilities_baseline", "baseline", "Capabilities", capabilities_baseline),
    _control(
        "capabilities_restricted",
        "restricted",
        "Capabilities",
        ControlVersion(capabilities_restricted, 22),
        ControlVersion(capabilities_restricted, 25, spares_windows=True),
    ),
    _control("hostNamespaces", "baseline", "Host Namespaces", host_namespaces),
    _control("hostPathVolumes", "baseline", "HostPath Volumes", host_path_volumes),
    _control("hostPorts", "baseline", "Host Ports", host_ports),
    _control("hostProbesAndHostLifecycle", "baseline", "", ControlVersion(host_probes, 34)),
    _control("privileged", "baseline", "Privileged Containers", privileged),
    _control("procMount", "baseline", "/proc Mount Type", proc_mount),
    _control("restrictedVolumes", "restricted", "Volume Types", restricted_volumes),
    _control("runAsNonRoot", "restricted", "Running as Non-root", run_as_non_root),
    _control(
        "runAsUser", "restricted", "Running as Non-root user", ControlVersion(run_as_user, 23)
    ),
    _control(
        "seLinuxOptions",
        "baseline",
        "SELinux",
        ControlVersion(selinux(_SELINUX_TYPES), allowed=_SELINUX_TYPES),
        ControlVersion(selinux(_SELINUX_TYPES_31), 31, _SELINUX_TYPES_31),
    ),
    _control(
        "seccompProfile_baseline",
        "baseline",
        "Seccomp",
        seccomp_annotations,
        ControlVersion(_violates("seccompProfile")(_bad_profiles), 19),
    ),
    _control(
        "seccompProfile_restricted",
        "restricted",
        "Seccomp",
        ControlVersion(seccomp_restricted, 19),
        ControlVersion(seccomp_restricted, 25, spares_windows=True),
    ),
    _control(
        "sysctls",
        "baseline",
        "Sysctls",
        ControlVersion(sysctls(_SYSCTLS), allowed=_SYSCTLS),
        ControlVersion(sysctls(_SYSCTLS_27), 27, _SYSCTLS_27),
        ControlVersion(sysctls(_SYSCTLS_29), 29, _SYSCTLS_29),
        ControlVersion(sysctls(_SYSCTLS_32), 32, _SYSCTLS_32),
    ),
    _control("windowsHostProcess", "baseline", "HostProcess", windows_host_process),
)


class ActiveCheck(NamedTuple):
    """A control as it applies at one level and version."""

    id: str
    control: str
    check: PodCheck
    variant: ControlVersion


def active_checks(level: str, version: str) -> tuple[ActiveCheck, ...] | None:
    """Return the checks of a level (all but those of `restricted` for `baseline`) at a version.

    `version` is `v1.N`, `latest` or ""; the result is None for any other text.
    """
    found = _VERSION.fullmatch(version)
    if found is None and version not in {"", "latest"}:
        return None
    minor = int(found[1]) if found else _LATEST
    active = []
    for one in CONTROLS:
        if level != "baseline" or one.level == level:
            # The newest applicable variant; upstream uses the first if none applies.
            holding = [variant for variant in one.variants if variant.since <= minor]
            variant = holding[-1] if holding else one.variants[0]
            active.append(ActiveCheck(one.id, one.name, variant.check, variant))
    return tuple(active)
