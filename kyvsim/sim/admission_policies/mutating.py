"""MutatingAdmissionPolicy: the object as it leaves it.

Merged objects have the types of their kind, as an API server knows them.

Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy/mutating (dispatcher.go, patch).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import Program
from kyvsim.cel.kubernetes import VARIABLES_TYPE, kubernetes_environment
from kyvsim.cel.lazy_variables import LazyVariables, composited
from kyvsim.cel.libraries.mutation import JSON_PATCH, OBJECT
from kyvsim.cel.types import list_of
from kyvsim.kube.discovery import KindTable
from kyvsim.kube.known_parts import with_whole_numbers
from kyvsim.kube.objects import Json
from kyvsim.languages.mutations import MutationError, merge_object, patch_object
from kyvsim.languages.native.expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    all_hold,
    evaluate,
    for_conditions,
)
from kyvsim.patch.schema_types import type_finder
from kyvsim.sim.admission_policies.bound import Asked, Invocation
from kyvsim.sim.admission_policies.values import VARIABLES, values_of

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
