"""The body of a `validate.cel` rule: it fails where one of its CEL expressions is not true.

Source of the rules: upstream pkg/engine/handlers/validation/validate_cel.go, pkg/admissionpolicy;
k8s.io/apiserver pkg/admission/plugin/policy/validating/validator.go. What cannot be compiled or
evaluated fails the rule too: there is no error status here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kyvsim.cel.kubernetes import VARIABLES_TYPE
from kyvsim.cel.program import LazyVariables
from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel_request import authorizer_of, namespace_object, request_value
from kyvsim.languages.cel_validator import (
    Declared,
    Expression,
    Validator,
    compile_validator,
    variable_value,
)
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.languages.classic.rules.cel_params import ParamsError, compile_params
from kyvsim.languages.probed_expressions import told_program
from kyvsim.model.probe import Probe
from kyvsim.model.source import Path

_EXPRESSIONS: Path = ("validate", "cel", "expressions")
_UNMET = skipped("cel preconditions not met")
_AUTHORIZER = frozenset({"authorizer", "authorizer.requestResource"})
_PLACE_OF_VARIABLES = 4
"""Where `variables` stands among the values of an environment."""


def compile_cel(context: RuleContext) -> CompiledBody:
    """Return the body of the rule."""
    data = context.rule.data
    cel = data["validate"]["cel"]
    rule = _probed(_compile_rule(data, cel).counted(context.system.meter), context.probe)
    reads = rule.reads()
    pass_outcome = passed(f"Validation rule '{context.rule.name}' passed.")
    find_params = compile_params(cel) if _has_params(cel) else None

    def evaluate(evaluation: Evaluation) -> Outcome:
        if find_params is None:
            return _evaluate(rule, _values(rule, reads, evaluation)) or pass_outcome
        try:
            params = find_params(evaluation)
        except ParamsError as error:
            return errored("error in parameterized resource", error)
        outcomes = (_evaluate(rule, _values(rule, reads, evaluation, one)) for one in params)
        return next((outcome for outcome in outcomes if outcome), pass_outcome)

    return evaluate


def cel_problems(data: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """Yield what cannot be compiled of a rule's expressions, with its way from the rule."""
    cel = data["validate"]["cel"]
    rule = _compile_rule(data, cel)
    tests: list[tuple[Path, Iterable[Expression]]] = [
        (("celPreconditions",), rule.conditions),
        (("validate", "cel", "variables"), rule.variables.values()),
        (_EXPRESSIONS, (one.test for one in rule.validations)),
    ]
    for path, expressions in tests:
        for index, one in enumerate(expressions):
            if one.program is None:
                yield (*path, index, "expression"), _fault(one)
    for index, entry in enumerate(rule.validations):
        computed = entry.message_expression
        if computed is not None and computed.program is None:
            yield (*_EXPRESSIONS, index, "messageExpression"), _fault(computed)


def _fault(expression: Expression) -> str:
    # The lines below the first one show the expression again.
    return f"`{expression.text.strip()}` is no CEL: {expression.problem.partition(chr(10))[0]}"


def _compile_rule(data: Mapping[str, Json], cel: Json) -> Validator:
    return compile_validator(
        cel.get("variables") or (),
        data.get("celPreconditions") or (),
        cel.get("expressions") or (),
        Declared(_has_params(cel)),
        message=data["validate"].get("message") or "",
    )


def _has_params(cel: Json) -> bool:
    return bool(cel.get("paramKind") and cel.get("paramRef"))


def _probed(rule: Validator, probe: Probe) -> Validator:
    """Return the rule with preconditions and expressions that tell their outcomes."""
    where = probe.at(*_EXPRESSIONS)
    validations = tuple(
        one._replace(test=_told(one.test, where.at(index)))
        for index, one in enumerate(rule.validations)
    )
    conditions = tuple(
        _told(one, probe.at("celPreconditions", index)) for index, one in enumerate(rule.conditions)
    )
    # Who counts is told of what decides; who follows, of the values besides.
    within = probe._replace(listener=None).at("validate", "cel", "variables")
    variables = {
        name: _told(one, within.at(index), decides=False)
        for index, (name, one) in enumerate(rule.variables.items())
    }
    return rule._replace(validations=validations, conditions=conditions, variables=variables)


def _told(expression: Expression, probe: Probe, *, decides: bool = True) -> Expression:
    program = expression.program
    if program is None:
        return expression
    return expression._replace(program=told_program(program, probe, decides=decides))


def _values(
    rule: Validator, reads: frozenset[str], evaluation: Evaluation, *params: Json
) -> list[Any]:
    """Return the values of the environment, in its order; None for what no expression reads."""
    request, outside = evaluation.request, evaluation.scope.outside
    values: list[Any] = [
        evaluation.object,
        request.old_object,
        namespace_object(request, outside) if "namespaceObject" in reads else None,
        request_value(request) if "request" in reads else None,
        None,
        *params,
        *(authorizer_of(request, outside) if _AUTHORIZER & reads else (None, None)),
    ]
    values[_PLACE_OF_VARIABLES] = LazyVariables(
        VARIABLES_TYPE, rule.variables, values, variable_value
    )
    return values


def _evaluate(rule: Validator, values: list[Any]) -> Outcome | None:
    """Return the outcome of a rule that is skipped or refuses the object, else None."""
    unmet = rule.unmet(values)
    if unmet is not None:
        return failed(unmet) if unmet else _UNMET
    refusal = rule.refusal(values)
    return failed(refusal.message) if refusal else None
