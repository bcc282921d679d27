"""Privileges of containers: privileged mode, escalation, masks of /proc, Windows host processes."""

from kyvsim.languages.classic.pod_security.pod import (
    Container,
    Finding,
    Pod,
    Violation,
    settings,
    violation,
)

DEFAULT_MASKS = "Default"


def privileged(pod: Pod) -> Violation | None:
    """No privileged containers."""
    findings = [
        Finding(f"{container.path}.securityContext.privileged", True, container)
        for container in pod.containers
        if container.security and container.security.get("privileged")
    ]
    return violation("privileged", findings)


def proc_mount(pod: Pod) -> Violation | None:
    """The default masks of /proc."""
    findings = [
        Finding(f"{container.path}.securityContext.procMount", found, container)
        for container in pod.containers
        if (found := (container.security or {}).get("procMount", DEFAULT_MASKS)) != DEFAULT_MASKS
    ]
    return violation("procMount", findings)


def windows_host_process(pod: Pod) -> Violation | None:
    """No processes of the Windows host."""
    findings = [
        Finding(f"{path}.hostProcess", True, container)
        for path, options, container in settings(pod, "windowsOptions")
        if options.get("hostProcess")
    ]
    return violation("hostProcess", findings)


def escalation(pod: Pod) -> Violation | None:
    """Escalation must be ruled out in every container."""
    findings = [found for one in pod.containers if (found := _escalation(one)) is not None]
    return violation("allowPrivilegeEscalation != false", findings)


def _escalation(container: Container) -> Finding | None:
    path = f"{container.path}.securityContext.allowPrivilegeEscalation"
    if container.security is None:
        return Finding(path, container=container, required=True)
    allowed = container.security.get("allowPrivilegeEscalation", "nil")
    return Finding(path, allowed, container) if allowed else None
