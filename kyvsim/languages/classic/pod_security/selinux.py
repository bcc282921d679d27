"""SELinux options: types for containers only, no user and no role."""

from kyvsim.languages.classic.pod_security.pod import (
    Finding,
    Pod,
    PodCheck,
    Violation,
    settings,
    violation,
)

PARTS = ("type", "user", "role")


def selinux(types: frozenset[str]) -> PodCheck:
    """Return the check that allows these types."""

    def check(pod: Pod) -> Violation | None:
        findings = [
            Finding(f"{path}.{part}", options[part], container)
            for path, options, container in settings(pod, "seLinuxOptions")
            for part in PARTS
            if options.get(part) and not (part == "type" and options[part] in types)
        ]
        return violation("seLinuxOptions", findings)

    return check
