"""Tracing of CEL expressions and constraints: for `explain`, and for the coverage of tests."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from kyvsim.cel import Program
from kyvsim.cel.environment import Frame, Run
from kyvsim.cel.nodes import Call, Loop, Node, Select
from kyvsim.cel.unparse import object_path, start_of, written
from kyvsim.cel.values import plain, show_value
from kyvsim.engine.compile.tracing import CHECKED, DENIED, Ends
from kyvsim.engine.match import MatchFacts, Predicate, kind_text
from kyvsim.kubernetes.objects import Path
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.source import Location
from kyvsim.model.tracing import LONGEST_TRACED, Outcomes, PointKind, TraceContext, counted, traced
from kyvsim.policy.cel_policy import CelPolicyNode

# Expressions in CEL.

_JSON = (str, int, float, bool, list, dict, type(None))
_OWN = "expression"
_TRUTH: Outcomes[object] = Outcomes(
    PointKind.CONDITION, ("true", "false"), lambda found: 0 if found is True else 1
)
_CONSTANT: Mapping[str, Outcomes[object]] = {
    name: Outcomes(PointKind.CONDITION, (name,), lambda _: 0) for name in ("true", "false")
}
"""The only outcome of an expression that is a constant."""
_EVALUATED: Outcomes[object] = Outcomes(PointKind.EXPRESSION, ("evaluated",), lambda _: 0)


def ends_of_validations(spec: CelPolicyNode) -> Ends:
    """Return the possible outcomes of a policy with validations."""
    return DENIED if any(one.expression.strip() == "false" for one in spec.validations) else CHECKED


def traced_program(program: Program, trace: TraceContext, *, decides: bool = True) -> Program:
    """Return a program that reports to a tracer; the program itself without one.

    It traces its value and those of its parts, except names and literals. Coverage counts how
    often one that `decides` was true and false; others only that they were evaluated.
    """
    if trace.tracer is None:
        return program
    outcomes = _CONSTANT.get(program.text.strip(), _TRUTH) if decides else _EVALUATED
    if not trace.takes_steps:
        return program._replace(run=counted(trace, program.run, outcomes))

    def on_node(node: Node, run: Run) -> Run:
        if not isinstance(node, Call | Loop | Select):
            return run
        path = object_path(node)
        step = Step(StepKind.EXPRESSION, text=written(node), path=path, rooted=path is not None)

        def where() -> Location | None:
            return trace.locate_in(program.text, start_of(node, program.text))

        return traced(trace, run, step, _with_value, where=where)

    @cache
    def observed() -> Run:
        # Compiled again when it is first evaluated: most variants of a policy never are.
        return program.with_hook(on_node).run

    def run_observed(frame: Frame) -> object:
        return observed()(frame)

    inside = trace.place.inside if trace.place else ()
    kind = StepKind.VARIABLE if "variables" in inside else StepKind.EXPRESSION
    name = ""
    for part in inside[:-1] if inside[-1:] == (_OWN,) else inside:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    step = Step(kind, name, program.text.strip())
    run = run_observed if len(program.text) <= LONGEST_TRACED else program.run
    run = traced(trace, run, step, _with_value, outcomes=outcomes)
    return program._replace(run=run)


def _with_value(step: Step, found: object, _: object) -> Step:
    answer = found if isinstance(found, bool) else None
    value = plain(found)
    return step._replace(
        answer=answer, found=Value(value if isinstance(value, _JSON) else show_value(value))
    )


# Constraints of policies in CEL.


def traced_parts(
    parts: Iterable[tuple[str, object, Predicate]], trace: TraceContext
) -> tuple[Predicate, ...]:
    """Return the predicates of constraints, or of one of their rules, which trace their results.

    Each part has a name and the written value.
    """
    if not trace.takes_steps:
        return tuple(test for _, _, test in parts)
    return tuple(_traced_part(name, written, test, trace) for name, written, test in parts)


def _traced_part(name: str, written: object, test: Predicate, trace: TraceContext) -> Predicate:
    look, path = _CRITERIA.get(name, (None, None))
    wanted = None if look is None else Value(written)
    step = Step(StepKind.CRITERION, name, wanted=wanted, path=path, rooted=path is not None)

    def complete(step: Step, found: bool, facts: MatchFacts) -> Step:
        return step._replace(answer=found, found=Value(look(facts)) if look else None)

    return traced(trace.at(name), test, step, complete)


_CRITERIA: Mapping[str, tuple[Callable[[MatchFacts], object], Path | None]] = {
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
