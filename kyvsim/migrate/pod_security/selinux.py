"""SELinux options: types for containers only, no user and no role."""

from kyvsim.languages.classic.pod_security.selinux import PARTS
from kyvsim.migrate.expressions import Relation, Test, every
from kyvsim.migrate.pod_security.pod import Container, Pod, read
from kyvsim.migrate.values import Value

_OPTIONS = "seLinuxOptions"


def selinux(pod: Pod) -> Test:
    """No types but those that are allowed, no user and no role."""
    types = pod.words("seLinuxTypes", {"", *pod.variant.allowed})

    def is_allowed(part: str, value: Value) -> Test:
        given = value.or_else("")
        return Relation(given, "in", types) if part == "type" else Relation(given, "==", "''")

    def of_pod(part: str) -> Test:
        value = pod.setting(_OPTIONS, part)
        return pod.unless_excused(is_allowed(part, value), f"spec.{_field(part)}", read(value.text))

    def of_container(one: Container) -> Test:
        values = ((part, one.setting(_OPTIONS, part)) for part in PARTS)
        return every(
            one.unless_excused(is_allowed(part, value), _field(part), read(value.text))
            for part, value in values
        )

    return every([*map(of_pod, PARTS), pod.containers(of_container)])


def _field(part: str) -> str:
    return f"securityContext.{_OPTIONS}.{part}"
