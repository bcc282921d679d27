"""Security profiles and options: AppArmor, seccomp, SELinux."""

from collections.abc import Iterable

from kyvsim.languages.classic.pod_security.controls import (
    APP_ARMOR_ANNOTATION,
    APP_ARMOR_LOCAL,
    APP_ARMOR_NAMED,
    APP_ARMOR_PROFILES,
    SECCOMP_PROFILES,
    SELINUX_FIELDS,
)
from kyvsim.migrate.expressions import (
    FALSE,
    Not,
    Plain,
    Relation,
    Test,
    every,
    literal,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.pod_security.pod import Container, Pod, each, nothing, read
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value

# Profiles that a Pod and its containers may set, of AppArmor and of seccomp, by their types.


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


# AppArmor profiles: not unconfined, in fields and in annotations.

_ANNOTATIONS = "metadata.annotations["


def app_armor(pod: Pod) -> Test:
    """Only the runtime's default profile and local ones."""
    return every([allowed_types(pod, "appArmorProfile", APP_ARMOR_PROFILES), _annotations(pod)])


def _annotations(pod: Pod) -> Test:
    for one in pod.own:
        if one.field.startswith(_ANNOTATIONS):
            raise NotConvertible(
                f"an exclusion of `{one.field}` has no twin in CEL",
                "exclude the control as a whole, or test the annotation in an expression by hand",
                ("exclude", one.place, "restrictedField"),
            )
    profile = f"{pod.annotations}[key]"
    allowed: list[Test] = [
        Not(Plain(f"key.startsWith({quoted(APP_ARMOR_ANNOTATION)})")),
        Relation(profile, "in", literal(sorted(APP_ARMOR_NAMED))),
        Plain(f"{profile}.startsWith({quoted(APP_ARMOR_LOCAL)})"),
    ]
    return each(pod.annotations, "key", pod.unless_excused(some(allowed), "", read(profile)))


# Seccomp profiles: not unconfined.

_PROFILE = "seccompProfile"


def baseline(pod: Pod) -> Test:
    """No other profile is set; rules name no version before Kubernetes had fields for it."""
    return allowed_types(pod, _PROFILE, SECCOMP_PROFILES)


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
        return opposite(is_allowed(one.setting(_PROFILE, "type"), pod, SECCOMP_PROFILES))

    given = [of_pod.is_there(), pod.containers(is_given, found)]
    if pod.own or pod.by_image:
        given.append(pod.some_container(is_other))
    return every([allowed_types(pod, _PROFILE, SECCOMP_PROFILES, found), some(given)])


# SELinux options: types for containers only, no user and no role.

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
        values = ((part, one.setting(_OPTIONS, part)) for part in SELINUX_FIELDS)
        return every(
            one.unless_excused(is_allowed(part, value), _field(part), read(value.text))
            for part, value in values
        )

    return every([*map(of_pod, SELINUX_FIELDS), pod.containers(of_container)])


def _field(part: str) -> str:
    return f"securityContext.{_OPTIONS}.{part}"
