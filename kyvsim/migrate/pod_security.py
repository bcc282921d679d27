"""Convert controls of the Pod Security Standards to CEL."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.pod_security import controls
from kyvsim.migrate.context import ConversionContext, NotConvertible
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
    one_line,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.patterns import CONTAINER, joined_loops
from kyvsim.migrate.scalars import like_one
from kyvsim.migrate.values import Expr
from kyvsim.model.migration import ConversionCondition
from kyvsim.policy.tree import PodSecurityExclusion

# The Pod that controls check, and the exclusions of a rule.
#
# An exclusion with images applies to containers, one without to the Pod itself. An exclusion can
# be restricted to a field and to forbidden values of it.
#
# Source of the rules: upstream pkg/pss/evaluate.go.

_WHICH_ONE = ConversionCondition(
    "exempt containers",
    "an exclusion without images exempts one of the containers, depending on the order of "
    "exclusions: the new policy takes one whose images are not excluded",
)

_Fits: TypeAlias = Callable[[Sequence[str]], Test]
"""Returns the test that all forbidden values of a field match one of some patterns."""
_Spared: TypeAlias = tuple[str, Test]
"""A field that a container may lack, and the test that this is reported for a container without
settings: an exclusion without images then exempts one container.
"""
_NOTHING: Final[_Spared] = ("", FALSE)


def _fixed(word: str) -> _Fits:
    """Return the test for a constant forbidden value."""
    return lambda patterns: TRUE if any(matches(one, word) for one in patterns) else FALSE


def _read(text: str) -> _Fits:
    """Return the function that tests an expression."""
    return lambda patterns: some(like_one(text, list(patterns)))


def _fits_any(_: Sequence[str]) -> Test:
    """Return that a missing value matches any pattern, as in upstream."""
    return TRUE


def _each(source: str, name: str, body: Test) -> Test:
    """Return the test that a condition is true for all elements of a list."""
    return TRUE if body == TRUE else Quantified(source, name, body)


def _is_of(exclusion: PodSecurityExclusion, field: str) -> bool:
    return exclusion.restricted_field in {"", field}


def _is_excluded(exclusion: PodSecurityExclusion, fits: _Fits) -> Test:
    return fits(exclusion.values) if exclusion.values else TRUE


class ContainerExpressions(NamedTuple):
    """The containers of one list."""

    value: Expr
    group: str
    exclusions: tuple[PodSecurityExclusion, ...]

    def setting(self, *steps: str) -> Expr:
        """Return a field of the security context."""
        return self.value.at("securityContext", *steps)

    def unless_excluded(self, test: Test, field: str, fits: _Fits) -> Test:
        """Return a test of a field, or whether its value is excluded for the image."""
        image = self.value.child("image").text
        found = (
            every([some(like_one(image, list(one.images))), _is_excluded(one, fits)])
            for one in self.exclusions
            if _is_of(one, f"spec.{self.group}[*].{field}")
        )
        return some([test, *found])


class PodExpressions(NamedTuple):
    """The Pod of an object."""

    context: ConversionContext
    spec: Expr
    annotations: str
    """The expression for its annotations, a map."""
    variant: controls.ControlVersion
    """The check in the version of the rule."""
    own: tuple[PodSecurityExclusion, ...]
    """Exclusions without images."""
    by_image: tuple[PodSecurityExclusion, ...]

    def setting(self, *steps: str) -> Expr:
        """Return a field of the Pod's own security context."""
        return self.spec.at("securityContext", *steps)

    def words(self, name: str, values: Iterable[str]) -> str:
        """Return the variable with the allowed strings."""
        return self.context.optional_variable(name, literal(sorted(values)))

    def unless_excluded(self, test: Test, field: str, fits: _Fits) -> Test:
        """Return a test of a field of the Pod, or whether its value is excluded."""
        return some([test, *(_is_excluded(one, fits) for one in self.own if _is_of(one, field))])

    def containers(
        self, body: Callable[[ContainerExpressions], Test], spared: _Spared = _NOTHING
    ) -> Test:
        """Return the test that `body` is true for all containers."""
        loops, apart = [], []
        for group in controls.CONTAINER_FIELDS:
            loop = self.loop(group, body)
            if loop.body == TRUE:
                continue
            if group == controls.CONTAINER_FIELDS[1] and self._spares(spared[0]):
                # All elements pass, or all but one if there is a violation.
                others = f"{loop.source}.filter({loop.name}, {one_line(opposite(loop.body))})"
                one_left = Relation(f"size({others})", "<=", "1")
                apart.append(some([loop, every([spared[1], one_left])]))
            else:
                loops.append(loop)
        return every([*apart, *joined_loops(loops, self.context)])

    def settings(
        self,
        steps: tuple[str, ...],
        test: Callable[[Expr], Test],
        fits: Callable[[Expr], _Fits],
        spared: _Spared = _NOTHING,
        *,
        of_pod: bool = True,
    ) -> Test:
        """Return the test of a setting in the security context of containers, and of the Pod."""
        field, own = f"securityContext.{'.'.join(steps)}", self.setting(*steps)

        def of_container(one: ContainerExpressions) -> Test:
            value = one.setting(*steps)
            return one.unless_excluded(test(value), field, fits(value))

        tests = [self.unless_excluded(test(own), f"spec.{field}", fits(own))] if of_pod else []
        return every([*tests, self.containers(of_container, spared)])

    def loop(
        self, group: str, body: Callable[[ContainerExpressions], Test], macro: str = "all"
    ) -> Quantified:
        """Return the loop over one list of containers, with `body` for each."""
        listed = self.spec.child(group)
        element = Expr(CONTAINER, listed.element_types, noun=group)
        test = body(ContainerExpressions(element, group, self.by_image))
        return Quantified(listed.or_else([]), CONTAINER, test, macro)

    def _spares(self, field: str) -> bool:
        """Return whether an exclusion without images applies to a field of containers."""
        spares = bool(field) and any(
            _is_of(one, f"spec.{controls.CONTAINER_FIELDS[1]}[*].{field}") for one in self.own
        )
        if spares and self.by_image:
            self.context.note(_WHICH_ONE)
        return spares


def _host_namespaces(pod: PodExpressions) -> Test:
    return every(
        pod.unless_excluded(Not(_is_set(pod.spec.child(field))), f"spec.{field}", _fixed("true"))
        for field in controls.HOST_NAMESPACES
    )


def _host_path_volumes(pod: PodExpressions) -> Test:
    volumes = pod.spec.child("volumes")
    path = Expr("volume", volumes.element_types).child("hostPath")
    test = pod.unless_excluded(
        path.is_missing(), "spec.volumes[*].hostPath", _read(f"{path.text}.path")
    )
    return _each(volumes.or_else([]), "volume", test)


def _host_ports(pod: PodExpressions) -> Test:

    def of_container(one: ContainerExpressions) -> Test:
        listed = one.value.child("ports")
        port = Expr("port", listed.element_types).child("hostPort")
        unused = Relation(port.or_else(0), "==", "0")
        test = one.unless_excluded(unused, "ports[*].hostPort", _read(f"string({port.text})"))
        return _each(listed.or_else([]), "port", test)

    return pod.containers(of_container)


def _host_probes(pod: PodExpressions) -> Test:
    """Probes and lifecycle handlers must not set a host; no exclusion applies."""

    def of_container(one: ContainerExpressions) -> Test:
        lifecycle = one.value.child("lifecycle")
        handlers = [one.value.child(name) for name in controls.PROBES]
        handlers += [lifecycle.child(name) for name in controls.LIFECYCLE]
        listed = f"[{', '.join(handler.optional for handler in handlers)}]"
        hosts = (f"handler.?{way}.?host.orValue('')" for way in controls.HOST_HANDLERS)
        return _each(listed, "handler", every(Relation(host, "==", "''") for host in hosts))

    return pod.containers(of_container)


def _sysctls(pod: PodExpressions) -> Test:
    listed = pod.setting("sysctls")
    safe = Relation("sysctl.name", "in", pod.words("safeSysctls", pod.variant.allowed))
    field = "spec.securityContext.sysctls[*].name"
    return _each(
        listed.or_else([]), "sysctl", pod.unless_excluded(safe, field, _read("sysctl.name"))
    )


def _restricted_volumes(pod: PodExpressions) -> Test:
    """Volumes of other or unknown types are forbidden."""
    listed = pod.spec.child("volumes")
    volume = Expr("volume", listed.element_types)
    kinds = pod.words("volumeTypes", controls.RESTRICTED_VOLUMES)
    allowed = Quantified(kinds, "kind", Relation("kind", "in", volume.text), "exists")
    test = pod.unless_excluded(allowed, "", _fits_any)
    excused = (
        volume.child(kind).is_there()
        for kind in controls.OTHER_VOLUMES
        if any(one.restricted_field == f"spec.volumes[*].{kind}" for one in pod.own)
    )
    return _each(listed.or_else([]), volume.text, some([test, *excused]))


_NAME = "capability"


def _capabilities_baseline(pod: PodExpressions) -> Test:
    """Only the default capabilities can be added."""
    listed = pod.words("defaultCapabilities", controls.DEFAULT_CAPABILITIES)
    return pod.containers(lambda one: _added(one, Relation(_NAME, "in", listed)))


def _capabilities_restricted(pod: PodExpressions) -> Test:
    """All capabilities must be dropped, and only a few can be added."""
    may_add = some(like_one(_NAME, sorted(controls.RESTRICTED_CAPABILITIES)))

    def of_container(one: ContainerExpressions) -> Test:
        dropped = one.setting("capabilities", "drop")
        drops_all = one.unless_excluded(
            Relation(quoted(controls.ALL_CAPABILITIES), "in", dropped.or_else([])),
            "securityContext.capabilities.drop",
            lambda patterns: _capabilities(dropped, like_one(_NAME, list(patterns))),
        )
        return every([drops_all, _added(one, may_add)])

    return pod.containers(of_container)


def _added(one: ContainerExpressions, allowed: Test) -> Test:
    added = one.setting("capabilities", "add")
    return one.unless_excluded(
        _capabilities(added, [allowed]),
        "securityContext.capabilities.add",
        lambda patterns: _capabilities(added, [allowed, *like_one(_NAME, list(patterns))]),
    )


def _capabilities(listed: Expr, allowed: Iterable[Test]) -> Test:
    return Quantified(listed.or_else([]), _NAME, some(allowed))


def _is_set(value: Expr) -> Test:
    """Return the test that a boolean exists and is true."""
    return Plain(value.or_else(False))


def _escalation(pod: PodExpressions) -> Test:
    """Every container must forbid privilege escalation."""

    def of_container(one: ContainerExpressions) -> Test:
        allowed = one.setting("allowPrivilegeEscalation")

        def fits(patterns: Sequence[str]) -> Test:
            # If only this setting is missing, its value is called `nil`.
            true, nil = (any(matches(p, word) for p in patterns) for word in ("true", "nil"))
            if true and nil:
                return TRUE
            if nil:
                return Not(_is_set(allowed))
            bare = one.setting().is_missing()
            return some([bare, _is_set(allowed)]) if true else bare

        ruled_out = Not(Plain(allowed.or_else(True)))
        return one.unless_excluded(ruled_out, "securityContext.allowPrivilegeEscalation", fits)

    return pod.containers(of_container)


_NON_ROOT = "securityContext.runAsNonRoot"


def _non_root(pod: PodExpressions) -> Test:
    """The Pod or all of its containers must forbid root, and none may allow it."""
    own = pod.setting("runAsNonRoot")
    inherited = pod.context.optional_variable("runAsNonRoot", own.or_else(False))

    def of_container(one: ContainerExpressions) -> Test:
        setting = one.setting("runAsNonRoot")

        def fits(patterns: Sequence[str]) -> Test:
            # A missing setting has no value that could be different.
            return TRUE if _fixed("false")(patterns) == TRUE else setting.is_missing()

        ruled_out = Plain(f"{setting.optional}.orValue({inherited})")
        return one.unless_excluded(ruled_out, _NON_ROOT, fits)

    of_pod = pod.unless_excluded(
        Relation(own.or_else(True), "!=", "false"), f"spec.{_NON_ROOT}", _fixed("false")
    )
    return every([of_pod, pod.containers(of_container, (_NON_ROOT, Not(Plain(inherited))))])


def _proc_mount(pod: PodExpressions) -> Test:
    usual = controls.DEFAULT_PROC_MOUNT

    def test(value: Expr) -> Test:
        return Relation(value.or_else(usual), "==", quoted(usual))

    return pod.settings(("procMount",), test, lambda value: _read(value.text), of_pod=False)


# AppArmor and seccomp profiles that a Pod and its containers can set, by type.


def _allowed_types(
    pod: PodExpressions, option: str, types: Iterable[str], spared: _Spared = _NOTHING
) -> Test:
    """Return the test that all profiles have one of some types."""

    def test(kind: Expr) -> Test:
        return is_allowed(kind, pod, types)

    return pod.settings((option, "type"), test, lambda kind: _read(kind.text), spared)


def is_allowed(kind: Expr, pod: PodExpressions, types: Iterable[str]) -> Test:
    """Return the test that a type is one of some, or that there is no profile."""
    listed = sorted(types, reverse=True)
    return Relation(kind.or_else(listed[0]), "in", pod.words("profileTypes", listed))


def _app_armor(pod: PodExpressions) -> Test:
    """Only the runtime's default profile and local ones are allowed, in fields and annotations."""
    fields = _allowed_types(pod, "appArmorProfile", controls.APP_ARMOR_PROFILES)
    for one in pod.own:
        if one.restricted_field.startswith("metadata.annotations["):
            raise NotConvertible(
                f"an exclusion of `{one.restricted_field}` cannot be converted to CEL",
                "exclude the whole control, or test the annotation in an expression by hand",
                (*one.path, "restrictedField"),
            )
    profile = f"{pod.annotations}[key]"
    allowed: list[Test] = [
        Not(Plain(f"key.startsWith({quoted(controls.APP_ARMOR_ANNOTATION)})")),
        Relation(profile, "in", literal(sorted(controls.APP_ARMOR_NAMED))),
        Plain(f"{profile}.startsWith({quoted(controls.APP_ARMOR_LOCAL)})"),
    ]
    test = pod.unless_excluded(some(allowed), "", _read(profile))
    return every([fields, _each(pod.annotations, "key", test)])


_PROFILE = "seccompProfile"


def _seccomp_restricted(pod: PodExpressions) -> Test:
    """The Pod or all of its containers must set a profile.

    Containers without one are only reported if there are no other profiles, not even excluded
    ones: with such profiles they pass.
    """
    of_pod = pod.setting(_PROFILE)
    field = f"securityContext.{_PROFILE}.type"
    found = (field, of_pod.is_missing())

    def is_given(one: ContainerExpressions) -> Test:
        return one.unless_excluded(one.setting(_PROFILE).is_there(), field, _fits_any)

    def is_other(one: ContainerExpressions) -> Test:
        return opposite(is_allowed(one.setting(_PROFILE, "type"), pod, controls.SECCOMP_PROFILES))

    given = [of_pod.is_there(), pod.containers(is_given, found)]
    if pod.own or pod.by_image:
        loops = [pod.loop(group, is_other, "exists") for group in controls.CONTAINER_FIELDS]
        given.append(some(joined_loops(loops, pod.context)))
    return every([_allowed_types(pod, _PROFILE, controls.SECCOMP_PROFILES, found), some(given)])


_OPTIONS = "seLinuxOptions"


def _se_linux_options(pod: PodExpressions) -> Test:
    """Only the allowed types, and neither user nor role, can be set."""
    types = pod.words("seLinuxTypes", {"", *pod.variant.allowed})
    field = f"securityContext.{_OPTIONS}"

    def is_allowed(part: str, value: Expr) -> Test:
        given = value.or_else("")
        return Relation(given, "in", types) if part == "type" else Relation(given, "==", "''")

    def of_pod(part: str) -> Test:
        value = pod.setting(_OPTIONS, part)
        return pod.unless_excluded(
            is_allowed(part, value), f"spec.{field}.{part}", _read(value.text)
        )

    def of_container(one: ContainerExpressions) -> Test:
        values = ((part, one.setting(_OPTIONS, part)) for part in controls.SELINUX_FIELDS)
        return every(
            one.unless_excluded(is_allowed(part, value), f"{field}.{part}", _read(value.text))
            for part, value in values
        )

    return every([*map(of_pod, controls.SELINUX_FIELDS), pod.containers(of_container)])


CONTROLS: Final[Mapping[str, Callable[[PodExpressions], Test]]] = {
    "allowPrivilegeEscalation": _escalation,
    "appArmorProfile": _app_armor,
    "capabilities_baseline": _capabilities_baseline,
    "capabilities_restricted": _capabilities_restricted,
    "hostNamespaces": _host_namespaces,
    "hostPathVolumes": _host_path_volumes,
    "hostPorts": _host_ports,
    "hostProbesAndHostLifecycle": _host_probes,
    "privileged": lambda pod: pod.settings(
        ("privileged",), lambda one: Not(_is_set(one)), lambda _: _fixed("true"), of_pod=False
    ),
    "procMount": _proc_mount,
    "restrictedVolumes": _restricted_volumes,
    "runAsNonRoot": _non_root,
    "runAsUser": lambda pod: pod.settings(
        ("runAsUser",), lambda user: Relation(user.or_else(1), "!=", "0"), lambda _: _fixed("0")
    ),
    "seLinuxOptions": _se_linux_options,
    # Rules cannot name versions of Kubernetes without fields for it, so annotations are ignored.
    "seccompProfile_baseline": lambda pod: _allowed_types(pod, _PROFILE, controls.SECCOMP_PROFILES),
    "seccompProfile_restricted": _seccomp_restricted,
    "sysctls": _sysctls,
    "windowsHostProcess": lambda pod: pod.settings(
        ("windowsOptions", "hostProcess"),
        lambda one: Not(_is_set(one)),
        lambda _: _fixed("true"),
    ),
}
"""The controls by check id."""


def control_test(check: controls.ActiveCheck, pod: PodExpressions) -> Test:
    """Return the test that a Pod meets a control; it is true if all of it is excluded."""
    test = CONTROLS[check.id](pod)
    if not check.variant.spares_windows:
        return test
    name = pod.spec.at("os", "name").or_else("")
    is_windows = pod.context.optional_variable("isWindows", f"{name} == 'windows'")
    return some([Plain(is_windows), test])
