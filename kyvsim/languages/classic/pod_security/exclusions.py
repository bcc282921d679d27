"""Exclusions: controls, or single fields and values of them, that a rule or an exception lets pass.

Source of the rules: upstream pkg/pss/evaluate.go.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from kyvsim.engine.compile.compiled import Exclusion
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import compile_wildcard
from kyvsim.languages.classic.pod_security import ActiveCheck
from kyvsim.languages.classic.pod_security.pod import Finding, Pod, Violation, read_pod

_INDEX = re.compile(r"[0-9]+")
_NO_CONTAINERS = MappingProxyType(
    {"containers": [{"name": "fake"}], "initContainers": [], "ephemeralContainers": []}
)
_NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})

Violations = dict[str, Violation]
"""Violations by the ids of their checks."""
TextTest = Callable[[str], bool]


def compile_exclusions(entries: Sequence[Mapping[str, Json]]) -> tuple[Exclusion, ...]:
    """Return the exclusions that a rule's `exclude` or an exception's `podSecurity` lists."""
    return tuple(
        Exclusion(
            entry.get("controlName", ""),
            _any_of(entry.get("images")),
            entry.get("restrictedField") or "",
            _any_of(entry.get("values")),
        )
        for entry in entries
    )


def _any_of(patterns: Sequence[str] | None) -> TextTest | None:
    if not patterns:
        return None
    tests = tuple(map(compile_wildcard, patterns))
    return lambda text: any(test(text) for test in tests)


def without_excluded(
    violations: Violations,
    exclusions: Sequence[Exclusion],
    checks: Sequence[ActiveCheck],
    pod: Pod,
) -> Violations:
    """Return what is left of the violations; one is gone when its last finding is.

    What an exclusion lets pass is found out by checking a smaller Pod: the containers that it
    means, or the Pod without its containers. Each finding there takes one away here.
    """
    left = violations
    for exclusion in exclusions:
        concerned = [one for one in checks if one.control == exclusion.control and one.id in left]
        if not concerned:
            continue
        part = _part(pod, exclusion.has_image)
        for one in concerned:
            excused = one.check(part)
            if excused is not None:
                left = _reduced(left, one.id, excused, exclusion)
    return left


def _part(pod: Pod, has_image: TextTest | None) -> Pod:
    if has_image is None:
        return read_pod(pod.annotations, {**pod.spec, **_NO_CONTAINERS})
    meant = tuple(one for one in pod.containers if has_image(one.data.get("image", "")))
    return Pod(_NO_ANNOTATIONS, {}, meant)


def _reduced(
    violations: Violations, check: str, excused: Violation, exclusion: Exclusion
) -> Violations:
    by_container = exclusion.has_image is not None
    findings = list(violations[check].findings)
    found_any = bool(findings)
    for one in excused.findings:
        if _is_excluded(one, exclusion):
            _take_away(findings, _identity(one, by_container), by_container)
    if findings or not found_any:
        return {**violations, check: violations[check]._replace(findings=tuple(findings))}
    return {key: value for key, value in violations.items() if key != check}


def _take_away(findings: list[Finding], identity: object, by_container: bool) -> None:
    """Remove the first finding of an identity; upstream puts the last one into its place."""
    for at, finding in enumerate(findings):
        if _identity(finding, by_container) == identity:
            findings[at] = findings[-1]
            findings.pop()
            return


def _identity(finding: Finding, by_container: bool) -> tuple[str, str]:
    container = finding.container if by_container else None
    return _without_indices(finding.field), container.name if container else ""


def _is_excluded(finding: Finding, exclusion: Exclusion) -> bool:
    if exclusion.field and exclusion.field != _without_indices(finding.field):
        return False
    return exclusion.has_value is None or all(map(exclusion.has_value, _values(finding)))


def _without_indices(field: str) -> str:
    return _INDEX.sub("*", field)


def _values(finding: Finding) -> tuple[str, ...]:
    value = finding.value
    if isinstance(value, tuple):
        return value
    if isinstance(value, bool):
        return ("true" if value else "false",)
    return (str(value),) if value != "" else ()
