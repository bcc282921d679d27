"""Users that containers run as: not root."""

from collections.abc import Sequence

from kyvsim.migrate.expressions import TRUE, Not, Plain, Relation, Test, every
from kyvsim.migrate.pod_security.pod import Container, Pod, fixed
from kyvsim.migrate.values import Value

_NON_ROOT = "securityContext.runAsNonRoot"
_USER = "securityContext.runAsUser"


def non_root(pod: Pod) -> Test:
    """The Pod or all of its containers must rule out root, and none may allow it."""
    own = pod.setting("runAsNonRoot")
    inherited = pod.desk.offer("runAsNonRoot", own.or_else(False))

    def of_container(one: Container) -> Test:
        setting = one.setting("runAsNonRoot")

        def fits(patterns: Sequence[str]) -> Test:
            # What says nothing has no value that could be another one.
            return TRUE if fixed("false")(patterns) == TRUE else setting.is_missing()

        ruled_out = Plain(f"{setting.optional}.orValue({inherited})")
        return one.unless_excused(ruled_out, _NON_ROOT, fits)

    of_pod = pod.unless_excused(
        Relation(own.or_else(True), "!=", "false"), f"spec.{_NON_ROOT}", fixed("false")
    )
    return every([of_pod, pod.containers(of_container, (_NON_ROOT, Not(Plain(inherited))))])


def root_user(pod: Pod) -> Test:
    """The user 0 may not be set."""
    of_pod = pod.unless_excused(_is_no_root(pod.setting("runAsUser")), f"spec.{_USER}", fixed("0"))
    of_containers = pod.containers(
        lambda one: one.unless_excused(_is_no_root(one.setting("runAsUser")), _USER, fixed("0"))
    )
    return every([of_pod, of_containers])


def _is_no_root(user: Value) -> Test:
    return Relation(user.or_else(1), "!=", "0")
