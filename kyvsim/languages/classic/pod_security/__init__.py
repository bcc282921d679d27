"""The Pod Security Standards: which checks there are, and which hold at a level and a version.

Source of the rules: upstream's fork of k8s.io/pod-security-admission, package policy; the names of
controls are those of pkg/pss/utils/mapping.go.
"""

import re

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
from kyvsim.light.named_tuple import NamedTuple

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


class Control(NamedTuple):
    """One check through the versions of Kubernetes."""

    id: str
    level: str
    name: str
    """The name by which rules exclude it; "" where they cannot."""
    variants: tuple[tuple[int, PodCheck], ...]
    """Each with the minor version from which it holds; the first holds before that, too."""


CONTROLS = (
    Control(
        "allowPrivilegeEscalation",
        "restricted",
        "Privilege Escalation",
        ((8, privileges.escalation), (25, unless_windows(privileges.escalation))),
    ),
    Control("appArmorProfile", "baseline", "AppArmor", ((0, app_armor.app_armor),)),
    Control("capabilities_baseline", "baseline", "Capabilities", ((0, capabilities.baseline),)),
    Control(
        "capabilities_restricted",
        "restricted",
        "Capabilities",
        ((22, capabilities.restricted), (25, unless_windows(capabilities.restricted))),
    ),
    Control("hostNamespaces", "baseline", "Host Namespaces", ((0, host.namespaces),)),
    Control("hostPathVolumes", "baseline", "HostPath Volumes", ((0, host.path_volumes),)),
    Control("hostPorts", "baseline", "Host Ports", ((0, host.ports),)),
    Control("hostProbesAndHostLifecycle", "baseline", "", ((34, host.probes),)),
    Control("privileged", "baseline", "Privileged Containers", ((0, privileges.privileged),)),
    Control("procMount", "baseline", "/proc Mount Type", ((0, privileges.proc_mount),)),
    Control("restrictedVolumes", "restricted", "Volume Types", ((0, volumes.restricted),)),
    Control("runAsNonRoot", "restricted", "Running as Non-root", ((0, users.non_root),)),
    Control("runAsUser", "restricted", "Running as Non-root user", ((23, users.root_user),)),
    Control(
        "seLinuxOptions",
        "baseline",
        "SELinux",
        (
            (0, selinux(_SELINUX_TYPES)),
            (31, selinux(_SELINUX_TYPES | {"container_engine_t"})),
        ),
    ),
    Control(
        "seccompProfile_baseline",
        "baseline",
        "Seccomp",
        ((0, seccomp.annotations), (19, seccomp.baseline)),
    ),
    Control(
        "seccompProfile_restricted",
        "restricted",
        "Seccomp",
        ((19, seccomp.restricted), (25, unless_windows(seccomp.restricted))),
    ),
    Control(
        "sysctls",
        "baseline",
        "Sysctls",
        (
            (0, sysctls(_SYSCTLS)),
            (27, sysctls(_SYSCTLS_27)),
            (29, sysctls(_SYSCTLS_29)),
            (32, sysctls(_SYSCTLS_32)),
        ),
    ),
    Control(
        "windowsHostProcess", "baseline", "HostProcess", ((0, privileges.windows_host_process),)
    ),
)
"""In the order in which messages tell them."""


class ActiveCheck(NamedTuple):
    """A control as it holds at one level and version."""

    id: str
    control: str
    check: PodCheck


def active_checks(level: str, version: str) -> tuple[ActiveCheck, ...] | None:
    """Return the checks of a level (all but those of `restricted` for `baseline`) at a version.

    `version` is `v1.N`, `latest` or ""; None comes back where it is something else.
    """
    minor = _minor(version)
    if minor is None:
        return None
    return tuple(
        ActiveCheck(one.id, one.name, _variant(one, minor))
        for one in CONTROLS
        if level != "baseline" or one.level == level
    )


def _minor(version: str) -> int | None:
    if version in {"", "latest"}:
        return _LATEST
    found = _VERSION.fullmatch(version)
    return int(found[1]) if found else None


def _variant(control: Control, minor: int) -> PodCheck:
    """Return the newest variant that holds; upstream takes the first where none does."""
    _, chosen = control.variants[0]
    for start, check in control.variants:
        if start <= minor:
            chosen = check
    return chosen
