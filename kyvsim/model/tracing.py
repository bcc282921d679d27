"""Coverage and tracing: the points of compiled policies, and what is reached when they run.

Points are what tests can reach in policies; each counts how often every outcome of it came up.
"""

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from kyvsim.kubernetes.objects import Path
from kyvsim.model.explanation import RuleRun, Step, Value
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Document, Location, place_in_text

# What tests can reach in policies: points, and how often each outcome of theirs came up.


class PointKind(StrEnum):
    """What stands at a point."""

    RULE = "rule"
    """A rule: passed and failed, or applied where it can't fail."""
    VARIANT = "variant"
    """The forms of a rule that autogen carries over to pod controllers: each applied."""
    MATCH = "match"
    """A filter of a match block: matched."""
    EXCLUDE = "exclude"
    """A filter of an exclude block: excluded."""
    CONDITION = "condition"
    """A precondition or deny condition: true, false."""
    ALTERNATIVE = "anyPattern"
    """A pattern of an `anyPattern`: chosen."""
    FOREACH = "foreach"
    """A loop: over no element, over one, over several."""
    EXPRESSION = "expression"
    """An expression of a policy in CEL that decides nothing by itself: evaluated."""
    EXCEPTION = "exception"
    """An entry of a policy exception: applied."""


# Coverage and tracing of compiled policies.
#
# By default there is neither, and no closure is wrapped. A coverage sink counts outcomes; a tracer
# gets every step with the values that it found (`model/explanation.py`).


_Looked = TypeVar("_Looked")


class PolicyPlace(NamedTuple):
    """A place in a policy or an exception, and the rule that it belongs to."""

    document: Document
    policy: str
    rule: str
    root: Path
    """Where the rule stands in the document."""
    inside: Path = ()
    """The way from there."""


Seen: TypeAlias = Callable[[int], None]
"""Counts the outcome of this number once more."""

CoverageSink: TypeAlias = Callable[[PolicyPlace, PointKind, tuple[str, ...]], Seen | None]
"""Takes notice of a point and the names of its outcomes; None where they are not to be counted."""


class Tracer(Protocol):
    """Receives the steps of an evaluation."""

    def evaluate(self, run: RuleRun) -> None:
        """Begin the evaluation of a rule: the steps that follow belong to it."""

    def resume(self, run: RuleRun) -> None:
        """Attribute the steps that follow to a rule, though it may not have begun."""

    def begin(self) -> int:
        """Begin a step; return the mark to end it with, 0 to leave it out."""

    def end(self, mark: int, step: Step | None) -> None:
        """End a step that contains all steps since the mark; None leaves these out."""


class TraceContext(NamedTuple):
    """A place that is being compiled, with the coverage sink and the tracer for it."""

    place: PolicyPlace | None = None
    coverage_sink: CoverageSink | None = None
    tracer: Tracer | None = None

    def at(self, *steps: str | int) -> "TraceContext":
        """Return the context of a place further in."""
        if self.place is None:
            return self
        document, policy, rule, root, inside = self.place
        place = PolicyPlace(document, policy, rule, root, (*inside, *steps))
        return TraceContext(place, self.coverage_sink, self.tracer)

    @property
    def path(self) -> Path:
        """The path of the place in its document; () where there is no place."""
        return (*self.place.root, *self.place.inside) if self.place else ()

    def to(self, path: Path) -> "TraceContext":
        """Return the context of the node at a path of the document, within the same rule."""
        if self.place is None:
            return self
        document, policy, rule, root, _ = self.place
        place = PolicyPlace(document, policy, rule, root, path[len(root) :])
        return TraceContext(place, self.coverage_sink, self.tracer)

    @property
    def name(self) -> str:
        """The place in short: `any[0]`, `preconditions`."""
        inside = self.place.inside if self.place else ()
        numbers = 0
        while numbers < len(inside) and isinstance(inside[-1 - numbers], int):
            numbers += 1
        named = inside[-1 - numbers] if numbers < len(inside) else ""
        return f"{named}{''.join(f'[{one}]' for one in inside[len(inside) - numbers :])}"

    def locate(self) -> Location | None:
        """Return where it stands in its file."""
        place = self.place
        return place.document.locate((*place.root, *place.inside)) if place else None

    def locate_in(self, text: str, offset: int) -> Location | None:
        """Return where a character of the text that stands here is in its file."""
        place = self.place
        path = (*place.root, *place.inside) if place else ()
        return place_in_text(place.document, path, text, offset) if place else None

    def point(self, kind: PointKind, *outcomes: str) -> Seen | None:
        """Register a point here; return what counts its outcomes, None without a sink."""
        if self.place is None or self.coverage_sink is None:
            return None
        return self.coverage_sink(self.place, kind, outcomes)

    def branch(
        self, kind: PointKind, outcome: str, test: Callable[[_Looked], bool]
    ) -> Callable[[_Looked], bool]:
        """Return the test as one that counts when it holds; the test itself without a sink."""
        seen = self.point(kind, outcome)
        if seen is None:
            return test

        def counted(looked_at: _Looked) -> bool:
            holds = test(looked_at)
            if holds:
                seen(0)
            return holds

        return counted


NO_TRACE = TraceContext()


# Closures that report themselves as steps to a tracer.


_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")

LONGEST_TRACED = 2_000
"""Characters of an expression whose parts are traced, too; longer ones would be unreadable."""


def traced(
    trace: TraceContext,
    run: Callable[_Given, _Found],
    begun: Step,
    complete: Callable[Concatenate[Step, _Found, _Given], Step],
    *,
    where: Callable[[], Location | None] | None = None,
) -> Callable[_Given, _Found]:
    """Return `run` as a closure that reports a step; `run` itself without a tracer.

    `complete` adds to the step `begun` what was found for the arguments. Where `run` raises, the
    step is an error, and the error goes on. The step is at the place of `trace`, or at `where`.
    """
    tracer = trace.tracer
    if tracer is None:
        return run
    known: Step | None = None

    def placed() -> Step:
        nonlocal known
        if known is None:
            known = begun._replace(place=(where or trace.locate)())
        return known

    def wrapper(*given: _Given.args, **named: _Given.kwargs) -> _Found:
        mark = tracer.begin()
        if not mark:
            return run(*given, **named)
        step: Step | None = None
        try:
            found = run(*given, **named)
            step = complete(placed(), found, *given, **named)
        finally:
            if step is None:
                error: Any = sys.exception()
                text = getattr(error, "message", "") or str(error)
                step = placed()._replace(answer=RuleStatus.ERROR, note=text)
            tracer.end(mark, step)
        return found

    return wrapper


def with_answer(step: Step, found: Any, *_: Any) -> Step:
    """Return a step whose answer is what was found."""
    return step._replace(answer=found)


def with_found(step: Step, found: Any, *_: Any) -> Step:
    """Return a step with what was found, which is not an answer."""
    return step._replace(found=Value(found))


def trace_step(trace: TraceContext, step: Step) -> None:
    """Report a step without inner steps, if there is a tracer."""
    if trace.tracer is not None:
        mark = trace.tracer.begin()
        trace.tracer.end(mark, step._replace(place=step.place or trace.locate()))


def untraced(trace: TraceContext, run: Callable[[], _Found]) -> _Found:
    """Return the result of `run`, whose steps are left out."""
    if trace.tracer is None:
        return run()
    mark = trace.tracer.begin()
    try:
        return run()
    finally:
        trace.tracer.end(mark, None)
