"""`validate.podSecurity`: checks Pods for the Pod Security Standards, exclusions and exceptions.

Source of the rules: upstream pkg/engine/handlers/validation/validate_pss.go.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Exclusion,
    Outcome,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import KubernetesObject, Path, text_field, value_at
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.kubernetes.wildcard import compile_wildcard
from kyvsim.languages.classic.pod_security.controls import (
    ActiveCheck,
    CheckedPod,
    ForbiddenField,
    Violation,
    active_checks,
    read_pod,
)
from kyvsim.languages.classic.pod_security.go_structs import MisfitError, read_object
from kyvsim.languages.classic.rule_type import RuleContext, RuleType, validation_of
from kyvsim.model.diagnostic import listed
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.result import Phase
from kyvsim.model.tracing import traced
from kyvsim.policy.tree import PodSecurity, PodSecurityExclusion

# Exclusions: controls, or single fields and values of them, that a rule or an exception exempts.
#
# Source of the rules: upstream pkg/pss/evaluate.go.

_INDEX = re.compile(r"[0-9]+")

Violations = dict[str, Violation]


def compile_exclusions(entries: Sequence[PodSecurityExclusion]) -> tuple[Exclusion, ...]:
    """Return the exclusions of a rule's `exclude` or an exception's `podSecurity`."""

    def any_of(patterns: Sequence[str]) -> Callable[[str], bool] | None:
        tests = tuple(map(compile_wildcard, patterns))
        return (lambda text: any(test(text) for test in tests)) if tests else None

    return tuple(
        Exclusion(
            entry.control_name, any_of(entry.images), entry.restricted_field, any_of(entry.values)
        )
        for entry in entries
    )


def without_excluded(
    violations: Violations,
    exclusions: Sequence[Exclusion],
    checks: Sequence[ActiveCheck],
    pod: CheckedPod,
) -> Violations:
    """Return the remaining violations; one is removed with its last finding.

    An exempt finding is determined by checking a smaller Pod: the containers that the exclusion
    selects, or the Pod without its containers. Each finding there removes one here.
    """
    left = violations
    for exclusion in exclusions:
        concerned = [one for one in checks if one.control == exclusion.control and one.id in left]
        if not concerned:
            continue
        if (has_image := exclusion.has_image) is None:
            bare = {"containers": [{"name": "fake"}], "initContainers": []}
            spec = {**pod.spec, **bare, "ephemeralContainers": []}
            part = read_pod(pod.annotations, spec)
        else:
            meant = (one for one in pod.containers if has_image(one.data.get("image", "")))
            part = CheckedPod({}, {}, tuple(meant))
        for one in concerned:
            excused = one.check(part)
            if excused is not None:
                left = _reduced(left, one.id, excused, exclusion)
    return left


def _reduced(
    violations: Violations, check: str, excused: Violation, exclusion: Exclusion
) -> Violations:
    findings = list(violations[check].findings)
    found_any = bool(findings)

    def identity(finding: ForbiddenField) -> tuple[str, str]:
        container = finding.container if exclusion.has_image is not None else None
        return _INDEX.sub("*", finding.field), container.name if container else ""

    for one in excused.findings:
        if _is_excluded(one, exclusion):
            removed = identity(one)
            at = next((at for at, it in enumerate(findings) if identity(it) == removed), None)
            if at is not None:  # upstream moves the last one to its place
                findings[at] = findings[-1]
                findings.pop()
    if findings or not found_any:
        return {**violations, check: violations[check]._replace(findings=tuple(findings))}
    return {key: value for key, value in violations.items() if key != check}


def _is_excluded(finding: ForbiddenField, exclusion: Exclusion) -> bool:
    if exclusion.field and exclusion.field != _INDEX.sub("*", finding.field):
        return False
    value = finding.value
    if isinstance(value, bool):
        value = "true" if value else "false"
    values = value if isinstance(value, tuple) else (str(value),) if value != "" else ()
    return exclusion.has_value is None or all(map(exclusion.has_value, values))


def _unapplied(entry: PodSecurityExclusion, by: Exclusion, finding: ForbiddenField) -> str:
    """Return why an exclusion for the control does not exempt a finding, or ""."""
    container = finding.container
    image = container.data.get("image", "") if container else ""
    if container and by.has_image is None:
        return 'it is for the Pod: add `images`, such as `["*"]`, for its containers'
    if by.has_image is not None and container is None:
        if "ontainers" in finding.field:
            return ""
        return "`images` is for containers, and this is a field of the Pod: remove `images`"
    if by.has_image is not None and not by.has_image(image):
        # Other images are not meant to be exempt.
        meant = (f"*{one.strip('*')}*" for one in entry.images)
        part = next((one for one in meant if compile_wildcard(one)(image)), "")
        return part and (
            f"its images ({listed(entry.images)}) are not `{image}`: a pattern has to match the "
            f"whole image, such as `{part}`"
        )
    if by.field and by.field != _INDEX.sub("*", finding.field):
        return f"it is only for `{by.field}`, and not for `{_INDEX.sub('*', finding.field)}`"
    if not _is_excluded(finding, by):
        return f"its values are only {listed(entry.values)}"
    return ""


def _notes_on_exclusions(
    specification: PodSecurity,
    exclusions: Sequence[Exclusion],
    checks: Iterable[ActiveCheck],
    left: Violations,
) -> Iterator[str]:
    """Yield why exclusions of violated controls do not exempt what is left of them."""
    for check in checks:
        for finding in left[check.id].findings[:1]:
            for index, (entry, by) in enumerate(
                zip(specification.exclude, exclusions, strict=True)
            ):
                why = _unapplied(entry, by, finding) if by.control == check.control else ""
                if why:
                    yield f"`exclude[{index}]` ({by.control}) does not exempt this: {why}"


# The properties of violated controls in reports.
#
# Source of the rules: upstream pkg/utils/report/results.go (`addPodSecurityProperties`) and
# pkg/engine/handlers/validation/validate_pss.go (`addImages`).


def _control_properties(
    standard: tuple[str, str], violated: Sequence[ActiveCheck], found: Violations
) -> Mapping[str, str]:
    """Return the properties of a failure: level and version, the controls and their images.

    The images are those of all findings of a check, including exempt findings.
    """
    controls = []
    for one in violated:
        images: list[str] = []
        # Upstream does not search for containers in the details of some checks.
        if one.id not in {"hostPorts", "hostProbesAndHostLifecycle"}:
            for container in (finding.container for finding in found[one.id].findings):
                if container is None:
                    continue
                try:
                    images.append(parse_image(container.data.get("image", "")).reference)
                except ValueError:
                    images.append(container.name)
            images = list(dict.fromkeys(images))
        controls.append({"ID": one.id, "Name": one.control, "Images": images or None})
    level, version = standard
    return {
        "standard": level,
        "version": version,
        "controls": ",".join(one.id for one in violated),
        "controlsJSON": json.dumps(controls, separators=(",", ":"), ensure_ascii=False),
    }


_PART = re.compile(r"\[(\d+)\]|\[([^\]]*)\]|([^.\[]+)")


def _passes(checks: Sequence[ActiveCheck], found: Violations, left: Violations, kind: str) -> bool:
    """Return whether no violations are left; the other arguments are for a tracer."""
    del checks, found, kind
    return not left


def _with_controls(
    step: Step,
    passes: bool,
    checks: Sequence[ActiveCheck],
    found: Violations,
    left: Violations,
    kind: str,
) -> Step:
    """Return a step with a substep for every control: whether the Pod of an object passes it.

    `found` are the violations of the checks, `left` those that are not exempt.
    """
    controls = []
    for one in checks:
        answer = one.id not in left
        control = Step(
            StepKind.CONTROL, one.id, answer=answer, place=step.place, locate=step.locate
        )
        if (violation := found.get(one.id)) is not None:
            findings = (left.get(one.id) or violation).findings
            control = control._replace(
                note="excluded by the rule or an exception" if control.answer else violation.reason,
                steps=tuple(_finding_step(finding, kind) for finding in findings),
            )
        controls.append(control)
    return step._replace(answer=passes, steps=tuple(controls))


def _finding_step(finding: ForbiddenField, kind: str) -> Step:
    spec: Path = POD_SPEC_PATHS.get(kind, ("spec",))
    first, *rest = _PART.finditer(finding.field)
    start = spec if first[0] == "spec" else (*spec[:-1], first[0])
    value = list(finding.value) if isinstance(finding.value, tuple) else finding.value
    return Step(
        StepKind.FINDING,
        finding.field,
        found=None if finding.required or value == "" else Value(value),
        note="required" if finding.required else "forbidden",
        path=(*start, *(int(part[1]) if part[1] else part[2] or part[3] for part in rest)),
        rooted=True,
    )


_ROOTS: Mapping[str, str] = MappingProxyType({"Pod": "v1.Pod", "CronJob": "v1.CronJob"})
"""The Go types that upstream decodes kinds as; it decodes other controllers as Deployments."""
_METADATA: Mapping[str, tuple[str, ...]] = {
    "Pod": ("metadata",),
    "CronJob": ("spec", "jobTemplate", "metadata"),
}
"""The path of the Pod's metadata with annotations; upstream uses the Job's for a CronJob."""


def _compile(context: RuleContext) -> CompiledBody:
    specification = validation_of(context.rule.tree).pod_security
    # upstream ignores a body without fields
    if specification is None or not any(specification[1:]):
        return lambda _: None
    return _compile_checks(context, specification)


def _compile_checks(context: RuleContext, specification: PodSecurity) -> CompiledBody:
    level, version = specification.level, specification.version
    checks = active_checks(level, version)
    exclusions = compile_exclusions(specification.exclude)
    trace = context.trace.to(specification.path)
    passes = traced(trace, _passes, Step(StepKind.CONTROL, "all"), _with_controls)
    pass_outcome = passed(f"Validation rule '{context.rule.name}' passed.")
    own = f'It violates PodSecurity "{level}:{version}".'
    start = f"Validation rule '{context.rule.name}' failed. {own.removesuffix('.')}: "

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        if evaluation.object is None:  # a deletion, which takes precedence over exceptions
            return None
        # An exception without controls exempts the object from all.
        key = next((one.key for one in evaluation.exceptions if not one.controls), None)
        if key is not None:
            return skipped(f"rule is skipped due to policy exception {key}", (key,))
        kind = text_field(evaluation.object, "kind")
        try:
            pod = _pod(evaluation.object, kind)
        except MisfitError as error:
            return errored("Error while getting new resource", error)
        if checks is None:
            problem = 'must be "latest" or "v1.x"'
            return errored("failed to parse pod security api version", problem)
        found = {one.id: bad for one in checks if (bad := one.check(pod)) is not None}
        unexcluded = violations = without_excluded(found, exclusions, checks, pod)
        for exception in evaluation.exceptions:
            violations = without_excluded(violations, exception.controls, checks, pod)
        passes(checks, found, violations, kind)
        if not unexcluded:
            return pass_outcome
        if not violations:
            keys = tuple(exception.key for exception in evaluation.exceptions)
            return skipped(f"rule is skipped due to policy exceptions {', '.join(keys)}", keys)
        left = [one for one in checks if one.id in violations]
        message = start + "".join(_violation_text(violations[one.id], kind) for one in left)
        properties = _control_properties((level, version), left, found)
        notes = tuple(_notes_on_exclusions(specification, exclusions, left, violations))
        return failed(message, own=own)._replace(properties=properties, hints=notes)

    return evaluate


def _pod(obj: KubernetesObject, kind: str) -> CheckedPod:
    """Return the Pod of an object; raises MisfitError if it has none, or an invalid one."""
    path = POD_SPEC_PATHS.get(kind)
    if path is None:
        raise MisfitError("could not find correct resource type")
    read = read_object(obj, _ROOTS.get(kind, "v1.Deployment"))

    metadata = value_at(read, _METADATA.get(kind, ("spec", "template", "metadata"))) or {}
    return read_pod(metadata.get("annotations", {}), value_at(read, path) or {})


def _violation_text(violation: Violation, kind: str) -> str:
    findings = ", ".join(_finding_text(one, kind) for one in violation.findings)
    return f"(Forbidden reason: {violation.reason}, field error list: [{findings}])"


def _finding_text(finding: ForbiddenField, kind: str) -> str:
    # The path of a Pod's field in an object of the kind: upstream replaces every `spec` and
    # `metadata` in it, also in keys of annotations, and moves annotations to a template even for
    # Pods.
    field = finding.field
    if kind != "Pod":
        field = field.replace("spec", ".".join(POD_SPEC_PATHS[kind]))
    field = field.replace("metadata", "spec.template.metadata")
    if finding.required:
        return f"{field}: Required value"
    if finding.value == "":
        return f"{field}: Forbidden"
    value = list(finding.value) if isinstance(finding.value, tuple) else finding.value
    return f"{field} is forbidden, forbidden values found: {sprint(value)}"


RULE_TYPE = RuleType(
    ("validate", "podSecurity"), Phase.VALIDATE, _compile, exclusions=compile_exclusions
)
