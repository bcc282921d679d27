"""`mutate.foreach`: the object is patched once for each element of a list.

Source of the rules: upstream pkg/engine/handlers/mutation/common.go.
"""

from collections.abc import Callable

from kyvsim.conditions import ConditionError
from kyvsim.context import JSONContext
from kyvsim.expr import QueryError, compile_template
from kyvsim.kube.objects import Json
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.rules.loops import compile_elements, compile_list, compile_loop_preconditions
from kyvsim.rules.mutate_resource import apply_patch, mutated, object_to_patch
from kyvsim.rules.patches import compile_patcher
from kyvsim.rules.protocol import (
    CompiledBody,
    Evaluation,
    Outcome,
    RuleContext,
    RuleType,
    errored,
    skipped,
)

_Body = Callable[[JSONContext, Json], Outcome]
"""Patches the object in the scope of one element."""


def compile_loops(context: RuleContext, loops: Json, nesting: int = 0) -> _Body:
    """Return what patches an object by the loops of a mutate rule, one after the other."""
    compiled = [
        (
            loop["list"],
            compile_list(loop["list"], context.environment, context.watch.at(index)),
            _compile_loop(context.within(index), loop, nesting),
        )
        for index, loop in enumerate(loops)
    ]

    def run(scope: JSONContext, obj: Json) -> Outcome:
        changes = 0
        for expression, list_of, run_loop in compiled:
            try:
                elements = list_of(scope)
            except QueryError as error:
                return errored(f"failed to evaluate list {expression}: {error}", error)
            outcome = run_loop(scope, obj, elements)
            if outcome.status is RuleStatus.ERROR:
                return errored("failed to mutate elements", outcome.message)
            if outcome.status is RuleStatus.PASS:
                # The next loop sees what this one made; elements of one loop do not.
                changes += 1
                obj = outcome.object
                scope = scope.with_object(obj)
        return mutated(obj) if changes else skipped("0 elements processed")

    return run


def _compile_loop(
    context: RuleContext, loop: Json, nesting: int
) -> Callable[[JSONContext, Json, list[Json]], Outcome]:
    elements_of = compile_elements(loop, nesting, context.environment)
    preconditions = compile_loop_preconditions(loop, context)
    body = _compile_body(context, loop, nesting)
    # A merge puts new elements first, so going backwards keeps their order.
    default_order = "Descending" if loop.get("patchStrategicMerge") is not None else "Ascending"
    backwards = loop.get("order", default_order) == "Descending"

    def run(scope: JSONContext, obj: Json, values: list[Json]) -> Outcome:
        patched = obj
        numbered = list(enumerate(values))
        for element in elements_of(scope, reversed(numbered) if backwards else numbered):
            try:
                if not preconditions(element.scope).met:
                    continue
            except ConditionError as error:
                return errored(
                    f"failed to evaluate mutate.foreach[{element.number}].preconditions", error
                )
            outcome = body(element.scope, patched)
            if outcome.status is RuleStatus.ERROR:
                return outcome
            if outcome.status is RuleStatus.PASS:
                patched = outcome.object
        return skipped("no patches applied") if patched == obj else mutated(patched)

    return run


def _compile_body(context: RuleContext, loop: Json, nesting: int) -> _Body:
    if loop.get("foreach"):
        return compile_loops(context.within("foreach"), loop["foreach"], nesting + 1)
    patches = {
        field: loop[field]
        for field in ("patchStrategicMerge", "patchesJson6902")
        if loop.get(field) is not None
    }
    if not patches:
        return lambda _scope, _obj: errored("empty mutate rule")
    template = compile_template(patches, context.environment)
    if template.constant:
        patcher = compile_patcher(template.value)
        return lambda _, obj: apply_patch(lambda: patcher(obj), obj)
    return lambda scope, obj: apply_patch(lambda: compile_patcher(template.render(scope))(obj), obj)


def _compile(context: RuleContext) -> CompiledBody:
    run = compile_loops(context.within("mutate", "foreach"), context.rule.data["mutate"]["foreach"])

    def evaluate(evaluation: Evaluation) -> Outcome:
        return run(evaluation.scope, object_to_patch(evaluation))

    return evaluate


RULE_TYPE = RuleType(("mutate", "foreach"), Phase.MUTATE, _compile)
