"""DeletingPolicy and NamespacedDeletingPolicy of `policies.kyverno.io`.

A schedule determines when a policy deletes the objects that match and for which all conditions
hold. There is no request, and operations are ignored.

Source of the rules: upstream pkg/cel/policies/dpol (compiler/policy.go, engine/engine.go), and
cmd/cli/kubectl-kyverno/commands/apply/command.go for the results.
"""

from types import MappingProxyType

from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, failed, passed
from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.languages.cel.exceptions import Matched, compile_exceptions, noted
from kyvsim.languages.cel.kind import CelKind, PolicyPart, RequestValues, namespace_object
from kyvsim.languages.cel_expressions import EvaluationError, all_hold
from kyvsim.model.request import Operation
from kyvsim.model.result import RuleStatus, Stage

_ANSWERS = MappingProxyType(
    {
        what: (passed(f"{what} matched"), failed(f"{what} did not match"))
        for what in ("resource", "json")
    }
)
"""The outcomes for objects and payloads that would be deleted, and for others."""


def _compile(part: PolicyPart) -> CompiledBody:
    spec, compiler = part.spec, part.compiler
    variables = compiler.variables(spec.variables)
    conditions = compiler.conditions(spec.conditions)
    exceptions = compile_exceptions(part, ignorable=False, variables=variables)
    request_values = RequestValues(part, variables)

    def judge(evaluation: Evaluation) -> Outcome:
        request = evaluation.request
        if not request.is_payload:
            subject = request.subject
            request = request._replace(operation=Operation.CREATE, object=subject, old_object=None)
            evaluation = evaluation._replace(request=request, object=subject)
        goes, stays = _ANSWERS["json" if request.is_payload else "resource"]
        values = request_values.of(evaluation, **_own(evaluation))
        try:
            matched = exceptions.matching(evaluation) if exceptions else Matched()
            if matched.counting:
                keys = tuple(one.key for one in matched.counting)
                kept = f"kept because of the policy exception {', '.join(keys)}"
                return stays._replace(note="; ".join(filter(None, (kept, matched.note))))
            outcome = goes if all_hold(conditions, values) else stays
        except EvaluationError as error:
            return Outcome(RuleStatus.ERROR, str(error))
        return noted(outcome, matched) or outcome

    return judge


def _own(evaluation: Evaluation) -> dict[str, Json]:
    """Return the values that differ from other kinds: a Namespace is its own namespace."""
    subject = evaluation.request.subject
    key = object_key(subject)
    if evaluation.request.is_payload or (key.api_version, key.kind) != ("v1", "Namespace"):
        return {}
    known = namespace_object(evaluation, key.name)
    alone = {"metadata": {"name": key.name, "labels": labels(subject)}, "spec": {}, "status": {}}
    return {"namespaceObject": known or alone}


DELETING = CelKind(
    "DeletingPolicy",
    Stage.CEL_DELETE,
    _compile,
    weighs_exceptions=True,
    judges_json=lambda _mode: True,
    later=True,
    any_operation=True,
    match_fault="",
)
