"""`mutate.foreach`: the object is patched once for each element of a list.

Source of the rules: upstream pkg/engine/handlers/mutation/common.go.
"""

from collections.abc import Callable, Iterator, Sequence

from kyvsim.engine.compile.compiled import CompiledBody, Outcome, errored, skipped
from kyvsim.engine.compile.tracing import traced_template
from kyvsim.engine.conditions import ConditionError, compile_conditions
from kyvsim.engine.context import JSONContext
from kyvsim.jmespath import QueryError, compile_template
from kyvsim.kubernetes.objects import Json, KubernetesObject
from kyvsim.languages.classic.rule_type import Problem, RuleContext, RuleType
from kyvsim.languages.classic.rules.loops import (
    compile_elements,
    compile_list,
    first_map,
    hints_for_list,
)
from kyvsim.languages.classic.rules.mutate_resource import (
    Patcher,
    apply_patch,
    compile_patcher,
    filled_patcher,
    mutated,
    object_to_patch,
)
from kyvsim.model.ports import FEW, Meter
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.patch.json_patch import PatchOperation, moved_removals
from kyvsim.patch.strategic_merge import ElementMerges
from kyvsim.policy.rule import ForEachMutation, RuleNode

_Filled = Callable[[JSONContext], tuple[Json, Patcher]]
"""Returns the patch fields of a loop with replaced variables, and their patcher."""


def compile_loops(
    context: RuleContext, loops: Sequence[ForEachMutation], nesting: int = 0
) -> Callable[[JSONContext, Json], Outcome]:
    """Return a function that applies the loops of a mutate rule to an object, in order."""
    compiled = [
        (
            loop.list,
            compile_list(loop.list, context.system, context.trace.at(index)),
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
                scope.hints += hints_for_list(expression, error)
                return errored(f"failed to evaluate list {expression}: {error}", error)
            outcome = run_loop(scope, obj, elements)
            if outcome.status is RuleStatus.ERROR:
                return errored("failed to mutate elements", outcome.message)
            if outcome.status is RuleStatus.PASS:
                # The next loop sees the result of this loop; elements of one loop do not.
                changes += 1
                obj = outcome.object
                scope = scope.with_object(obj)
        return mutated(obj) if changes else skipped("0 elements processed")

    return run


def _compile_loop(
    context: RuleContext, loop: ForEachMutation, nesting: int
) -> Callable[[JSONContext, Json, list[Json]], Outcome]:
    elements_of = compile_elements(loop.context, nesting, context.system, context.trace)
    preconditions = compile_conditions(
        loop.preconditions, context.system, context.trace.at("preconditions")
    )
    begin = _compile_begin(context, loop, nesting)
    # A merge prepends new elements, so iterating backwards keeps their order.
    default_order = "Descending" if loop.patch_strategic_merge is not None else "Ascending"
    backwards = (loop.order or default_order) == "Descending"

    def run(scope: JSONContext, obj: KubernetesObject, values: list[object]) -> Outcome:
        patch, patched = begin(scope, obj, len(values))
        numbered = list(enumerate(values))
        for index, _, own in elements_of(scope, reversed(numbered) if backwards else numbered):
            try:
                if not preconditions(own).met:
                    continue
            except ConditionError as error:
                return errored(f"failed to evaluate mutate.foreach[{index}].preconditions", error)
            outcome = patch(own)
            if outcome.status is RuleStatus.ERROR:
                return outcome
        after = patched()
        # Given objects contain only floats; patched objects contain whole numbers as ints.
        is_same = after is obj or (after == obj and _has_same_types(after, obj))
        return skipped("no patches applied") if is_same else mutated(after)

    return run


def _has_same_types(one: Json, other: Json) -> bool:
    """Return whether equal values are the same in Go, where an int64 is never a float64."""
    kind = one.__class__
    if kind is dict:
        return all(_has_same_types(value, other[key]) for key, value in one.items())
    if kind is list:
        return all(map(_has_same_types, one, other))
    return kind is other.__class__


def _compile_begin(
    context: RuleContext, loop: ForEachMutation, nesting: int
) -> Callable[
    [JSONContext, Json, int], tuple[Callable[[JSONContext], Outcome], Callable[[], Json]]
]:
    """Return a function that begins a loop over an object, with this number of elements.

    It returns a function that patches the object in the scope of an element, and one that returns
    the patched object.
    """
    meter = context.system.meter
    filled = None if loop.foreach else _compile_filled(context, loop)
    nested = loop.foreach and compile_loops(context.within("foreach"), loop.foreach, nesting + 1)
    merges = loop.patch_strategic_merge is not None

    def patch_whole(scope: JSONContext, obj: Json, applied: list[PatchOperation]) -> Outcome:
        if nested:
            return nested(scope, obj)
        if filled is None:
            return errored("empty mutate rule")

        def patched() -> Json:
            patcher = filled(scope)[1]
            applied.extend(patcher.operations)
            return patcher.apply(obj)

        return apply_patch(patched, obj)

    def begin(
        around: JSONContext, obj: Json, count: int
    ) -> tuple[Callable[[JSONContext], Outcome], Callable[[], Json]]:
        size = meter.weigh(obj) if count > FEW else 0
        if size and merges and filled is not None:
            return _begin_merges(filled, obj, size, meter)
        # Each iteration patches the whole object, ten parts of it in a step.
        meter.spend(count * (size // 10))
        before, operations = obj, list[PatchOperation]()

        def patch_all(scope: JSONContext) -> Outcome:
            nonlocal obj
            outcome = patch_whole(scope, obj, operations)
            if outcome.status is RuleStatus.PASS:
                obj = outcome.object
            return outcome

        def patched_all() -> Json:
            around.hints += moved_removals(before, operations, "set `order: Descending`")
            return obj

        return patch_all, patched_all

    return begin


def _begin_merges(
    filled: _Filled, obj: Json, size: int, meter: Meter
) -> tuple[Callable[[JSONContext], Outcome], Callable[[], Json]]:
    steps = size // 4  # parts that a merge visits, which compares each item of a list
    merged = ElementMerges(obj)

    def patch(scope: JSONContext) -> Outcome:
        def patched() -> Json:
            block, patcher = filled(scope)
            merge = block.get("patchStrategicMerge")
            return merged.merge(merge, patcher.apply, lambda: meter.spend(steps), meter.weigh)

        return apply_patch(patched, merged.shown)

    return patch, lambda: merged.result


def _compile_filled(context: RuleContext, loop: ForEachMutation) -> _Filled | None:
    """Return a function that replaces the variables of a loop's patch; None without patch."""
    patches: dict[str, object] = {}
    if loop.patch_strategic_merge is not None:
        patches["patchStrategicMerge"] = loop.patch_strategic_merge.data
    if loop.patches_json6902 is not None:
        patches["patchesJson6902"] = loop.patches_json6902.text
    if not patches:
        return None
    template = compile_template(patches, context.system)
    template = traced_template(template, "patch", context.trace.at(*patches))
    meter = context.system.meter
    if template.constant:
        fixed = template.value, compile_patcher(template.value, meter)
        return lambda _: fixed

    def filled(scope: JSONContext) -> tuple[Json, Patcher]:
        block = template.render(scope)
        return block, filled_patcher(block, meter)

    return filled


def _compile(context: RuleContext) -> CompiledBody:
    run = compile_loops(context.within("mutate", "foreach"), _loops(context.rule.tree))
    return lambda evaluation: run(evaluation.scope, object_to_patch(evaluation))


def _loops(rule: RuleNode) -> tuple[ForEachMutation, ...]:
    return (rule.mutate and rule.mutate.foreach) or ()


def _problems(rule: RuleNode) -> Iterator[Problem]:
    loops = _loops(rule)
    while loops:
        for loop in loops:
            has_patch = loop.patch_strategic_merge is not None
            others = (loop.context, loop.preconditions, loop.patches_json6902)
            if loop.foreach and (has_patch or any(others)):
                yield loop.path, "a nested foreach cannot contain other declarations"
                return
            if loop.foreach:
                # upstream checks only the first nested loop
                loops = loop.foreach
                break
            if has_patch == (loop.patches_json6902 is not None):
                yield (
                    loop.path,
                    "only one of `patchStrategicMerge` or `patchesJson6902` is allowed",
                )
                return
        else:
            return


RULE_TYPE = RuleType(
    ("mutate", "foreach"),
    Phase.MUTATE,
    _compile,
    counts=lambda rule: bool(_loops(rule)),
    problems=_problems,
    patterns=lambda rule: first_map(one.patch_strategic_merge for one in _loops(rule)),
    facts=lambda facts, rule, _: facts._replace(patches_elements=bool(_loops(rule))),
)
