"""Payloads that are HTTP and Envoy requests: their checks, and the policies that decide on them.

Codes: KV152 an invalid payload, KV170 an unknown field of a payload, KV171 an
empty request.

Source of the rules: upstream kyverno-authz pkg/engine/compiler, and
cmd/cli/kubectl-kyverno/processor/authz_processor.go for the results.
"""

from collections.abc import Iterable

from kyvsim.cel.kyverno.authorization import MODES, authorization_environment
from kyvsim.cel.kyverno.environments import ordered
from kyvsim.cel.kyverno.http_requests import RequestFields, fields_of_request
from kyvsim.cel.kyverno.messages import MessageError
from kyvsim.cel.types import NULL
from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    failed,
    passed,
    skipped,
)
from kyvsim.engine.context.cel_access import http_access, resource_access
from kyvsim.languages.cel.kind import PolicyPart
from kyvsim.languages.cel_expressions import (
    Compiler,
    EvaluationError,
    KyvernoScope,
    all_hold,
    variables_on,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.ports import System
from kyvsim.model.request import Payload, PayloadMode
from kyvsim.model.result import RuleStatus
from kyvsim.model.tracing import TraceContext


def checked_payloads(
    payloads: Iterable[Payload],
) -> tuple[tuple[Payload, ...], tuple[Diagnostic, ...]]:
    """Return the payloads that are valid in their mode, and diagnostics about all."""
    found: list[Payload] = []
    said: list[Diagnostic] = []
    for payload in payloads:
        problem = _problem(payload)
        if problem is not None:
            said.append(problem)
            continue
        found.append(payload)
        locate = payload.document.locate
        for fields in _fields_of(payload):
            for name in fields.unknown:
                path, hint = (*fields.path, name), likely(name, fields.names)
                shown = ".".join(map(str, path))
                text = f"unknown field `{shown}` of an HTTP request is ignored{hint}"
                said.append(Diagnostic("KV170", Severity.WARNING, text, locate(path)))
        if payload.mode in MODES and not payload.data.get("attributes"):
            text = "this request has no attributes: policies see an empty one"
            said.append(Diagnostic("KV171", Severity.WARNING, text, locate(())))
    return tuple(found), tuple(said)


def _problem(payload: Payload) -> Diagnostic | None:
    mode = MODES.get(payload.mode)
    if mode is None:
        return None
    try:
        mode.read(payload.data)
    except MessageError as error:
        return _unusable(payload, error)
    for fields in _fields_of(payload):
        if fields.unknown and not fields.known:
            # One unknown field may be a typo; a map without any known field is not.
            reason = f"it has none of the fields {', '.join(fields.names)}"
            return _unusable(payload, MessageError(fields.path, reason))
    return None


def _fields_of(payload: Payload) -> Iterable[RequestFields]:
    """Return the maps of a payload whose unknown fields Kyverno silently ignores."""
    return fields_of_request(payload.data) if payload.mode is PayloadMode.HTTP else ()


def _unusable(payload: Payload, error: MessageError) -> Diagnostic:
    place = ".".join(map(str, error.path))
    where = f"`{place}`: {error.reason}" if place else error.reason
    text = f"this is not a request of mode {payload.mode}: {where}"
    return Diagnostic("KV152", Severity.ERROR, text, payload.document.locate(error.path))


_UNDECIDED = skipped("request does not match")


def authorization_compiler(mode: PayloadMode, system: System, trace: TraceContext) -> Compiler:
    """Return the compiler for expressions of policies of a mode."""
    scope = KyvernoScope(authorization_environment(MODES[mode], system.clock))
    return Compiler(scope, trace, system.meter)


def compile_authorization(part: PolicyPart, payload: PayloadMode) -> CompiledBody:
    """Return the body that evaluates payloads of a mode."""
    spec, compiler, mode = part.spec, part.compiler, MODES[payload]
    conditions = compiler.conditions(spec.match_conditions)
    variables = compiler.variables(spec.variables)
    validations = []
    for node in spec.validations:
        path = (*node.path, "expression")
        one = compiler.compile(node.expression, path)
        if one.program is not None and one.program.type not in {NULL, mode.response}:
            message = f"rule response output is expected to be of type {mode.response.name}"
            one = compiler.reject(node.expression, path, message)
        validations.append(one)
    env, release = compiler.env, part.options.system.release
    place_of_variables = [name for name, _ in env.variables].index("variables")

    def run(evaluation: Evaluation) -> Outcome:
        external = evaluation.scope.external
        try:
            own = {
                **mode.values,
                "object": mode.read(evaluation.object),
                "http": http_access(external, "", release),
                "resource": resource_access((external.cluster,), "", evaluation.scope.hints),
            }
            values = ordered(env, own)
            values[place_of_variables] = variables_on(variables, values)
            if not all_hold(conditions, values):
                return _UNDECIDED
            for validation in validations:
                found = validation.value(values)
                if found is None:
                    continue
                allows, message = mode.decide(found)
                if allows is None:
                    return Outcome(RuleStatus.ERROR, message)
                return passed(message) if allows else failed(message)
        except EvaluationError as error:
            return _UNDECIDED if spec.ignores_failures else Outcome(RuleStatus.ERROR, str(error))
        except MessageError as error:
            place = ".".join(map(str, error.path))
            reason = f"`{place}`: {error.reason}" if place else error.reason
            return Outcome(RuleStatus.ERROR, f"this payload is not a request: {reason}")
        return _UNDECIDED

    return run
