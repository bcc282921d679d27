"""The Pod Security Standards: which checks there are, and which hold at a level and a version.

Source of the rules: upstream's fork of k8s.io/pod-security-admission, package policy; the names of
controls are those of pkg/pss/utils/mapping.go.
"""

import re
from typing import NamedTuple

from kyvsim.languages.classic.pod_security import (
    app_armor,
    capabilities,
    host,
    privileges,
    seccomp,
    users,
    volumes,
)
from kyvsim.languages.classic.pod_security.pod import PodCheck, unless_windows
from kyvsim.languages.classic.pod_security.selinux import selinux
from kyvsim.languages.classic.pod_security.sysctls import sysctls

_LATEST = 1 << 62
"""A minor version after all others."""
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]{0,17})")

_SELINUX_TYPES = frozenset(("container_t", "container_init_t", "container_kvm_t"))
_SYSCTLS = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    )
)
_SYSCTLS_27 = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29 = _SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_32 = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


class Variant(NamedTuple):
    """A check as it is from some version of Kubernetes on."""

    since: int
    """The minor version."""
    run: PodCheck
    allowed: frozenset[str] = frozenset()
    """The values that are safe, where they are not the same in all versions."""
    spares_windows: bool = False
    """Whether Pods for Windows pass."""

    @property
    def check(self) -> PodCheck:
        """The check."""
        return unless_windows(self.run) if self.spares_windows else self.run


class Control(NamedTuple):
    """One check through the versions of Kubernetes."""

    id: str
    level: str
    name: str
    """The name by which rules exclude it; "" where they cannot."""
    variants: tuple[Variant, ...]
    """In the order of versions; the first holds before its own, too."""


def _selinux(since: int, types: frozenset[str]) -> Variant:
    return Variant(since, selinux(types), types)


def _sysctls(since: int, names: frozenset[str]) -> Variant:
    return Variant(since, sysctls(names), names)


CONTROLS = (
    Control(
        "allowPrivilegeEscalation",
        "restricted",
        "Privilege Escalation",
        (
            Variant(8, privileges.escalation),
            Variant(25, privileges.escalation, spares_windows=True),
        ),
    ),
    Control("appArmorProfile", "baseline", "AppArmor", (Variant(0, app_armor.app_armor),)),
    Control(
        "capabilities_baseline", "baseline", "Capabilities", (Variant(0, capabilities.baseline),)
    ),
    Control(
        "capabilities_restricted",
        "restricted",
        "Capabilities",
        (
            Variant(22, capabilities.restricted),
            Variant(25, capabilities.restricted, spares_windows=True),
        ),
    ),
    Control("hostNamespaces", "baseline", "Host Namespaces", (Variant(0, host.namespaces),)),
    Control("hostPathVolumes", "baseline", "HostPath Volumes", (Variant(0, host.path_volumes),)),
    Control("hostPorts", "baseline", "Host Ports", (Variant(0, host.ports),)),
    Control("hostProbesAndHostLifecycle", "baseline", "", (Variant(34, host.probes),)),
    Control(
        "privileged", "baseline", "Privileged Containers", (Variant(0, privileges.privileged),)
    ),
    Control("procMount", "baseline", "/proc Mount Type", (Variant(0, privileges.proc_mount),)),
    Control("restrictedVolumes", "restricted", "Volume Types", (Variant(0, volumes.restricted),)),
    Control("runAsNonRoot", "restricted", "Running as Non-root", (Variant(0, users.non_root),)),
    Control("runAsUser", "restricted", "Running as Non-root user", (Variant(23, users.root_user),)),
    Control(
        "seLinuxOptions",
        "baseline",
        "SELinux",
        (
            _selinux(0, _SELINUX_TYPES),
            _selinux(31, _SELINUX_TYPES | {"container_engine_t"}),
        ),
    ),
    Control(
        "seccompProfile_baseline",
        "baseline",
        "Seccomp",
        (Variant(0, seccomp.annotations), Variant(19, seccomp.baseline)),
    ),
    Control(
        "seccompProfile_restricted",
        "restricted",
        "Seccomp",
        (Variant(19, seccomp.restricted), Variant(25, seccomp.restricted, spares_windows=True)),
    ),
    Control(
        "sysctls",
        "baseline",
        "Sysctls",
        (
            _sysctls(0, _SYSCTLS),
            _sysctls(27, _SYSCTLS_27),
            _sysctls(29, _SYSCTLS_29),
            _sysctls(32, _SYSCTLS_32),
        ),
    ),
    Control(
        "windowsHostProcess",
        "baseline",
        "HostProcess",
        (Variant(0, privileges.windows_host_process),),
    ),
)
"""In the order in which messages tell them."""


class ActiveCheck(NamedTuple):
    """A control as it holds at one level and version."""

    id: str
    control: str
    check: PodCheck
    variant: Variant


def active_checks(level: str, version: str) -> tuple[ActiveCheck, ...] | None:
    """Return the checks of a level (all but those of `restricted` for `baseline`) at a version.

    `version` is `v1.N`, `latest` or ""; None comes back where it is something else.
    """
    minor = _minor(version)
    if minor is None:
        return None
    chosen = ((one, _variant(one, minor)) for one in CONTROLS)
    return tuple(
        ActiveCheck(one.id, one.name, variant.check, variant)
        for one, variant in chosen
        if level != "baseline" or one.level == level
    )


def _minor(version: str) -> int | None:
    if version in {"", "latest"}:
        return _LATEST
    found = _VERSION.fullmatch(version)
    return int(found[1]) if found else None


def _variant(control: Control, minor: int) -> Variant:
    """Return the newest variant that holds; upstream takes the first where none does."""
    holding = [one for one in control.variants if one.since <= minor]
    return holding[-1] if holding else control.variants[0]
