"""MutatingAdmissionPolicy of Kubernetes, as Kyverno's command line evaluates it.

Nothing is known of types: maps merge, lists are replaced. What fails has no result there, and the
object stays as it is; here it is told beside the results. The variable `params` is known where a
binding gives parameters, and is null in match conditions.

Source of the rules: upstream pkg/admissionpolicy/mutate.go.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import Program
from kyvsim.cel.libraries.admission import JSON_PATCH, OBJECT
from kyvsim.cel.types import list_of
from kyvsim.engine.compile.compiled import Evaluation, Outcome, passed, skipped, unheard
from kyvsim.engine.compile.followed import APPLIED
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.numbers import with_floats_where_exact, with_whole_numbers
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.mutations import MutationError, merge_object, patch_object
from kyvsim.languages.native.expressions import (
    Asked,
    Compiler,
    EvaluationError,
    all_hold,
    asked_by,
    evaluate,
    for_conditions,
    values_of,
)
from kyvsim.languages.native.kind import Compiled, NativeKind, Surroundings
from kyvsim.model.policy import Policy
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.patch.merge_types import DEDUCED, Type, resolve
from kyvsim.patch.nodes import same

_SPEC = ("spec",)
_UNDECLARED = "undeclared reference to 'params' (in container ''): no binding gives parameters"
_UNMET = skipped("match conditions aren't met")
_Mutation: TypeAlias = Callable[[Sequence[Any], Json], Json]


class _Policy(NamedTuple):
    """A policy as programs."""

    variables: Mapping[str, Program]
    conditions: tuple[Program, ...]
    mutations: tuple[_Mutation, ...]
    ignores_faults: bool
    """Whether conditions that cannot be evaluated count as not met."""
    kinds: KindTable
    params: Sequence[Json]
    """The value of `params`, where the policy has parameters."""


def _compile(policy: Policy, around: Surroundings) -> Compiled:
    spec = policy.spec
    compiler = Compiler(params=bool(around.params), probe=around.probe, meter=around.meter)
    variables = compiler.variables(spec.get("variables") or (), (*_SPEC, "variables"))
    conditions = compiler.conditions(spec.get("matchConditions") or (), (*_SPEC, "matchConditions"))
    mutations = [
        mutation
        for index, entry in enumerate(spec.get("mutations") or ())
        if (mutation := _mutation(compiler, entry, index)) is not None
    ]
    if not around.bound and compiler.reads_params:
        undeclared = unheard((_UNDECLARED,))
        return (lambda _: undeclared), tuple(compiler.problems)
    ignores = spec.get("failurePolicy") == "Ignore"
    compiled = _Policy(
        variables=variables,
        conditions=conditions,
        mutations=tuple(mutations),
        ignores_faults=ignores,
        kinds=around.kinds,
        params=around.params,
    )
    return (lambda evaluation: _run(compiled, evaluation)), tuple(compiler.problems)


def _mutation(compiler: Compiler, entry: Json, index: int) -> _Mutation | None:
    place = (*_SPEC, "mutations", index)
    field, wanted, mutate = (
        ("jsonPatch", list_of(JSON_PATCH), _json_patch)
        if entry["patchType"] == "JSONPatch"
        else ("applyConfiguration", OBJECT, _merge)
    )
    written = entry.get(field)
    if written is None:
        return None
    program = compiler.compile(
        written.get("expression") or "", (*place, field, "expression"), wanted
    )
    return program and mutate(program)


def _json_patch(program: Program) -> _Mutation:
    return lambda values, obj: with_whole_numbers(patch_object(evaluate(program, values), obj))


def _merge(program: Program) -> _Mutation:
    return lambda values, obj: merge_object(
        evaluate(program, values), obj, _no_types, replaces=False
    )


def _no_types(_api_version: str, _kind: str) -> Type:
    return resolve(DEDUCED)


def _run(policy: _Policy, evaluation: Evaluation) -> Outcome:
    obj = evaluation.request.subject if evaluation.object is None else evaluation.object
    asked = asked_by(evaluation, policy.kinds)
    values = values_of(obj, asked, policy.variables, policy.params)
    try:
        if not all_hold(policy.conditions, _values_of_conditions(policy, obj, asked)):
            return _UNMET
    except EvaluationError as error:
        # Upstream gives up an object where it cannot tell whether a policy has to do with it.
        unasked = unheard((str(error),))._replace(status=RuleStatus.ERROR)
        return _UNMET if policy.ignores_faults else unasked
    after = obj
    try:
        for mutation in policy.mutations:
            after = mutation(values, after)
            values = values_of(after, asked, policy.variables, policy.params)
    except (EvaluationError, MutationError) as error:
        return unheard((str(error),))
    done = passed("mutation is successfully applied")
    after = with_floats_where_exact(after)
    return done if same(after, obj) else done._replace(object=after)


def _values_of_conditions(policy: _Policy, obj: Json, asked: Asked) -> list[Any]:
    """Return what conditions see: upstream gives them no parameters, given or not."""
    nothing = [None] * len(policy.params)
    return for_conditions(values_of(obj, asked, policy.variables, nothing))


KIND = NativeKind(
    "MutatingAdmissionPolicy",
    Stage.NATIVE_MUTATE,
    _compile,
    APPLIED,
    binding_property="mapBinding",
)
