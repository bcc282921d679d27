"""AppArmor profiles: not unconfined, in fields and in annotations."""

from kyvsim.languages.classic.pod_security.app_armor import ANNOTATION, LOCAL, NAMED, PROFILES
from kyvsim.migrate.expressions import (
    Not,
    Plain,
    Relation,
    Test,
    every,
    literal,
    quoted,
    some,
)
from kyvsim.migrate.pod_security.pod import Pod, each, read
from kyvsim.migrate.pod_security.profiles import allowed_types
from kyvsim.migrate.refusal import NotConvertible

_ANNOTATIONS = "metadata.annotations["


def app_armor(pod: Pod) -> Test:
    """Only the runtime's default profile and local ones."""
    return every([allowed_types(pod, "appArmorProfile", PROFILES), _annotations(pod)])


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
        Not(Plain(f"key.startsWith({quoted(ANNOTATION)})")),
        Relation(profile, "in", literal(sorted(NAMED))),
        Plain(f"{profile}.startsWith({quoted(LOCAL)})"),
    ]
    return each(pod.annotations, "key", pod.unless_excused(some(allowed), "", read(profile)))
