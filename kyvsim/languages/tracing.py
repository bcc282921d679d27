"""Tracing of CEL expressions and constraints: for `explain`, and for the coverage of tests."""

from collections.abc import Callable, Mapping
from typing import Any

from kyvsim.cel import Program
from kyvsim.cel.environment import Run
from kyvsim.cel.nodes import Call, Loop, Node, Select
from kyvsim.cel.unparse import object_path, start_of, written
from kyvsim.cel.values import plain, show_value
from kyvsim.engine.match import MatchFacts, Predicate
from kyvsim.engine.match.block import traced_block
from kyvsim.engine.match.criteria import kind_text
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.tracing import LONGEST_TRACED, PointKind, TraceContext, traced

# Expressions in CEL, for `explain`.

_JSON = (str, int, float, bool, list, dict, type(None))
_OWN = "expression"


def traced_program(program: Program, trace: TraceContext) -> Program:
    """Return a program that traces its value and those of its parts, but for names and literals."""

    def on_node(node: Node, run: Run) -> Run:
        if not isinstance(node, Call | Loop | Select):
            return run
        path = object_path(node)
        step = Step(StepKind.EXPRESSION, text=written(node), path=path, rooted=path is not None)
        start = start_of(node, program.text)
        return traced(
            trace, run, step, _with_value, where=lambda: trace.locate_in(program.text, start)
        )

    observed = program.with_hook(on_node) if len(program.text) <= LONGEST_TRACED else program
    inside = trace.place.inside if trace.place else ()
    kind = StepKind.VARIABLE if "variables" in inside else StepKind.EXPRESSION
    name = ""
    for part in inside[:-1] if inside[-1:] == (_OWN,) else inside:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    step = Step(kind, name, program.text.strip())
    return observed._replace(run=traced(trace, observed.run, step, _with_value))


def _with_value(step: Step, found: Any, _: list[Any]) -> Step:
    answer = found if isinstance(found, bool) else None
    value = plain(found)
    return step._replace(
        answer=answer, found=Value(value if isinstance(value, _JSON) else show_value(value))
    )


# Expressions in CEL, for coverage.


def with_coverage(program: Program, trace: TraceContext, *, decides: bool = True) -> Program:
    """Return a program that reports its outcomes for coverage; the program itself without coverage.

    Outcomes of one that `decides` are true and false; of others only that they were evaluated.
    """
    if trace.tracer is not None:
        program = traced_program(program, trace)
    if decides:
        seen = trace.point(PointKind.CONDITION, "true", "false")
    else:
        seen = trace.point(PointKind.EXPRESSION, "evaluated")
    if seen is None:
        return program
    run = program.run

    def counted(frame: list[Any]) -> Any:
        found = run(frame)
        seen(0 if found is True or not decides else 1)
        return found

    return program._replace(run=counted)


# Constraints of policies in CEL, for `explain`.


def traced_constraints(matches: Predicate, trace: TraceContext) -> Predicate:
    """Return constraints that trace whether they matched as a whole, if there is a tracer."""
    if trace.tracer is None:
        return matches
    return traced_block(matches, StepKind.MATCH.value, trace)


def traced_parts(
    parts: list[tuple[str, Json, Predicate]], trace: TraceContext
) -> list[tuple[str, Json, Predicate]]:
    """Return parts of constraints, or of one of their rules, that trace their results."""
    return [
        (name, written, _traced_part(name, written, test, trace)) for name, written, test in parts
    ]


def _traced_part(name: str, written: Json, test: Predicate, trace: TraceContext) -> Predicate:
    look, path = _CRITERIA.get(name, (None, None))
    wanted = None if look is None else Value(written)
    step = Step(StepKind.CRITERION, name, wanted=wanted, path=path, rooted=path is not None)

    def complete(step: Step, found: bool, facts: MatchFacts) -> Step:
        return step._replace(answer=found, found=Value(look(facts)) if look else None)

    return traced(trace.at(name), test, step, complete)


_CRITERIA: Mapping[str, tuple[Callable[[MatchFacts], Json], Path | None]] = {
    "apiGroups": (lambda facts: facts.group, ("apiVersion",)),
    "apiVersions": (lambda facts: facts.version, ("apiVersion",)),
    "resources": (kind_text, ("kind",)),
    "operations": (lambda facts: facts.operation, None),
    "scope": (lambda facts: facts.namespace, ("metadata", "namespace")),
    "resourceNames": (lambda facts: facts.name, ("metadata", "name")),
    "namespaceSelector": (lambda facts: dict(facts.namespace_labels), None),
    "objectSelector": (lambda facts: dict(facts.labels), ("metadata", "labels")),
    "namespace of the policy": (lambda facts: facts.namespace, ("metadata", "namespace")),
}
"""The value that each part tests, and its path if it is in the object."""
