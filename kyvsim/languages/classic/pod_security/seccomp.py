"""Seccomp profiles: not unconfined."""

from kyvsim.languages.classic.pod_security.pod import Finding, Pod, Violation, settings, violation

_REASON = "seccompProfile"
PROFILES = frozenset(("RuntimeDefault", "Localhost"))
_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_OF_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


def annotations(pod: Pod) -> Violation | None:
    """Annotations of Kubernetes before 1.19 name no other profile."""
    keys = [_OF_POD, *(_OF_CONTAINER + container.name for container in pod.containers)]
    findings = [
        Finding(f"metadata.annotations[{key}]", pod.annotations[key])
        for key in keys
        if key in pod.annotations and not _is_allowed(pod.annotations[key])
    ]
    return violation(_REASON, findings)


def _is_allowed(profile: str) -> bool:
    return profile in {"runtime/default", "docker/default"} or profile.startswith("localhost/")


def baseline(pod: Pod) -> Violation | None:
    """No other profile is set."""
    return violation(_REASON, _bad_profiles(pod))


def restricted(pod: Pod) -> Violation | None:
    """The Pod or all of its containers set a profile; containers that do not are told last."""
    return violation(_REASON, _bad_profiles(pod) or _without_profile(pod))


def _bad_profiles(pod: Pod) -> list[Finding]:
    return [
        Finding(f"{path}.type", profile.get("type", ""), container)
        for path, profile, container in settings(pod, _REASON)
        if profile.get("type") not in PROFILES
    ]


def _without_profile(pod: Pod) -> list[Finding]:
    if _REASON in pod.security:
        return []
    return [
        Finding(f"{one.path}.securityContext.{_REASON}.type", container=one, required=True)
        for one in pod.containers
        if _REASON not in (one.security or {})
    ]
