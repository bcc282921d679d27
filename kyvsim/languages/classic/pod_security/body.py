"""Rules on Pod security: the Pod of an object against the checks, exclusions and exceptions.

Source of the rules: upstream pkg/engine/handlers/validation/validate_pss.go.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    MatchedException,
    Outcome,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.languages.classic.pod_security import ActiveCheck, active_checks, followed
from kyvsim.languages.classic.pod_security.exclusions import (
    Violations,
    compile_exclusions,
    without_excluded,
)
from kyvsim.languages.classic.pod_security.pod import Finding, Pod, read_pod
from kyvsim.languages.classic.pod_security.properties import told_controls
from kyvsim.languages.classic.pod_security.reading import MisfitError, read_object
from kyvsim.languages.classic.rule_type import RuleContext

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
    probe = context.probe.at("validate", "podSecurity")
    pass_outcome = passed(f"Validation rule '{context.rule.name}' passed.")
    own = f'It violates PodSecurity "{level}:{version}".'
    start = (
        f"Validation rule '{context.rule.name}' failed."
        f' It violates PodSecurity "{level}:{version}": '
    )

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        if evaluation.object is None:  # a deletion, which is asked before exceptions are
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
        found = _violations(checks, pod)
        unexcluded = violations = without_excluded(found, exclusions, checks, pod)
        for exception in evaluation.exceptions:
            violations = without_excluded(violations, exception.controls, checks, pod)
        if probe.follower is not None:
            followed.tell_controls(checks, found, violations, kind=kind, probe=probe)
        if not unexcluded:
            return pass_outcome
        if not violations:
            keys = tuple(exception.key for exception in evaluation.exceptions)
            return skipped(f"rule is skipped due to policy exceptions {', '.join(keys)}", keys)
        message = start + _told(violations, checks, kind)
        left = [one for one in checks if one.id in violations]
        properties = told_controls((level, version), left, found)
        return failed(message, own=own)._replace(properties=properties)

    return evaluate


def _exempt(exceptions: tuple[MatchedException, ...]) -> Outcome | None:
    """Return a skip where an exception lets everything pass, not only some controls."""
    key = next((one.key for one in exceptions if not one.controls), None)
    if key is None:
        return None
    return skipped(f"rule is skipped due to policy exception {key}", (key,))


def _pod(obj: Json, kind: str) -> Pod:
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


def _violations(checks: tuple[ActiveCheck, ...], pod: Pod) -> Violations:
    found = ((one.id, one.check(pod)) for one in checks)
    return {name: violation for name, violation in found if violation is not None}


def _told(violations: Violations, checks: tuple[ActiveCheck, ...], kind: str) -> str:
    """Return the violations as messages tell them, in the order of the checks."""
    told = (violations[one.id] for one in checks if one.id in violations)
    return "".join(
        f"(Forbidden reason: {one.reason}, field error list:"
        f" [{', '.join(_finding(finding, kind) for finding in one.findings)}])"
        for one in told
    )


def _finding(finding: Finding, kind: str) -> str:
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
