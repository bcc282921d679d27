"""Blocks of conditions: `any` and `all` lists, lists of such maps, and plain lists.

upstream: pkg/engine/variables/evaluate.go and, for exceptions, pkg/utils/conditions.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from kyvsim.engine.conditions.operators import Operator, operators
from kyvsim.jmespath import RuleScope, SubstitutionError, System, Template, compile_template
from kyvsim.jmespath.closures import MissingValue, Run
from kyvsim.jmespath.query import NodeHook
from kyvsim.jmespath.variables import FieldStep, Variable, path_of_text
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.ports import FEW, Meter
from kyvsim.model.tracing import (
    LONGEST_TRACED,
    NO_TRACE,
    Outcomes,
    PointKind,
    TraceContext,
    counted,
    traced,
    with_answer,
    with_found,
)
from kyvsim.policy.tree import Condition, ConditionGroup, Conditions

# Conditions that trace the values of both sides.

_STARTS = ((("request", "object"), True), (("target",), True), (("element",), False))
"""The beginnings of paths to an object, and whether it is the whole object."""


def _traced_side(written: Json, side: str, system: System, trace: TraceContext) -> Template:
    """Return a side of a condition that traces its value when it is rendered.

    For an expression that is not only a path each part is traced, unless it is long: nested parts
    are printed once for each level.
    """
    path, is_whole = _path_of(written)
    place = trace.at(side)
    access = path_of_text(written)
    is_plain_path = access is not None and not access.default and access.besides is None
    is_long = isinstance(written, str) and len(written) > LONGEST_TRACED
    on_node = None if is_plain_path or is_long else partial(_hook_in, place, written)
    template = compile_template(written, system, on_node)
    begun = Step(StepKind.SIDE, side, wanted=Value(written), path=path, rooted=is_whole)
    return template._replace(render=traced(place, template.render, begun, with_found))


def _hook_in(place: TraceContext, text: str, variable: Variable) -> NodeHook:
    expression = variable.expression
    start = variable.start + variable.text.index(expression)

    def on_node(span: tuple[int, int], run: Run) -> Run:
        first, last = span
        part = expression[first:last].strip()
        path, is_whole = _path_of(f"{{{{{part}}}}}")
        shown = " ".join(map(str.strip, part.splitlines()))
        begun = Step(StepKind.EXPRESSION, text=shown, path=path, rooted=is_whole)
        return traced(
            place, run, begun, _completed, where=lambda: place.locate_in(text, start + first)
        )

    return on_node


def _completed(step: Step, found: object, _: object) -> Step:
    if found.__class__ is MissingValue:
        return step._replace(note=f"no `{found.key}`")
    return step._replace(found=Value(found))


def _path_of(written: object) -> tuple[Path | None, bool]:
    """Return the path of a side, if it is only a path, and whether it starts at the object.

    If not, the path starts at the element of a loop.
    """
    access = path_of_text(written)
    for start, is_whole in _STARTS:
        below = access.below(*start) if access else None
        if below is not None:
            keys = []
            for one in below.steps:
                if not isinstance(one, FieldStep):
                    break
                keys.append(one.key)
            return tuple(keys), is_whole
    return None, False


def _traced_condition(
    holds: Callable[[RuleScope], bool],
    condition: Condition,
    sides: tuple[Template, Template],
    trace: TraceContext,
) -> Callable[[RuleScope], bool]:
    """Return a condition that traces its answer, and its constant sides."""
    key, value = sides
    begun = Step(StepKind.CONDITION, trace.name, condition.operator, note=condition.message)
    trace_key = _traced_constant(key, "key", trace)
    trace_value = _traced_constant(value, "value", trace)

    def run(scope: RuleScope) -> bool:
        trace_key()
        found = holds(scope)
        trace_value()
        return found

    return traced(trace, run, begun, with_answer)


def _traced_constant(template: Template, side: str, trace: TraceContext) -> Callable[[], object]:
    """Return a function that traces a side of a condition if it is a constant."""
    if not template.constant:
        return lambda: None
    begun = Step(StepKind.SIDE, side, wanted=Value(template.value))
    return traced(trace.at(side), lambda: template.value, begun, with_found)


class ConditionError(Exception):
    """A condition that could not be evaluated; `message` is upstream's text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConditionsResult(NamedTuple):
    """Whether the conditions hold, and the messages of those that decided it, joined."""

    met: bool
    messages: str = ""


_MULTIPLE: Final = (list, str)
"""Types of values with many elements: strings may contain lists."""
_PAIRS: Final = 4
"""The number of comparisons in a step."""
MET: Final = ConditionsResult(True)
UNMET: Final = ConditionsResult(False)

Evaluate: TypeAlias = Callable[[RuleScope], ConditionsResult]


class _CompiledCondition(NamedTuple):
    """One condition; `fixed` is its outcome if it is known at compile time."""

    holds: Callable[[RuleScope], bool]
    message: str
    fixed: bool | None


def compile_conditions(
    conditions: Conditions | None, system: System, trace: TraceContext = NO_TRACE
) -> Evaluate:
    """Return a function that evaluates a block of conditions.

    `any` stops at the first condition that holds, `all` at the first that does not, so errors in
    later ones are not reported. Evaluation raises `ConditionError`. A missing block holds; `trace`
    is that of the block.
    """
    note = "" if conditions and conditions.effective else "none, so they are met"
    return _traced_block(_compile_groups(conditions, system, trace), trace, note)


def _compile_groups(conditions: Conditions | None, system: System, trace: TraceContext) -> Evaluate:
    groups = conditions.effective if conditions else ()
    if all(group.is_bare for group in groups):
        bare = [one for group in groups for one in group.conditions]
        return _all_of(_compile_list(bare, system, trace), ";")
    blocks = [_compile_group(group, system, trace) for group in groups]
    if len(blocks) == 1:
        return blocks[0]

    def evaluate(scope: RuleScope) -> ConditionsResult:
        texts = []
        for block in blocks:
            result = block(scope)
            if not result.met:
                return result
            texts.append(result.messages)
        return ConditionsResult(True, _joined(texts, ";"))

    return evaluate


def _traced_block(evaluate: Evaluate, trace: TraceContext, note: str = "") -> Evaluate:
    """Return a block of conditions that traces whether it holds."""
    if trace.tracer is None:
        return evaluate
    begun = Step(StepKind.CONDITIONS, trace.name, note=note)
    return traced(trace, evaluate, begun, lambda step, found, _: step._replace(answer=found.met))


def compile_exception_conditions(
    conditions: Conditions, system: System, trace: TraceContext = NO_TRACE
) -> Evaluate:
    """Return the same for the conditions of an exception: `all` is first, an empty `any` holds.

    Messages are omitted.
    """
    every = (one for group in conditions.groups for one in group.all or ())
    some = (one for group in conditions.groups for one in group.any or ())
    first = _all_of(_compile_list(every, system, trace))
    alternatives = _compile_list(some, system, trace)
    second = _any_of(alternatives) if alternatives else None

    def evaluate(scope: RuleScope) -> ConditionsResult:
        if not first(scope).met:
            return UNMET
        return MET if second is None or second(scope).met else UNMET

    return _traced_block(evaluate, trace)


def _compile_group(group: ConditionGroup, system: System, trace: TraceContext) -> Evaluate:
    """Return the evaluation of one group; an empty `any` never holds."""
    all_of = _all_of(_compile_list(group.all or (), system, trace))
    if group.any is None:
        return all_of
    some = _compile_list(group.any, system, trace)
    return _both(some, all_of) if group.all else _any_of(some)


def _both(some: Sequence[_CompiledCondition], all_of: Evaluate) -> Evaluate:
    """Return the evaluation of `any` and `all` together; `all` is always evaluated."""

    def evaluate(scope: RuleScope) -> ConditionsResult:
        refused: list[str] = []
        accepted = None
        for holds, message, _ in some:
            if holds(scope):
                accepted = message
                break
            refused.append(message)
        rest = all_of(scope)
        if accepted is not None and rest.met:
            return ConditionsResult(True, _joined((accepted, rest.messages), "; "))
        texts = refused if rest.met else [*refused, rest.messages]
        return ConditionsResult(False, _joined(texts, "; "))

    return evaluate


def _any_of(conditions: Sequence[_CompiledCondition]) -> Evaluate:
    useful = tuple(each for each in conditions if each.fixed is not False or each.message)
    unmet = ConditionsResult(False, _joined([each.message for each in conditions], "; "))

    def evaluate(scope: RuleScope) -> ConditionsResult:
        for holds, message, _ in useful:
            if holds(scope):
                return ConditionsResult(True, message) if message else MET
        return unmet

    return evaluate


def _all_of(conditions: Sequence[_CompiledCondition], separator: str = "; ") -> Evaluate:
    useful = tuple(each for each in conditions if each.fixed is not True)
    met = ConditionsResult(True, _joined([each.message for each in conditions], separator))
    if not useful:
        return lambda _: met

    def evaluate(scope: RuleScope) -> ConditionsResult:
        for holds, message, _ in useful:
            if not holds(scope):
                return ConditionsResult(False, message) if message else UNMET
        return met

    return evaluate


def _joined(texts: Sequence[str], separator: str) -> str:
    return separator.join(text for text in texts if text)


def _compile_list(
    conditions: Iterable[Condition], system: System, trace: TraceContext
) -> tuple[_CompiledCondition, ...]:
    return tuple(_compile_condition(one, system, trace.to(one.path)) for one in conditions)


def _compile_condition(
    condition: Condition, system: System, trace: TraceContext
) -> _CompiledCondition:
    """Return a compiled condition; with a tracer it is evaluated even if its outcome is known."""
    sides = _compared(condition.key), _compared(condition.value)
    key, value = (compile_template(side, system) for side in sides)
    if trace.takes_steps:
        seen_key = _traced_side(sides[0], "key", system, trace)
        seen_value = _traced_side(sides[1], "value", system, trace)
        compiled = _compile_sides(condition, seen_key, seen_value, system.meter)
        holds = _traced_condition(compiled.holds, condition, (key, value), trace)
        compiled = compiled._replace(holds=holds, fixed=None)
    else:
        compiled = _compile_sides(condition, key, value, system.meter)
    if trace.tracer is None:
        return compiled
    answers = (True, False) if compiled.fixed is None else (compiled.fixed,)
    names = tuple("true" if answer else "false" for answer in answers)
    holds = counted(trace, compiled.holds, Outcomes(PointKind.CONDITION, names, answers.index))
    return compiled if holds is compiled.holds else compiled._replace(holds=holds, fixed=None)


def _compile_sides(
    condition: Condition, key: Template, value: Template, meter: Meter
) -> _CompiledCondition:
    message = condition.message
    operator = operators.get(condition.operator)
    if operator is None:
        return _CompiledCondition(_unknown_operator, message, None)
    if value.constant:
        test = _counting(operator, value.value, meter)
        if key.constant:
            outcome = test(key.value)
            return _CompiledCondition(lambda _: outcome, message, outcome)
        render = key.render

        def holds(scope: RuleScope) -> bool:
            try:
                found = render(scope)
            except SubstitutionError as error:
                raise _key_error(error) from error
            return test(found)

        return _CompiledCondition(holds, message, None)
    compare, pairs = operator.holds, operator.pairs
    render_key, render_value = key.render, value.render

    def compare_both(scope: RuleScope) -> bool:
        try:
            left = render_key(scope)
        except SubstitutionError as error:
            raise _key_error(error) from error
        try:
            right = render_value(scope)
        except SubstitutionError as error:
            text = f"failed to substitute variables in condition value: {error.message}"
            raise ConditionError(text) from error
        if pairs is not None and left.__class__ is list and len(left) > FEW:
            meter.spend(pairs(left, right) // _PAIRS)
        return compare(left, right)

    return _CompiledCondition(compare_both, message, None)


def _compared(data: object) -> object:
    """Return a key or value for comparison: a number that is not in a list or map is a float."""
    return float(data) if data.__class__ is int else data


def _unknown_operator(_: RuleScope) -> bool:
    raise ConditionError("failed to create handler for condition operator: %!w(<nil>)")


def _counting(operator: Operator, value: object, meter: Meter) -> Callable[[object], bool]:
    test, pairs = operator.test(value), operator.pairs
    if pairs is None or not isinstance(value, _MULTIPLE) or len(value) <= FEW:
        return test

    def counted(key: object) -> bool:
        meter.spend(pairs(key, value) // _PAIRS)
        return test(key)

    return counted


def _key_error(error: SubstitutionError) -> ConditionError:
    return ConditionError(f"failed to substitute variables in condition key: {error.message}")
