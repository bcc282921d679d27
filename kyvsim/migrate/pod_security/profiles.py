"""Profiles that a Pod and its containers may set, of AppArmor and of seccomp, by their types."""

from collections.abc import Iterable

from kyvsim.migrate.expressions import (
    FALSE,
    Relation,
    Test,
    every,
)
from kyvsim.migrate.pod_security.pod import Container, Pod, read
from kyvsim.migrate.values import Value


def type_field(option: str) -> str:
    """Return the field of a profile's type, below a Pod's specification or a container."""
    return f"securityContext.{option}.type"


def allowed_types(
    pod: Pod, option: str, types: Iterable[str], spared: tuple[str, Test] = ("", FALSE)
) -> Test:
    """Return the test that no profile is of another type; `spared` is as in `Pod.containers`."""
    listed = sorted(types, reverse=True)
    field = type_field(option)

    def of_container(one: Container) -> Test:
        kind = one.setting(option, "type")
        return one.unless_excused(is_allowed(kind, pod, listed), field, read(kind.text))

    kind = pod.setting(option, "type")
    own = pod.unless_excused(is_allowed(kind, pod, listed), f"spec.{field}", read(kind.text))
    return every([own, pod.containers(of_container, spared)])


def is_allowed(kind: Value, pod: Pod, types: Iterable[str]) -> Test:
    """Return the test that a type is one of some, or that there is no profile."""
    listed = sorted(types, reverse=True)
    return Relation(kind.or_else(listed[0]), "in", pod.words("profileTypes", listed))
