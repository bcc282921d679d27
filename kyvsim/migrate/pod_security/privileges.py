"""Privileges of containers: privileged mode, escalation, masks of /proc, Windows host processes."""

from collections.abc import Sequence

from kyvsim.kube.wildcard import matches
from kyvsim.languages.classic.pod_security.privileges import DEFAULT_MASKS
from kyvsim.migrate.expressions import TRUE, Not, Plain, Relation, Test, every, quoted, some
from kyvsim.migrate.pod_security.pod import Container, Pod, fixed, read
from kyvsim.migrate.values import Value


def is_set(value: Value) -> Test:
    """Return the test that a switch is there and on."""
    return Plain(value.or_else(False))


def privileged(pod: Pod) -> Test:
    """No privileged containers."""

    def of_container(one: Container) -> Test:
        off = Not(is_set(one.setting("privileged")))
        return one.unless_excused(off, "securityContext.privileged", fixed("true"))

    return pod.containers(of_container)


def proc_mount(pod: Pod) -> Test:
    """The default masks of /proc."""

    def of_container(one: Container) -> Test:
        masks = one.setting("procMount")
        usual = Relation(masks.or_else(DEFAULT_MASKS), "==", quoted(DEFAULT_MASKS))
        return one.unless_excused(usual, "securityContext.procMount", read(masks.text))

    return pod.containers(of_container)


def windows_host_process(pod: Pod) -> Test:
    """No processes of the Windows host."""
    steps = ("windowsOptions", "hostProcess")
    field = f"securityContext.{'.'.join(steps)}"

    def of_container(one: Container) -> Test:
        return one.unless_excused(Not(is_set(one.setting(*steps))), field, fixed("true"))

    off = Not(is_set(pod.setting(*steps)))
    own = pod.unless_excused(off, f"spec.{field}", fixed("true"))
    return every([own, pod.containers(of_container)])


def escalation(pod: Pod) -> Test:
    """Escalation must be ruled out in every container."""

    def of_container(one: Container) -> Test:
        allowed = one.setting("allowPrivilegeEscalation")

        def fits(patterns: Sequence[str]) -> Test:
            # What is missing beside other settings has a name of its own: `nil`.
            true, nil = (any(matches(p, word) for p in patterns) for word in ("true", "nil"))
            if true and nil:
                return TRUE
            if nil:
                return Not(is_set(allowed))
            bare = one.setting().is_missing()
            return some([bare, is_set(allowed)]) if true else bare

        ruled_out = Not(Plain(allowed.or_else(True)))
        return one.unless_excused(ruled_out, "securityContext.allowPrivilegeEscalation", fits)

    return pod.containers(of_container)
