"""AppArmor profiles: not unconfined, in fields and in annotations."""

from kyvsim.languages.classic.pod_security.pod import Finding, Pod, Violation, settings

ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
"""How annotations begin that name the profile of a container."""
PROFILES = frozenset(("RuntimeDefault", "Localhost"))
NAMED, LOCAL = frozenset(("", "runtime/default")), "localhost/"
"""The profiles that annotations may name, and how others begin that they may."""


def app_armor(pod: Pod) -> Violation | None:
    """Only the runtime's default profile and local ones."""
    fields = [
        Finding(f"{path}.type", profile.get("type", ""), container)
        for path, profile, container in settings(pod, "appArmorProfile")
        if profile.get("type") not in PROFILES
    ]
    annotations = [
        Finding(f"metadata.annotations[{key}]", value)
        for key, value in sorted(pod.annotations.items())
        if key.startswith(ANNOTATION) and not _is_allowed(value)
    ]
    if not fields and not annotations:
        return None
    several = len({finding.value for finding in fields}) + len(annotations) > 1
    reason = "forbidden AppArmor profiles" if several else "forbidden AppArmor profile"
    return Violation(reason, (*fields, *annotations))


def _is_allowed(profile: str) -> bool:
    return profile in NAMED or profile.startswith(LOCAL)
