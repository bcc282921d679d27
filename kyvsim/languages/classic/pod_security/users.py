"""Users that containers run as: not root."""

from collections.abc import Mapping

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.pod_security.pod import Container, Finding, Pod, Violation, violation


def non_root(pod: Pod) -> Violation | None:
    """The Pod or all of its containers must rule out root, and none may allow it."""
    inherited = pod.security.get("runAsNonRoot")
    allowing, silent = [], []
    if inherited is False:
        allowing.append(Finding("spec.securityContext.runAsNonRoot", value=False))
    for container in pod.containers:
        path = f"{container.path}.securityContext.runAsNonRoot"
        own = (container.security or {}).get("runAsNonRoot")
        if own is False:
            allowing.append(Finding(path, value=False, container=container))
        elif own is None and not inherited:
            silent.append(Finding(path, container=container, required=True))
    return violation("runAsNonRoot != true", allowing + silent)


def root_user(pod: Pod) -> Violation | None:
    """The user 0 may not be set."""
    findings = _root("spec", pod.security, None)
    for container in pod.containers:
        findings += _root(container.path, container.security or {}, container)
    return violation("runAsUser=0", findings)


def _root(path: str, security: Mapping[str, Json], container: Container | None) -> list[Finding]:
    is_root = security.get("runAsUser") == 0
    return [Finding(f"{path}.securityContext.runAsUser", 0, container)] if is_root else []
