"""Linux capabilities that containers add and drop."""

from kyvsim.languages.classic.pod_security.pod import Container, Finding, Pod, Violation, violation

DEFAULT = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
"""What the baseline level lets be added."""
MAY_ADD = frozenset(("NET_BIND_SERVICE",))
"""What the restricted level does."""
ALL = "ALL"


def baseline(pod: Pod) -> Violation | None:
    """No more than the default set may be added."""
    return violation("non-default capabilities", _added(pod, DEFAULT))


def restricted(pod: Pod) -> Violation | None:
    """All must be dropped, and only NET_BIND_SERVICE may be added."""
    kept = [found for one in pod.containers if (found := _not_dropped(one)) is not None]
    added = _added(pod, MAY_ADD)
    return violation("unrestricted capabilities", [*kept, *added])


def _added(pod: Pod, allowed: frozenset[str]) -> list[Finding]:
    findings = []
    for container in pod.containers:
        added = set(_listed(container, "add")) - allowed
        if added:
            findings.append(Finding(_path(container, "add"), tuple(sorted(added)), container))
    return findings


def _not_dropped(container: Container) -> Finding | None:
    dropped = _listed(container, "drop")
    if ALL in dropped:
        return None
    path = _path(container, "drop")
    if not dropped:
        return Finding(path, container=container, required=True)
    return Finding(path, tuple(sorted(set(dropped))), container)


def _listed(container: Container, action: str) -> tuple[str, ...]:
    capabilities = (container.security or {}).get("capabilities") or {}
    return tuple(capabilities.get(action, ()))


def _path(container: Container, action: str) -> str:
    return f"{container.path}.securityContext.capabilities.{action}"
