"""ValidatingPolicies of modes HTTP and Envoy: validations that decide on a request, in turn.

Source of the rules: upstream kyverno-authz pkg/engine/compiler, and
cmd/cli/kubectl-kyverno/processor/authz_processor.go for the results.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kyvsim.cel import Environment, Program
from kyvsim.cel.kyverno.authorization import (
    MODES,
    AuthorizationMode,
    authorization_environment,
)
from kyvsim.cel.kyverno.environments import VARIABLES_TYPE, ordered
from kyvsim.cel.kyverno.messages import MessageError
from kyvsim.cel.program import LazyVariables, plainly
from kyvsim.cel.types import CelType
from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    failed,
    passed,
    skipped,
)
from kyvsim.engine.context.cel_access import http_access, resource_access
from kyvsim.languages.cel.expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    all_hold,
    evaluate,
)
from kyvsim.languages.cel.kind import PolicyPart
from kyvsim.model.ports import System
from kyvsim.model.probe import Probe
from kyvsim.model.request import PayloadMode
from kyvsim.model.result import RuleStatus

_SPEC = ("spec",)
_UNDECIDED = skipped("request does not match")


class _Policy(NamedTuple):
    mode: AuthorizationMode
    conditions: tuple[Program, ...]
    variables: Mapping[str, Program]
    validations: tuple[Program, ...]
    ignores_faults: bool
    env: Environment


def authorization_compiler(mode: PayloadMode, system: System, probe: Probe) -> Compiler:
    """Return what compiles the expressions of a policy of a mode."""
    return Compiler(authorization_environment(MODES[mode], system.clock), probe, system.meter)


def compile_authorization(part: PolicyPart, payload: PayloadMode) -> CompiledBody:
    """Return what judges payloads of a mode."""
    spec, compiler, mode = part.spec, part.compiler, MODES[payload]
    conditions = compiler.conditions(spec.get("matchConditions") or (), (*_SPEC, "matchConditions"))
    variables = compiler.variables(spec.get("variables") or (), (*_SPEC, "variables"))
    validations = [
        _validation(compiler, entry["expression"], index, mode.response)
        for index, entry in enumerate(spec.get("validations") or ())
    ]
    policy = _Policy(
        mode=mode,
        conditions=conditions,
        variables=variables,
        validations=tuple(one for one in validations if one is not None),
        ignores_faults=spec.get("failurePolicy") == "Ignore",
        env=compiler.env,
    )

    def run(evaluation: Evaluation) -> Outcome:
        try:
            values = _values(policy, evaluation)
            return _decided(policy, values)
        except EvaluationError as error:
            if policy.ignores_faults:
                return _UNDECIDED
            return Outcome(RuleStatus.ERROR, str(error))
        except MessageError as error:
            place = ".".join(map(str, error.path))
            reason = f"`{place}`: {error.reason}" if place else error.reason
            return Outcome(RuleStatus.ERROR, f"this payload is no request: {reason}")

    return run


def _validation(compiler: Compiler, text: str, index: int, response: CelType) -> Program | None:
    place = (*_SPEC, "validations", index, "expression")
    program = compiler.compile(text, place)
    if program is not None and program.type.kind != "null" and program.type != response:
        message = f"rule response output is expected to be of type {response.name}"
        compiler.problems.append(ExpressionProblem(place, text, message))
    return program


def _values(policy: _Policy, evaluation: Evaluation) -> list[Any]:
    outside = evaluation.scope.outside
    values = ordered(
        policy.env,
        {
            **policy.mode.values,
            "object": policy.mode.read(evaluation.object),
            "http": http_access(outside, ""),
            "resource": resource_access((outside.cluster,), "", evaluation.scope.hints),
        },
    )
    place = [name for name, _ in policy.env.variables].index("variables")
    values[place] = LazyVariables(VARIABLES_TYPE, policy.variables, values, plainly)
    return values


def _decided(policy: _Policy, values: Sequence[Any]) -> Outcome:
    if not all_hold(policy.conditions, values):
        return _UNDECIDED
    for validation in policy.validations:
        found = evaluate(validation, values)
        if found is None:
            continue
        allows, message = policy.mode.decide(found)
        if allows is None:
            return Outcome(RuleStatus.ERROR, message)
        return passed(message) if allows else failed(message)
    return _UNDECIDED
