"""`validate.cel`: the rule fails if one of its CEL expressions is not true.

Source of the rules: upstream pkg/engine/handlers/validation/validate_cel.go, pkg/admissionpolicy;
k8s.io/apiserver pkg/admission/plugin/policy/validating/validator.go. An expression that cannot be
compiled or evaluated is a failure, too: there is no error status here.
"""

from collections.abc import Callable, Iterator

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.kubernetes.discovery import kind_of_plural, plural, split_api_version
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import KubernetesObject, labels, object_key
from kyvsim.languages.cel_expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    NativeScope,
    NativeValidation,
    all_hold,
    for_conditions,
    native_values,
)
from kyvsim.languages.cel_remedies import remedies, remedy
from kyvsim.languages.cel_request import authorizer_of, namespace_object, request_value
from kyvsim.languages.classic.rule_type import Problem, RuleContext, RuleType, validation_of
from kyvsim.model.ports import ClusterView, Meter
from kyvsim.model.result import Phase
from kyvsim.model.tracing import TraceContext
from kyvsim.policy.cel_policy import CelValidation, ParamKind, ParamRef
from kyvsim.policy.rule import RuleNode

# The parameter objects of a CEL rule.
#
# Parameters of a namespaced kind are in the object's own namespace, unless
# the rule names another. Source of the rules: upstream pkg/admissionpolicy (CollectParams).


class ParamsError(Exception):
    """There are no parameters, or their namespace cannot be determined."""


def _compile_params(
    param_kind: ParamKind, reference: ParamRef
) -> Callable[[Evaluation], list[KubernetesObject]]:
    """Return a function that finds the parameters of a request, or raises `ParamsError`."""
    _, api_version, kind = param_kind
    find = _compile_search(reference, api_version, kind)
    group, _ = split_api_version(api_version)
    builtin = kind_of_plural(group, plural(group, kind)) == kind

    def checked(evaluation: Evaluation) -> list[KubernetesObject]:
        if api_version.count("/") > 1:
            raise ParamsError("can't parse the parameter resource group version")
        cluster = evaluation.scope.external.cluster
        if not builtin and not cluster.list(api_version, kind, ""):
            raise ParamsError("failed to check if resource is namespaced or not (not found)")
        if cluster.is_namespaced(api_version, kind):
            namespace = reference.namespace or object_key(evaluation.request.subject).namespace
            if not namespace:
                raise ParamsError("can't use namespaced paramRef to match cluster-scoped resources")
            return find(cluster, namespace)
        if reference.namespace:
            raise ParamsError(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        return find(cluster, "")

    return checked


def _compile_search(
    reference: ParamRef, api_version: str, kind: str
) -> Callable[[ClusterView, str], list[KubernetesObject]]:
    """Return a search for parameters in a namespace, "" for all; it raises `ParamsError`."""
    name, selector = reference.name, reference.selector
    group, _ = split_api_version(api_version)
    selects, problem = None, ""
    if not name and selector is not None:
        try:
            selects = compile_selector(selector)
        except SelectorError as error:
            problem = str(error)

    def find(cluster: ClusterView, namespace: str) -> list[KubernetesObject]:
        if problem:
            raise ParamsError(problem)
        if name:
            found = cluster.get(api_version, kind, namespace, name)
            if found is None:
                resource = f"{plural(group, kind)}.{group}" if group else plural(group, kind)
                raise ParamsError(f'{resource} "{name}" not found')
            return [found]
        listed = cluster.list(api_version, kind, namespace) if selects else ()
        chosen = [one for one in listed if selects and selects(labels(one))]
        if not chosen and reference.parameter_not_found_action == "Deny":
            raise ParamsError("no params found")
        return chosen

    return find


_AUTHORIZER = frozenset({"authorizer", "authorizer.requestResource"})


def _compile_rule(rule: RuleNode, meter: Meter | None = None) -> tuple[NativeValidation, Compiler]:
    """Return a compiled rule, and the compiler with its problems and variables."""
    cel = _cel_of(rule)
    compiler = Compiler(NativeScope(bool(cel.param_kind and cel.param_ref)), meter=meter)
    variables = compiler.variables(cel.variables)
    conditions = compiler.conditions(rule.cel_preconditions or ())
    validations = compiler.validations(cel.expressions, validation_of(rule).message)
    return NativeValidation(variables, conditions, validations), compiler


def _compile(context: RuleContext) -> CompiledBody:
    tree = context.rule.tree
    cel = _cel_of(tree)
    compiled, compiler = _compile_rule(tree, context.system.meter)
    rule, reads = _traced(compiled, context.trace), frozenset(compiler.reads)
    pass_outcome = passed(f"Validation rule '{context.rule.name}' passed.")
    find_params = None
    if cel.param_kind and cel.param_ref:
        find_params = _compile_params(cel.param_kind, cel.param_ref)

    def outcome_with(evaluation: Evaluation, *params: object) -> Outcome | None:
        """Return the outcome if the rule is skipped or rejects the object, or None."""
        values = _values(rule, reads, evaluation, *params)
        try:
            if not all_hold(rule.conditions, for_conditions(values)):
                return skipped("cel preconditions not met")
            denial = rule.denial(values)
        except EvaluationError as error:
            return failed(str(error))
        return None if denial is None else failed(denial)

    def evaluate(evaluation: Evaluation) -> Outcome:
        if find_params is None:
            return outcome_with(evaluation) or pass_outcome
        try:
            params = find_params(evaluation)
        except ParamsError as error:
            return errored("error in parameterized resource", error)
        outcomes = (outcome_with(evaluation, one) for one in params)
        return next((outcome for outcome in outcomes if outcome), pass_outcome)

    return evaluate


def _broken(rule: RuleNode) -> Iterator[Problem]:
    """Yield the expressions of a rule that cannot be compiled, with their paths in the document.

    Preconditions come first, messages last.
    """

    def order(problem: ExpressionProblem) -> tuple[bool, bool]:
        is_condition = problem.path[len(rule.path)] == "celPreconditions"
        return not is_condition, problem.path[-1] == "messageExpression"

    for problem in sorted(_compile_rule(rule)[1].problems, key=order):
        # The lines below the first one show the expression again.
        reason = problem.message.partition("\n")[0]
        note = remedy(problem.message, remedies(_cel_of(rule).variables))
        advice = f"\nnote: {note}" if note else ""
        yield problem.path, f"`{problem.text.strip()}` is not valid CEL: {reason}{advice}"


def _cel_of(rule: RuleNode) -> CelValidation:
    cel = validation_of(rule).cel
    if cel is None:
        raise ValueError(f"rule {rule.name} has no CEL expressions")
    return cel


def _traced(rule: NativeValidation, trace: TraceContext) -> NativeValidation:
    where = trace.at("validate", "cel", "expressions")
    validations = tuple(
        one._replace(test=one.test.traced(where.at(index), decides=True))
        for index, one in enumerate(rule.validations)
    )
    conditions = tuple(
        one.traced(trace.at("celPreconditions", index), decides=True)
        for index, one in enumerate(rule.conditions)
    )
    # Coverage counts only decisions; tracing also shows the values of variables.
    within = trace._replace(counts=False).at("validate", "cel", "variables")
    variables = {
        name: one.traced(within.at(index), decides=False)
        for index, (name, one) in enumerate(rule.variables.items())
    }
    return NativeValidation(variables, conditions, validations)


def _values(
    rule: NativeValidation, reads: frozenset[str], evaluation: Evaluation, *params: object
) -> list[object]:
    """Return the values of the environment in its order; None for variables that are not read."""
    request, external = evaluation.request, evaluation.scope.external
    return native_values(
        evaluation.object,
        request.old_object,
        namespace_object(request, external) if "namespaceObject" in reads else None,
        request_value(request) if "request" in reads else None,
        rule.variables,
        *params,
        *(authorizer_of(request, external) if _AUTHORIZER & reads else (None, None)),
    )


def _problems(rule: RuleNode) -> Iterator[Problem]:
    """Yield missing or invalid fields of a CEL rule; its expressions are checked elsewhere."""
    cel = _cel_of(rule)
    if not all(one.expression for one in cel.expressions):
        yield cel.path, "cel.expressions.expression is required"
    kind, reference = cel.param_kind, cel.param_ref
    required: list[tuple[str, object]] = []
    if kind is not None:
        required += [("paramKind.apiVersion", kind.api_version), ("paramKind.kind", kind.kind)]
        required.append(("paramRef", reference is not None))
    if reference is not None:
        if bool(reference.name) == (reference.selector is not None):
            required.append(("one of cel.paramRef.name or cel.paramRef.selector must be set", ""))
        action = reference.parameter_not_found_action
        required += [("paramRef.parameterNotFoundAction", action), ("paramKind", kind is not None)]
    for name, value in required:
        if not value:
            yield cel.path, name if " " in name else f"cel.{name} is required"
    for one in cel.audit_annotations:
        for name, value in (("key", one.name), ("valueExpression", one.expression)):
            if not value:
                yield cel.path, f"cel.auditAnnotation.{name} is required"


RULE_TYPE = RuleType(
    ("validate", "cel"),
    Phase.VALIDATE,
    _compile,
    problems=_problems,
    broken=_broken,
    fields=frozenset({"celPreconditions"}),
    tolerant=False,
)
