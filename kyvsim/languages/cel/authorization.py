"""ValidatingPolicies of mode HTTP: validations that decide on a request, or leave it to the next.

Source of the rules: upstream kyverno-authz pkg/engine/compiler, and
cmd/cli/kubectl-kyverno/processor/authz_processor.go for the results.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kyvsim.cel import Environment, Program
from kyvsim.cel.kyverno.authorization import RESPONSE, Decision, RequestError, http_request
from kyvsim.cel.kyverno.environments import ordered
from kyvsim.cel.lazy_variables import LazyVariables, plainly
from kyvsim.compile.outcome import CompiledBody, Evaluation, Outcome, failed, passed, skipped
from kyvsim.context.cel_access import http_access, resource_access
from kyvsim.languages.cel.expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    all_hold,
    evaluate,
)
from kyvsim.languages.cel.kind import PolicyPart
from kyvsim.model.result import RuleStatus

_SPEC = ("spec",)
_UNDECIDED = skipped("request does not match")


class _Policy(NamedTuple):
    conditions: tuple[Program, ...]
    variables: Mapping[str, Program]
    validations: tuple[Program, ...]
    ignores_faults: bool
    env: Environment


def compile_authorization(part: PolicyPart) -> CompiledBody:
    """Return what judges payloads of mode HTTP."""
    spec, compiler = part.spec, part.compiler
    conditions = compiler.conditions(spec.get("matchConditions") or (), (*_SPEC, "matchConditions"))
    variables = compiler.variables(spec.get("variables") or (), (*_SPEC, "variables"))
    validations = [
        _validation(compiler, entry["expression"], index)
        for index, entry in enumerate(spec.get("validations") or ())
    ]
    policy = _Policy(
        conditions,
        variables,
        tuple(one for one in validations if one is not None),
        spec.get("failurePolicy") == "Ignore",
        compiler.env,
    )

    def run(evaluation: Evaluation) -> Outcome:
        try:
            values = _values(policy, evaluation)
            return _decided(policy, values)
        except EvaluationError as error:
            if policy.ignores_faults:
                return _UNDECIDED
            return Outcome(RuleStatus.ERROR, str(error))
        except RequestError as error:
            return Outcome(RuleStatus.ERROR, f"this payload is no HTTP request: {error}")

    return run


def _validation(compiler: Compiler, text: str, index: int) -> Program | None:
    place = (*_SPEC, "validations", index, "expression")
    program = compiler.compile(text, place)
    if program is not None and program.type.kind != "null" and program.type != RESPONSE:
        message = f"rule response output is expected to be of type {RESPONSE.name}"
        compiler.problems.append(ExpressionProblem(place, text, message))
    return program


def _values(policy: _Policy, evaluation: Evaluation) -> list[Any]:
    outside = evaluation.scope.outside
    request = http_request(evaluation.object)
    values = ordered(
        policy.env,
        {
            "object": request,
            "http": http_access(outside, ""),
            "resource": resource_access((outside.cluster,), "", evaluation.scope.hints),
        },
    )
    place = [name for name, _ in policy.env.variables].index("variables")
    values[place] = LazyVariables(policy.variables, values, plainly)
    return values


def _decided(policy: _Policy, values: Sequence[Any]) -> Outcome:
    if not all_hold(policy.conditions, values):
        return _UNDECIDED
    for validation in policy.validations:
        found = evaluate(validation, values)
        if isinstance(found, Decision):
            if found.denial is None:
                return passed("request allowed")
            return failed(f"request denied, reason: {found.denial}")
    return _UNDECIDED
