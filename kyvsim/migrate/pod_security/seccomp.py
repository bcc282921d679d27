"""Seccomp profiles: not unconfined."""

from kyvsim.languages.classic.pod_security.seccomp import PROFILES
from kyvsim.migrate.expressions import Test, every, opposite, some
from kyvsim.migrate.pod_security.pod import Container, Pod, nothing
from kyvsim.migrate.pod_security.profiles import allowed_types, is_allowed, type_field

_PROFILE = "seccompProfile"


def baseline(pod: Pod) -> Test:
    """No other profile is set; rules name no version before Kubernetes had fields for it."""
    return allowed_types(pod, _PROFILE, PROFILES)


def restricted(pod: Pod) -> Test:
    """The Pod or all of its containers set a profile.

    Containers without one are found only where there are no other profiles, not even excluded
    ones: so these let pass what is found later.
    """
    of_pod = pod.setting(_PROFILE)
    field = type_field(_PROFILE)
    found = (field, of_pod.is_missing())

    def is_given(one: Container) -> Test:
        return one.unless_excused(one.setting(_PROFILE).is_there(), field, nothing)

    def is_other(one: Container) -> Test:
        return opposite(is_allowed(one.setting(_PROFILE, "type"), pod, PROFILES))

    given = [of_pod.is_there(), pod.containers(is_given, found)]
    if pod.own or pod.by_image:
        given.append(pod.some_container(is_other))
    return every([allowed_types(pod, _PROFILE, PROFILES, found), some(given)])
