"""Privileges of containers: capabilities, users, privileged mode, escalation."""

from collections.abc import Iterable, Sequence

from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.pod_security.controls import (
    ALL_CAPABILITIES,
    DEFAULT_CAPABILITIES,
    DEFAULT_PROC_MOUNT,
    RESTRICTED_CAPABILITIES,
)
from kyvsim.migrate.expressions import TRUE, Each, Not, Plain, Relation, Test, every, quoted, some
from kyvsim.migrate.pod_security.pod import Container, Pod, fixed, read
from kyvsim.migrate.scalars import like_one
from kyvsim.migrate.values import Value

# Linux capabilities that containers add and drop.

_NAME = "capability"


def baseline(pod: Pod) -> Test:
    """No more than the default set may be added."""
    listed = pod.words("defaultCapabilities", DEFAULT_CAPABILITIES)
    return pod.containers(lambda one: _added(one, Relation(_NAME, "in", listed)))


def restricted(pod: Pod) -> Test:
    """All must be dropped, and only a few may be added."""
    may_add = some(like_one(_NAME, sorted(RESTRICTED_CAPABILITIES)))
    return pod.containers(lambda one: every([_dropped(one), _added(one, may_add)]))


def _added(one: Container, allowed: Test) -> Test:
    added = one.setting("capabilities", "add")
    return one.unless_excused(
        _each(added, [allowed]),
        "securityContext.capabilities.add",
        lambda patterns: _each(added, [allowed, *like_one(_NAME, list(patterns))]),
    )


def _dropped(one: Container) -> Test:
    dropped = one.setting("capabilities", "drop")
    return one.unless_excused(
        Relation(quoted(ALL_CAPABILITIES), "in", dropped.or_else([])),
        "securityContext.capabilities.drop",
        lambda patterns: _each(dropped, like_one(_NAME, list(patterns))),
    )


def _each(listed: Value, allowed: Iterable[Test]) -> Test:
    return Each(listed.or_else([]), _NAME, some(allowed))


# Privileges of containers: privileged mode, escalation, masks of /proc, Windows host processes.


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
        usual = Relation(masks.or_else(DEFAULT_PROC_MOUNT), "==", quoted(DEFAULT_PROC_MOUNT))
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


# Users that containers run as: not root.

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
