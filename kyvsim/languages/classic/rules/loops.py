"""Code shared by all `foreach`: the list, the elements, and their names in expressions.

Source of the rules: upstream pkg/engine/utils/foreach.go, pkg/engine/context (AddElement).
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeAlias

from kyvsim.engine.compile.tracing import LoopElement, traced_elements
from kyvsim.engine.context import JSONContext, compile_entries
from kyvsim.jmespath import QueryError, QuerySyntaxError, System, compile_query
from kyvsim.kubernetes.objects import Json
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.ports import FEW
from kyvsim.model.tracing import NO_TRACE, PointKind, TraceContext, traced, with_found
from kyvsim.policy.tree import ContextEntry, Pattern, PatternMap

_STEPS = 10
"""The steps of an element: a scope, a template, a check."""

ListOf: TypeAlias = Callable[[JSONContext], list[Json]]


def compile_list(expression: str, system: System, trace: TraceContext = NO_TRACE) -> ListOf:
    """Return a function that evaluates a loop's list; any other value counts as a list of one.

    Raises `QueryError` at evaluation, with upstream's text.
    """
    list_of = _compile_list(expression, system)
    if trace.tracer is None:
        return list_of
    step = Step(StepKind.LOOP, trace.name, expression)
    list_of = traced(trace.at("list"), list_of, step, with_found)
    count = trace.declare(PointKind.FOREACH, "no element", "one element", "several elements")
    if count is None:
        return list_of

    def covered(scope: JSONContext) -> list[Json]:
        """Count elements for coverage; a missing list has none."""
        try:
            found = list_of(scope)
        except QueryError as error:
            if is_absent(error):
                count(0)
            raise
        count(min(2, sum(one is not None for one in found)))
        return found

    return covered


def is_absent(error: QueryError) -> bool:
    """Return whether a list is missing; upstream compares the message."""
    return "Unknown key" in error.message


def hints_for_list(expression: str, error: QueryError) -> tuple[str, ...]:
    """Return what to do about a missing list, if a rule needs it."""
    if not is_absent(error):
        return ()
    default = f"`` {expression.strip()} || `[]` ``"
    return (f"the list is missing: check its spelling, or write {default} for no elements",)


def _compile_list(expression: str, system: System) -> ListOf:
    problem = QueryError("invalid query (nil): invalid query (nil)")
    query = None
    try:
        query = compile_query(expression.strip(), system) if expression else None
    except QuerySyntaxError as error:
        problem = QueryError(f"incorrect query {expression.strip()}: {error.message}")

    def evaluate(scope: JSONContext) -> list[Json]:
        if query is None:
            # upstream does not check lists in a policy, so the rule fails.
            raise problem
        root = scope.root(query.names)
        try:
            found = query.evaluate(root)
        except QueryError as error:
            raise QueryError(f"JMESPath query failed: {error.message}") from error
        if found.__class__ is not list:
            return [found]
        if len(found) > FEW:
            system.meter.spend(len(found) * _STEPS)
        return found

    return evaluate


def first_map(patterns: Iterable[Pattern | None]) -> Iterator[Pattern]:
    """Yield the first of the loops' patterns that is a map: upstream checks no others."""
    maps = (one for one in patterns if one is not None and isinstance(one.root, PatternMap))
    return islice(maps, 1)


def compile_elements(
    context: Iterable[ContextEntry], nesting: int, system: System, trace: TraceContext = NO_TRACE
) -> Callable[[JSONContext, Iterable[tuple[int, Json]]], Iterator[LoopElement]]:
    """Return a function that yields the elements of a loop with this context, except null.

    Each is yielded with its index, and with its own scope.
    """
    entries = compile_entries(context, system, trace)
    level = str(nesting)

    def elements(
        scope: JSONContext, numbered: Iterable[tuple[int, object]]
    ) -> Iterator[LoopElement]:
        for index, value in numbered:
            if value is None:
                continue
            names = {
                "element": value,
                f"element{level}": value,
                "elementIndex": index,
                f"elementIndex{level}": index,
            }
            yield index, value, scope.layer(names, entries)

    return traced_elements(elements, trace)
