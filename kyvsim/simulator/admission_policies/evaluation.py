"""ValidatingAdmissionPolicies and MutatingAdmissionPolicies: what they answer to a request."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import Program
from kyvsim.cel.kubernetes import VARIABLES_TYPE, kubernetes_environment
from kyvsim.cel.libraries.admission import JSON_PATCH, OBJECT
from kyvsim.cel.program import LazyVariables, composited
from kyvsim.cel.types import list_of
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.numbers import with_whole_numbers
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel_request import authorizer_of, namespace_object, request_value
from kyvsim.languages.cel_validator import (
    Declared,
    FaultError,
    Validator,
    compile_validator,
    variable_value,
)
from kyvsim.languages.mutations import MutationError, merge_object, patch_object
from kyvsim.languages.native.admission_policies import audit_annotations
from kyvsim.languages.native.expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    all_hold,
    evaluate,
    for_conditions,
)
from kyvsim.model.source import Path
from kyvsim.patch.structured_merge import type_finder
from kyvsim.simulator.admission_policies.bound import Asked, Invocation

# What expressions of admission policies see, in the order of their environment.

VARIABLES = 4
"""The place of `variables`, which are evaluated with all the others."""


def values_of(invocation: Invocation, asked: Asked, obj: Json) -> list[Any]:
    """Return the values for an object; those of `variables` are put in by whoever knows them."""
    request, outside = asked.request, asked.outside
    has_params = bool(invocation.policy["spec"].get("paramKind"))
    told: Mapping[str, Json] = request.details or {}
    return [
        obj,
        request.old_object,
        namespace_object(request, outside),
        {**request_value(request), **told},
        {},
        *([invocation.params] if has_params else []),
        *authorizer_of(request, outside),
    ]


# ValidatingAdmissionPolicy: what it says of a request.
#
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy/validating (validator.go,
# dispatcher.go).

INVALID = "Invalid"


class Decision(NamedTuple):
    """Why a policy does not let a request pass."""

    message: str
    reason: str = INVALID
    always: bool = False
    """Whether it refuses the request whatever the binding's actions are."""
    is_fault: bool = False
    """Whether the policy could not be evaluated, and has decided nothing."""
    ignored: bool = False
    """Whether that counts for nothing, as the failure policy has it."""


def decisions(invocation: Invocation, asked: Asked) -> tuple[Decision, ...] | None:
    """Return why a policy does not let a request pass, in the order of its validations.

    None where its match conditions do not hold: then it says nothing of the request.
    """
    closed = invocation.fails_closed
    if invocation.fault:
        return (Decision(invocation.fault, always=True, is_fault=True, ignored=not closed),)
    validator = _validator(invocation.policy)
    values = values_of(invocation, asked, asked.request.object)
    values[VARIABLES] = LazyVariables(VARIABLES_TYPE, validator.variables, values, variable_value)
    unmet = validator.unmet(values)
    if unmet is not None:
        return (Decision(unmet, is_fault=True, ignored=not closed),) if unmet else None
    return tuple(_refusals(invocation, validator, values))


def _refusals(
    invocation: Invocation, validator: Validator, values: list[Any]
) -> Iterator[Decision]:
    closed = invocation.fails_closed
    written = invocation.policy["spec"].get("validations") or ()
    for entry, validation in zip(written, validator.validations, strict=True):
        refusal = validation.refusal(values)
        if refusal is not None and not refusal.is_fault:
            yield Decision(refusal.message, entry.get("reason") or INVALID)
        elif refusal is not None:
            yield Decision(refusal.message, is_fault=True, ignored=not closed)
    if closed:
        yield from _unannotated(invocation.policy, validator, values)


def _unannotated(policy: Json, validator: Validator, values: list[Any]) -> Iterator[Decision]:
    """Yield what is wrong with annotations for the audit log, which nobody reads here."""
    for _, one in audit_annotations(policy["spec"], validator):
        try:
            one.value(values)
        except FaultError as fault:
            yield Decision(str(fault), always=True, is_fault=True)


def validating_problems(policy: Json) -> Iterator[tuple[Path, str, str]]:
    """Yield place, text and fault of the expressions that cannot be compiled."""
    validator = _validator(policy)
    placed = ((("spec", *path), one) for path, one in validator.placed())
    for path, one in (*audit_annotations(policy["spec"], validator), *placed):
        if one.program is None:
            yield path, one.text, one.problem


def _validator(policy: Json) -> Validator:
    spec = policy["spec"]
    return compile_validator(
        spec.get("variables") or (),
        spec.get("matchConditions") or (),
        spec.get("validations") or (),
        Declared(params=bool(spec.get("paramKind"))),
    )


# MutatingAdmissionPolicy: the object as it leaves it.
#
# Merged objects have the types of their kind, as an API server knows them.
#
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy/mutating (dispatcher.go,
# patch).

_Mutation: TypeAlias = Callable[[Sequence[Any], Json], Json]


class Failure(Exception):  # noqa: N818 — it is told to a client, it is no fault of the program
    """A policy that cannot be evaluated; the text is the API server's."""


class _Policy(NamedTuple):
    variables: Mapping[str, Program]
    conditions: tuple[Program, ...]
    mutations: tuple[_Mutation, ...]
    problems: tuple[ExpressionProblem, ...]


def mutated(invocation: Invocation, asked: Asked, obj: Json) -> Json | None:
    """Return an object as a policy leaves it, None where its conditions do not hold.

    Raises Failure.
    """
    if invocation.fault:
        raise Failure(invocation.fault)
    policy = _compiled(invocation.policy, asked.store.defined)
    try:
        if not all_hold(policy.conditions, for_conditions(_values(policy, invocation, asked, obj))):
            return None
        for mutation in policy.mutations:
            obj = mutation(_values(policy, invocation, asked, obj), obj)
    except (EvaluationError, MutationError) as error:
        raise Failure(str(error)) from None
    return obj


def mutating_problems(policy: Json, kinds: KindTable) -> tuple[ExpressionProblem, ...]:
    """Return the expressions that cannot be compiled."""
    return _compiled(policy, kinds).problems


def _values(policy: _Policy, invocation: Invocation, asked: Asked, obj: Json) -> list[Any]:
    values = values_of(invocation, asked, obj)
    values[VARIABLES] = LazyVariables(VARIABLES_TYPE, policy.variables, values, composited)
    return values


def _compiled(policy: Json, kinds: KindTable) -> _Policy:
    spec = policy["spec"]
    has_params = bool(spec.get("paramKind"))
    compiler = Compiler(params=has_params)
    compiler.env = kubernetes_environment(params=has_params, authorizer=True, mutates=True)
    variables = compiler.variables(spec.get("variables") or (), ("spec", "variables"))
    conditions = compiler.conditions(spec.get("matchConditions") or (), ("spec", "matchConditions"))
    written = enumerate(spec.get("mutations") or ())
    mutations = [_mutation(compiler, entry, index, kinds) for index, entry in written]
    return _Policy(
        variables,
        conditions,
        tuple(one for one in mutations if one is not None),
        tuple(compiler.problems),
    )


def _mutation(compiler: Compiler, entry: Json, index: int, kinds: KindTable) -> _Mutation | None:
    patches = entry["patchType"] == "JSONPatch"
    field = "jsonPatch" if patches else "applyConfiguration"
    text = (entry.get(field) or {}).get("expression")
    if text is None:
        return None
    place = ("spec", "mutations", index, field, "expression")
    program = compiler.compile(text, place, list_of(JSON_PATCH) if patches else OBJECT)
    if program is None:
        return None
    return _patch(program) if patches else _merge(program, kinds)


def _patch(program: Program) -> _Mutation:
    return lambda values, obj: with_whole_numbers(patch_object(evaluate(program, values), obj))


def _merge(program: Program, kinds: KindTable) -> _Mutation:
    find_type = type_finder(kinds)
    return lambda values, obj: with_whole_numbers(
        merge_object(evaluate(program, values), obj, find_type, replaces=False)
    )
