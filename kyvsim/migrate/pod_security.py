"""Controls of the Pod Security Standards → CEL."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.pod_security.controls import (
    ALL_CAPABILITIES,
    APP_ARMOR_ANNOTATION,
    APP_ARMOR_LOCAL,
    APP_ARMOR_NAMED,
    APP_ARMOR_PROFILES,
    DEFAULT_CAPABILITIES,
    DEFAULT_PROC_MOUNT,
    HOST_HANDLERS,
    HOST_NAMESPACES,
    LIFECYCLE,
    OTHER_VOLUMES,
    PROBES,
    RESTRICTED_CAPABILITIES,
    RESTRICTED_VOLUMES,
    SECCOMP_PROFILES,
    SELINUX_FIELDS,
    ActiveCheck,
)
from kyvsim.migrate.context import NotConvertible
from kyvsim.migrate.expressions import (
    FALSE,
    TRUE,
    Not,
    Plain,
    Quantified,
    Relation,
    Test,
    every,
    literal,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.pods import (
    ContainerExpressions,
    Fits,
    PodExpressions,
    each,
    fixed,
    nothing,
    read,
)
from kyvsim.migrate.scalars import like_one
from kyvsim.migrate.values import Expr, element_of


def everywhere(
    pod: PodExpressions,
    steps: tuple[str, ...],
    test: Callable[[Expr], Test],
    fits: Callable[[Expr], Fits],
    spared: tuple[str, Test] = ("", FALSE),
) -> Test:
    """Return the test of a setting in the security context of the Pod and of its containers.

    `spared` is as in `PodExpressions.containers`.
    """
    field = f"securityContext.{'.'.join(steps)}"
    own = pod.setting(*steps)

    def of_container(one: ContainerExpressions) -> Test:
        value = one.setting(*steps)
        return one.unless_excluded(test(value), field, fits(value))

    of_pod = pod.unless_excluded(test(own), f"spec.{field}", fits(own))
    return every([of_pod, pod.containers(of_container, spared)])


# What the node shares: namespaces, ports, paths, and hosts that probes call.


def host_namespaces(pod: PodExpressions) -> Test:
    """No namespaces of the node."""
    return every(
        pod.unless_excluded(Not(is_set(pod.spec.child(field))), f"spec.{field}", fixed("true"))
        for field in HOST_NAMESPACES
    )


def host_path_volumes(pod: PodExpressions) -> Test:
    """No paths of the node as volumes."""
    volumes = pod.spec.child("volumes")
    path = Expr("volume", element_of(volumes.types)).child("hostPath")
    test = pod.unless_excluded(
        path.is_missing(), "spec.volumes[*].hostPath", read(f"{path.text}.path")
    )
    return each(volumes.or_else([]), "volume", test)


def host_ports(pod: PodExpressions) -> Test:
    """No ports of the node."""

    def of_container(one: ContainerExpressions) -> Test:
        listed = one.value.child("ports")
        port = Expr("port", element_of(listed.types)).child("hostPort")
        unused = Relation(port.or_else(0), "==", "0")
        test = one.unless_excluded(unused, "ports[*].hostPort", read(f"string({port.text})"))
        return each(listed.or_else([]), "port", test)

    return pod.containers(of_container)


def host_probes(pod: PodExpressions) -> Test:
    """Probes and lifecycle handlers name no host; no exclusion is about this."""

    def of_container(one: ContainerExpressions) -> Test:
        lifecycle = one.value.child("lifecycle")
        handlers = [one.value.child(name) for name in PROBES]
        handlers += [lifecycle.child(name) for name in LIFECYCLE]
        listed = f"[{', '.join(handler.optional for handler in handlers)}]"
        hosts = (f"handler.?{way}.?host.orValue('')" for way in HOST_HANDLERS)
        return each(listed, "handler", every(Relation(host, "==", "''") for host in hosts))

    return pod.containers(of_container)


# Kernel parameters: only those that a Pod has for itself.


def sysctls(pod: PodExpressions) -> Test:
    """No parameters but the safe ones."""
    listed = pod.setting("sysctls")
    safe = Relation("sysctl.name", "in", pod.words("safeSysctls", pod.variant.allowed))
    field = "spec.securityContext.sysctls[*].name"
    return each(listed.or_else([]), "sysctl", pod.unless_excluded(safe, field, read("sysctl.name")))


# Volumes of the kinds that a restricted Pod may have.


def restricted_volumes(pod: PodExpressions) -> Test:
    """No volumes of other kinds, nor of no kind."""
    listed = pod.spec.child("volumes")
    volume = Expr("volume", element_of(listed.types))
    kinds = pod.words("volumeTypes", RESTRICTED_VOLUMES)
    allowed = Quantified(kinds, "kind", Relation("kind", "in", volume.text), "exists")
    test = pod.unless_excluded(allowed, "", nothing)
    excused = (
        volume.child(kind).is_there()
        for kind in OTHER_VOLUMES
        if any(one.field == f"spec.volumes[*].{kind}" for one in pod.own)
    )
    return each(listed.or_else([]), volume.text, some([test, *excused]))


# Linux capabilities that containers add and drop.

_NAME = "capability"


def capabilities_baseline(pod: PodExpressions) -> Test:
    """No more than the default set may be added."""
    listed = pod.words("defaultCapabilities", DEFAULT_CAPABILITIES)
    return pod.containers(lambda one: _added(one, Relation(_NAME, "in", listed)))


def capabilities_restricted(pod: PodExpressions) -> Test:
    """All must be dropped, and only a few may be added."""
    may_add = some(like_one(_NAME, sorted(RESTRICTED_CAPABILITIES)))
    return pod.containers(lambda one: every([_dropped(one), _added(one, may_add)]))


def _added(one: ContainerExpressions, allowed: Test) -> Test:
    added = one.setting("capabilities", "add")
    return one.unless_excluded(
        _each(added, [allowed]),
        "securityContext.capabilities.add",
        lambda patterns: _each(added, [allowed, *like_one(_NAME, list(patterns))]),
    )


def _dropped(one: ContainerExpressions) -> Test:
    dropped = one.setting("capabilities", "drop")
    return one.unless_excluded(
        Relation(quoted(ALL_CAPABILITIES), "in", dropped.or_else([])),
        "securityContext.capabilities.drop",
        lambda patterns: _each(dropped, like_one(_NAME, list(patterns))),
    )


def _each(listed: Expr, allowed: Iterable[Test]) -> Test:
    return Quantified(listed.or_else([]), _NAME, some(allowed))


# Privileges of containers: privileged mode, escalation, masks of /proc, Windows host processes.


def is_set(value: Expr) -> Test:
    """Return the test that a switch is there and on."""
    return Plain(value.or_else(False))


def privileged(pod: PodExpressions) -> Test:
    """No privileged containers."""
    return pod.containers(
        lambda one: one.unless_excluded(
            Not(is_set(one.setting("privileged"))), "securityContext.privileged", fixed("true")
        )
    )


def proc_mount(pod: PodExpressions) -> Test:
    """The default masks of /proc."""

    def of_container(one: ContainerExpressions) -> Test:
        masks = one.setting("procMount")
        usual = Relation(masks.or_else(DEFAULT_PROC_MOUNT), "==", quoted(DEFAULT_PROC_MOUNT))
        return one.unless_excluded(usual, "securityContext.procMount", read(masks.text))

    return pod.containers(of_container)


def windows_host_process(pod: PodExpressions) -> Test:
    """No processes of the Windows host."""
    steps = ("windowsOptions", "hostProcess")
    return everywhere(pod, steps, lambda one: Not(is_set(one)), lambda _: fixed("true"))


def escalation(pod: PodExpressions) -> Test:
    """Escalation must be ruled out in every container."""

    def of_container(one: ContainerExpressions) -> Test:
        allowed = one.setting("allowPrivilegeEscalation")

        def fits(patterns: Sequence[str]) -> Test:
            # The missing setting beside other settings is called `nil`.
            true, nil = (any(matches(p, word) for p in patterns) for word in ("true", "nil"))
            if true and nil:
                return TRUE
            if nil:
                return Not(is_set(allowed))
            bare = one.setting().is_missing()
            return some([bare, is_set(allowed)]) if true else bare

        ruled_out = Not(Plain(allowed.or_else(True)))
        return one.unless_excluded(ruled_out, "securityContext.allowPrivilegeEscalation", fits)

    return pod.containers(of_container)


# Users that containers run as: not root.

_NON_ROOT = "securityContext.runAsNonRoot"


def non_root(pod: PodExpressions) -> Test:
    """The Pod or all of its containers must rule out root, and none may allow it."""
    own = pod.setting("runAsNonRoot")
    inherited = pod.context.optional_variable("runAsNonRoot", own.or_else(False))

    def of_container(one: ContainerExpressions) -> Test:
        setting = one.setting("runAsNonRoot")

        def fits(patterns: Sequence[str]) -> Test:
            # A missing setting has no value that could differ.
            return TRUE if fixed("false")(patterns) == TRUE else setting.is_missing()

        ruled_out = Plain(f"{setting.optional}.orValue({inherited})")
        return one.unless_excluded(ruled_out, _NON_ROOT, fits)

    of_pod = pod.unless_excluded(
        Relation(own.or_else(True), "!=", "false"), f"spec.{_NON_ROOT}", fixed("false")
    )
    return every([of_pod, pod.containers(of_container, (_NON_ROOT, Not(Plain(inherited))))])


def root_user(pod: PodExpressions) -> Test:
    """The user 0 may not be set."""
    return everywhere(
        pod,
        ("runAsUser",),
        lambda user: Relation(user.or_else(1), "!=", "0"),
        lambda _: fixed("0"),
    )


# Profiles that a Pod and its containers may set, of AppArmor and of seccomp, by their types.


def type_field(option: str) -> str:
    """Return the field of a profile's type, below a Pod's specification or a container."""
    return f"securityContext.{option}.type"


def allowed_types(
    pod: PodExpressions, option: str, types: Iterable[str], spared: tuple[str, Test] = ("", FALSE)
) -> Test:
    """Return the test that all profiles are of some types.

    `spared` is as in `PodExpressions.containers`.
    """
    return everywhere(
        pod,
        (option, "type"),
        lambda kind: is_allowed(kind, pod, types),
        lambda kind: read(kind.text),
        spared,
    )


def is_allowed(kind: Expr, pod: PodExpressions, types: Iterable[str]) -> Test:
    """Return the test that a type is one of some, or that there is no profile."""
    listed = sorted(types, reverse=True)
    return Relation(kind.or_else(listed[0]), "in", pod.words("profileTypes", listed))


# AppArmor profiles: not unconfined, in fields and in annotations.

_ANNOTATIONS = "metadata.annotations["


def app_armor(pod: PodExpressions) -> Test:
    """Only the runtime's default profile and local ones."""
    return every([allowed_types(pod, "appArmorProfile", APP_ARMOR_PROFILES), _annotations(pod)])


def _annotations(pod: PodExpressions) -> Test:
    for one in pod.own:
        if one.field.startswith(_ANNOTATIONS):
            raise NotConvertible(
                f"an exclusion of `{one.field}` cannot be converted to CEL",
                "exclude the whole control, or test the annotation in an expression by hand",
                ("exclude", one.place, "restrictedField"),
            )
    profile = f"{pod.annotations}[key]"
    allowed: list[Test] = [
        Not(Plain(f"key.startsWith({quoted(APP_ARMOR_ANNOTATION)})")),
        Relation(profile, "in", literal(sorted(APP_ARMOR_NAMED))),
        Plain(f"{profile}.startsWith({quoted(APP_ARMOR_LOCAL)})"),
    ]
    return each(pod.annotations, "key", pod.unless_excluded(some(allowed), "", read(profile)))


# Seccomp profiles: not unconfined.

_PROFILE = "seccompProfile"


def seccomp_baseline(pod: PodExpressions) -> Test:
    """No other profile is set; rules name no version before Kubernetes had fields for it."""
    return allowed_types(pod, _PROFILE, SECCOMP_PROFILES)


def seccomp_restricted(pod: PodExpressions) -> Test:
    """The Pod or all of its containers set a profile.

    Containers without one are found only where there are no other profiles, not even excluded
    ones: so these let pass what is found later.
    """
    of_pod = pod.setting(_PROFILE)
    field = type_field(_PROFILE)
    found = (field, of_pod.is_missing())

    def is_given(one: ContainerExpressions) -> Test:
        return one.unless_excluded(one.setting(_PROFILE).is_there(), field, nothing)

    def is_other(one: ContainerExpressions) -> Test:
        return opposite(is_allowed(one.setting(_PROFILE, "type"), pod, SECCOMP_PROFILES))

    given = [of_pod.is_there(), pod.containers(is_given, found)]
    if pod.own or pod.by_image:
        given.append(pod.some_container(is_other))
    return every([allowed_types(pod, _PROFILE, SECCOMP_PROFILES, found), some(given)])


# SELinux options: types for containers only, no user and no role.

_OPTIONS = "seLinuxOptions"


def se_linux_options(pod: PodExpressions) -> Test:
    """No types but those that are allowed, no user and no role."""
    types = pod.words("seLinuxTypes", {"", *pod.variant.allowed})

    def is_allowed(part: str, value: Expr) -> Test:
        given = value.or_else("")
        return Relation(given, "in", types) if part == "type" else Relation(given, "==", "''")

    def of_pod(part: str) -> Test:
        value = pod.setting(_OPTIONS, part)
        return pod.unless_excluded(
            is_allowed(part, value), f"spec.{_field(part)}", read(value.text)
        )

    def of_container(one: ContainerExpressions) -> Test:
        values = ((part, one.setting(_OPTIONS, part)) for part in SELINUX_FIELDS)
        return every(
            one.unless_excluded(is_allowed(part, value), _field(part), read(value.text))
            for part, value in values
        )

    return every([*map(of_pod, SELINUX_FIELDS), pod.containers(of_container)])


def _field(part: str) -> str:
    return f"securityContext.{_OPTIONS}.{part}"


# Controls of the Pod Security Standards → tests.
#
# The controls, and the values that they allow, are those of
# `kyvsim.languages.classic.pod_security`.

_Emit: TypeAlias = Callable[[PodExpressions], Test]

CONTROLS: Final[Mapping[str, _Emit]] = MappingProxyType(
    {
        "allowPrivilegeEscalation": escalation,
        "appArmorProfile": app_armor,
        "capabilities_baseline": capabilities_baseline,
        "capabilities_restricted": capabilities_restricted,
        "hostNamespaces": host_namespaces,
        "hostPathVolumes": host_path_volumes,
        "hostPorts": host_ports,
        "hostProbesAndHostLifecycle": host_probes,
        "privileged": privileged,
        "procMount": proc_mount,
        "restrictedVolumes": restricted_volumes,
        "runAsNonRoot": non_root,
        "runAsUser": root_user,
        "seLinuxOptions": se_linux_options,
        "seccompProfile_baseline": seccomp_baseline,
        "seccompProfile_restricted": seccomp_restricted,
        "sysctls": sysctls,
        "windowsHostProcess": windows_host_process,
    }
)
"""By the ids of the checks."""


def control_test(check: ActiveCheck, pod: PodExpressions) -> Test:
    """Return the test that a Pod keeps a control; it is true where all of it is let pass.

    Raises NotConvertible for an exclusion that cannot be converted.
    """
    test = CONTROLS[check.id](pod)
    if not check.variant.spares_windows:
        return test
    return some([Plain(pod.is_windows()), test])
