"""`validate.podSecurity`: Pods against the Pod Security Standards, exclusions and exceptions.

Source of the rules: upstream pkg/engine/handlers/validation/validate_pss.go.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Exclusion,
    MatchedException,
    Outcome,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.kubernetes.wildcard import compile_wildcard
from kyvsim.languages.classic.pod_security.controls import (
    ActiveCheck,
    CheckedPod,
    ForbiddenField,
    PodContainer,
    Violation,
    active_checks,
    read_pod,
)
from kyvsim.languages.classic.pod_security.go_structs import MisfitError, read_object
from kyvsim.languages.classic.rule_type import (
    NOTHING_CHECKED,
    RuleContext,
    RuleType,
    autogen_rewrite,
    empty,
)
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.result import Phase
from kyvsim.model.source import Path
from kyvsim.model.tracing import TraceContext, trace_step

# Exclusions: controls, or single fields and values of them, that a rule or an exception lets
# pass.
#
# Source of the rules: upstream pkg/pss/evaluate.go.

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
    pod: CheckedPod,
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
        part = _smaller_pod(pod, exclusion.has_image)
        for one in concerned:
            excused = one.check(part)
            if excused is not None:
                left = _reduced(left, one.id, excused, exclusion)
    return left


def _smaller_pod(pod: CheckedPod, has_image: TextTest | None) -> CheckedPod:
    if has_image is None:
        return read_pod(pod.annotations, {**pod.spec, **_NO_CONTAINERS})
    meant = tuple(one for one in pod.containers if has_image(one.data.get("image", "")))
    return CheckedPod(_NO_ANNOTATIONS, {}, meant)


def _reduced(
    violations: Violations, check: str, excused: Violation, exclusion: Exclusion
) -> Violations:
    by_container = exclusion.has_image is not None
    findings = list(violations[check].findings)
    found_any = bool(findings)
    for one in excused.findings:
        if _is_excluded(one, exclusion):
            _remove_finding(findings, _identity(one, by_container), by_container)
    if findings or not found_any:
        return {**violations, check: violations[check]._replace(findings=tuple(findings))}
    return {key: value for key, value in violations.items() if key != check}


def _remove_finding(findings: list[ForbiddenField], identity: object, by_container: bool) -> None:
    """Remove the first finding of an identity; upstream puts the last one into its place."""
    for at, finding in enumerate(findings):
        if _identity(finding, by_container) == identity:
            findings[at] = findings[-1]
            findings.pop()
            return


def _identity(finding: ForbiddenField, by_container: bool) -> tuple[str, str]:
    container = finding.container if by_container else None
    return _without_indices(finding.field), container.name if container else ""


def _is_excluded(finding: ForbiddenField, exclusion: Exclusion) -> bool:
    if exclusion.field and exclusion.field != _without_indices(finding.field):
        return False
    return exclusion.has_value is None or all(map(exclusion.has_value, _values(finding)))


def _without_indices(field: str) -> str:
    return _INDEX.sub("*", field)


def _values(finding: ForbiddenField) -> tuple[str, ...]:
    value = finding.value
    if isinstance(value, tuple):
        return value
    if isinstance(value, bool):
        return ("true" if value else "false",)
    return (str(value),) if value != "" else ()


# The properties of violated controls in reports.
#
# Source of the rules: upstream pkg/utils/report/results.go (`addPodSecurityProperties`) and
# pkg/engine/handlers/validation/validate_pss.go (`addImages`).

_WITHOUT_IMAGES = frozenset({"hostPorts", "hostProbesAndHostLifecycle"})
"""Checks whose details upstream does not look for containers in."""


def control_properties(
    standard: tuple[str, str], violated: Sequence[ActiveCheck], found: Violations
) -> Mapping[str, str]:
    """Return the properties of a failure: level and version, the controls and their images.

    The images are those of all that a check found, whether or not some of it is let pass.
    """
    level, version = standard
    told = [
        {"ID": one.id, "Name": one.control, "Images": _control_images(one.id, found[one.id])}
        for one in violated
    ]
    return {
        "standard": level,
        "version": version,
        "controls": ",".join(one.id for one in violated),
        "controlsJSON": json.dumps(told, separators=(",", ":"), ensure_ascii=False),
    }


def _control_images(check: str, violation: Violation) -> list[str] | None:
    """Return the images of the containers that a violation is about, None where it names none."""
    if check in _WITHOUT_IMAGES:
        return None
    containers = (finding.container for finding in violation.findings)
    return list(dict.fromkeys(_image(one) for one in containers if one is not None)) or None


def _image(container: PodContainer) -> str:
    try:
        return parse_image(container.data.get("image", "")).reference
    except ValueError:
        return container.name


# The results of controls, for `explain`.

_PART = re.compile(r"\[(\d+)\]|\[([^\]]*)\]|([^.\[]+)")
_EXCUSED = "excluded by the rule or an exception"


def trace_controls(
    checks: tuple[ActiveCheck, ...],
    found: Violations,
    left: Violations,
    *,
    kind: str,
    trace: TraceContext,
) -> None:
    """Trace for every control whether the Pod of an object passes it.

    `found` is what the checks found, `left` what is left of it without what is let pass.
    """
    controls = tuple(_control_step(one, found, left, kind) for one in checks)
    placed = tuple(one._replace(place=trace.locate()) for one in controls)
    trace_step(trace, Step(StepKind.CONTROL, "all", answer=not left, steps=placed))


def _control_step(check: ActiveCheck, found: Violations, left: Violations, kind: str) -> Step:
    violation = found.get(check.id)
    if violation is None:
        return Step(StepKind.CONTROL, check.id, answer=True)
    passed = check.id not in left
    findings = (left.get(check.id) or violation).findings
    return Step(
        StepKind.CONTROL,
        check.id,
        answer=passed,
        note=_EXCUSED if passed else violation.reason,
        steps=tuple(_finding_step(one, kind) for one in findings),
    )


def _finding_step(finding: ForbiddenField, kind: str) -> Step:
    path = tuple(_finding_path(finding.field, kind))
    value = list(finding.value) if isinstance(finding.value, tuple) else finding.value
    return Step(
        StepKind.FINDING,
        finding.field,
        found=None if finding.required or value == "" else Value(value),
        note="required" if finding.required else "forbidden",
        path=path,
        rooted=True,
    )


def _finding_path(field: str, kind: str) -> Iterator[str | int]:
    """Yield the way to a Pod's field in an object of a kind."""
    spec: Path = POD_SPEC_PATHS.get(kind, ("spec",))
    first, *rest = _PART.finditer(field)
    yield from spec if first[0] == "spec" else (*spec[:-1], first[0])
    for part in rest:
        yield int(part[1]) if part[1] else part[2] or part[3]


_ROOTS: Mapping[str, str] = MappingProxyType({"Pod": "v1.Pod", "CronJob": "v1.CronJob"})
"""The Go types that upstream reads kinds as; it reads all other controllers as Deployments."""
_METADATA: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"Pod": ("metadata",), "CronJob": ("spec", "jobTemplate", "metadata")}
)
"""Where the Pod's annotations are looked for; upstream takes a CronJob's from its Job."""
_TEMPLATE_METADATA = ("spec", "template", "metadata")

_UNKNOWN_VERSION = errored("failed to parse pod security api version", 'must be "latest" or "v1.x"')


def compile_pod_security(context: RuleContext) -> CompiledBody:
    """Return the body of a `podSecurity` rule."""
    specification = context.rule.data["validate"]["podSecurity"]
    level, version = (specification.get(field) or "" for field in ("level", "version"))
    checks = active_checks(level, version)
    exclusions = compile_exclusions(specification.get("exclude") or ())
    trace = context.trace.at("validate", "podSecurity")
    pass_outcome = passed(f"Validation rule '{context.rule.name}' passed.")
    own = f'It violates PodSecurity "{level}:{version}".'
    start = (
        f"Validation rule '{context.rule.name}' failed."
        f' It violates PodSecurity "{level}:{version}": '
    )

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        if evaluation.object is None:  # a deletion, which comes before exceptions
            return None
        excepted = _exempt(evaluation.exceptions)
        if excepted is not None:
            return excepted
        kind = text_field(evaluation.object, "kind")
        try:
            pod = _pod(evaluation.object, kind)
        except MisfitError as error:
            return errored("Error while getting new resource", error)
        if checks is None:
            return _UNKNOWN_VERSION
        checked = ((one.id, one.check(pod)) for one in checks)
        found = {name: one for name, one in checked if one is not None}
        unexcluded = violations = without_excluded(found, exclusions, checks, pod)
        for exception in evaluation.exceptions:
            violations = without_excluded(violations, exception.controls, checks, pod)
        if trace.tracer is not None:
            trace_controls(checks, found, violations, kind=kind, trace=trace)
        if not unexcluded:
            return pass_outcome
        if not violations:
            keys = tuple(exception.key for exception in evaluation.exceptions)
            return skipped(f"rule is skipped due to policy exceptions {', '.join(keys)}", keys)
        message = start + _violations_text(violations, checks, kind)
        left = [one for one in checks if one.id in violations]
        properties = control_properties((level, version), left, found)
        return failed(message, own=own)._replace(properties=properties)

    return evaluate


def _exempt(exceptions: tuple[MatchedException, ...]) -> Outcome | None:
    """Return a skip where an exception lets everything pass, not only some controls."""
    key = next((one.key for one in exceptions if not one.controls), None)
    if key is None:
        return None
    return skipped(f"rule is skipped due to policy exception {key}", (key,))


def _pod(obj: Json, kind: str) -> CheckedPod:
    """Return the Pod of an object; raises MisfitError where it has none, or not a proper one."""
    path = POD_SPEC_PATHS.get(kind)
    if path is None:
        raise MisfitError("could not find correct resource type")
    read = read_object(obj, _ROOTS.get(kind, "v1.Deployment"))
    metadata = _at(read, _METADATA.get(kind, _TEMPLATE_METADATA))
    return read_pod(metadata.get("annotations", {}), _at(read, path))


def _at(read: Json, path: tuple[str, ...]) -> Mapping[str, Json]:
    for field in path:
        read = read.get(field, {})
    found: Mapping[str, Json] = read
    return found


def _violations_text(violations: Violations, checks: tuple[ActiveCheck, ...], kind: str) -> str:
    """Return the violations as in messages, in the order of the checks."""
    told = (violations[one.id] for one in checks if one.id in violations)
    return "".join(
        f"(Forbidden reason: {one.reason}, field error list:"
        f" [{', '.join(_finding_text(finding, kind) for finding in one.findings)}])"
        for one in told
    )


def _finding_text(finding: ForbiddenField, kind: str) -> str:
    field = _field_of_kind(finding.field, kind)
    if finding.required:
        return f"{field}: Required value"
    if finding.value == "":
        return f"{field}: Forbidden"
    value = list(finding.value) if isinstance(finding.value, tuple) else finding.value
    return f"{field} is forbidden, forbidden values found: {sprint(value)}"


def _field_of_kind(field: str, kind: str) -> str:
    """Return a Pod's field as it is called in an object of a kind.

    Upstream replaces every `spec` and `metadata` in it, also in the keys of annotations, and puts
    annotations into a template even for Pods.
    """
    if kind != "Pod":
        field = field.replace("spec", ".".join(POD_SPEC_PATHS[kind]))
    return field.replace("metadata", "spec.template.metadata")


def _compile(context: RuleContext) -> CompiledBody:
    # upstream takes a body without fields for none at all
    has_fields = context.rule.data["validate"]["podSecurity"]
    return compile_pod_security(context) if has_fields else lambda _: None


RULE_TYPE = RuleType(
    ("validate", "podSecurity"),
    Phase.VALIDATE,
    _compile,
    autogen_rewrite("podSecurity"),
    no_effect=empty({}, "podSecurity", NOTHING_CHECKED),
    exclusions=compile_exclusions,
)
