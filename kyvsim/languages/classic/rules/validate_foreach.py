"""`validate.foreach`: every element of a list must pass a pattern, a deny block or a loop.

Source of the rules: upstream pkg/engine/handlers/validation/validate_resource.go.
"""

from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import Final

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    errored,
    nothing_checked,
)
from kyvsim.engine.conditions import ConditionError, compile_conditions
from kyvsim.jmespath import QueryError
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.rule_type import LOOPS_PASSED, Problem, RuleContext, RuleType
from kyvsim.languages.classic.rules.loops import (
    compile_elements,
    compile_list,
    first_map,
    is_absent,
)
from kyvsim.languages.classic.rules.validate_deny import compile_deny
from kyvsim.languages.classic.rules.validate_pattern import (
    compile_any_pattern_body,
    compile_pattern_body,
)
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.policy.rule import ForEachValidation, RuleNode

_GO_TYPES: Final = MappingProxyType(
    {str: "string", float: "float64", int: "int64", bool: "bool", list: "[]interface {}"}
)


def compile_loops(
    context: RuleContext, loops: Sequence[ForEachValidation], nesting: int = 0
) -> CompiledBody:
    """Return the body of a list of `foreach` blocks; nested ones increase `nesting`."""
    compiled = [
        (
            loop.list,
            compile_list(loop.list, context.system, context.trace.at(index)),
            _compile_loop(context.within(index), loop, nesting),
        )
        for index, loop in enumerate(loops)
    ]

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        checked, list_error = 0, None
        unchecked: list[str] = []
        for expression, list_of, run in compiled:
            try:
                elements = list_of(evaluation.scope)
            except QueryError as error:
                # A missing list has no elements.
                if not is_absent(error):
                    list_error = error
                    unchecked.append(f"`{expression}`: {error.message}")
                continue
            ended, count = run(evaluation, elements, unchecked)
            if ended:
                return ended
            checked += count
        if checked:
            return LOOPS_PASSED._replace(unchecked=tuple(unchecked)) if unchecked else LOOPS_PASSED
        if list_error:
            return errored("failed to evaluate list", list_error)
        return nothing_checked(tuple(unchecked)) if unchecked else None

    return evaluate


def _compile_loop(
    context: RuleContext, loop: ForEachValidation, nesting: int
) -> Callable[[Evaluation, list[Json], list[str]], tuple[Outcome | None, int]]:
    """Return a function that checks elements until one fails, and adds skipped ones to a list."""
    elements_of = compile_elements(loop.context, nesting, context.system, context.trace)
    preconditions = compile_conditions(
        loop.preconditions, context.system, context.trace.at("preconditions")
    )
    body = _compile_body(context, loop, nesting)
    element_scope = loop.element_scope

    def run(
        evaluation: Evaluation, values: list[object], unchecked: list[str]
    ) -> tuple[Outcome | None, int]:
        checked = 0
        for index, element, scope in elements_of(evaluation.scope, enumerate(values)):
            if element_scope and element.__class__ is not dict:
                reason = (
                    "cannot use elementScope=true foreach rules for elements that are not maps, "
                    f"expected type=map got type={_GO_TYPES[element.__class__]}"
                )
                return errored("failed to process foreach", reason), checked
            try:
                if not preconditions(scope).met:
                    continue
            except ConditionError as error:
                unchecked.append(f"element {index} of `{loop.list}`: {error}")
                continue
            # Patterns check an element that is a map.
            scoped = element.__class__ is dict if element_scope is None else element_scope
            subject = element if scoped else evaluation.element
            outcome = body(evaluation._replace(scope=scope, element=subject))
            if outcome is None:
                continue
            unchecked += outcome.unchecked
            if outcome.status is RuleStatus.SKIP:
                continue
            if outcome.status is not RuleStatus.PASS:
                message = f"validation failure: {outcome.message}"
                # The path begins at the element, and could be that of another field of the object.
                return outcome._replace(message=message, path=""), checked
            checked += 1
        return None, checked

    return run


def _compile_body(context: RuleContext, loop: ForEachValidation, nesting: int) -> CompiledBody:
    if loop.deny is not None:
        return compile_deny(context.within("deny"), loop.deny.conditions)
    if loop.pattern is not None:
        return compile_pattern_body(context, loop.pattern)
    if loop.any_pattern is not None or loop.invalid_any_pattern is not None:
        return compile_any_pattern_body(context, loop)
    return compile_loops(context.within("foreach"), loop.foreach or (), nesting + 1)


def _loops(rule: RuleNode) -> Sequence[ForEachValidation]:
    return (rule.validate and rule.validate.foreach) or ()


def _problems(rule: RuleNode) -> Iterator[Problem]:
    for loop in _loops(rule):
        has_any_pattern = loop.any_pattern is not None or loop.invalid_any_pattern is not None
        bodies = (loop.pattern is not None, has_any_pattern, loop.deny is not None)
        count = sum(bodies) + bool(loop.foreach)
        if not loop.list:
            yield loop.path, "foreach.list is required"
        elif count != 1:
            start = "only one" if count else "one"
            end = "can be specified" if count else "must be specified"
            yield loop.path, f"{start} of pattern, anyPattern, deny, or a nested foreach {end}"


RULE_TYPE = RuleType(
    ("validate", "foreach"),
    Phase.VALIDATE,
    lambda context: compile_loops(context.within("validate", "foreach"), _loops(context.rule.tree)),
    problems=_problems,
    patterns=lambda rule: first_map(loop.pattern for loop in _loops(rule)),
)
