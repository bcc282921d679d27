"""Kernel parameters: only those that a Pod has for itself."""

from kyvsim.languages.classic.pod_security.pod import Finding, Pod, PodCheck, Violation, violation


def sysctls(safe: frozenset[str]) -> PodCheck:
    """Return the check that allows these parameters."""

    def check(pod: Pod) -> Violation | None:
        findings = [
            Finding(f"spec.securityContext.sysctls[{at}].name", sysctl.get("name", ""))
            for at, sysctl in enumerate(pod.security.get("sysctls", ()))
            if sysctl.get("name") not in safe
        ]
        return violation("forbidden sysctls", findings)

    return check
