"""The tracer of compiled policies, for coverage and `explain`.

Without a tracer, closures are not wrapped. With one, `traced` wraps a construct once and defines
its outcomes for coverage and its step for explanations.
"""

import sys
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Concatenate, Generic, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from kyvsim.kubernetes.objects import Path
from kyvsim.model.explanation import Answer, RuleRun, Step, Value
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Document, Location, place_in_text

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class PointKind(StrEnum):
    """The kinds of coverage points in policies."""

    RULE = "rule"
    """A rule: passed and failed, or applied if it cannot fail."""
    VARIANT = "variant"
    """The autogen variants of a rule: each applied."""
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
    """An expression of a CEL policy that is not itself a decision: evaluated."""
    EXCEPTION = "exception"
    """An entry of a policy exception: applied."""


class PolicyPlace(NamedTuple):
    """A position in a policy or an exception, and its rule."""

    document: Document
    policy: str
    rule: str
    root: Path
    """The path of the rule in the document."""
    inside: Path = ()
    """The path relative to the rule."""


Count: TypeAlias = Callable[[int], None]
"""Increments the count of the outcome with this index."""


class Tracer(Protocol):
    """Observes compiled policies: coverage, `explain`, the search of `equal`.

    A policy declares its points when it is compiled, since coverage also shows those that are never
    evaluated. The steps of an evaluation are between `enter` and `leave`; a tracer that takes none
    inherits their methods, which do nothing.
    """

    @property
    def takes_steps(self) -> bool:
        """Whether steps are reported to it; if not, only counted constructs are wrapped."""

    def declare(
        self, place: PolicyPlace, kind: PointKind, outcomes: tuple[str, ...]
    ) -> Count | None:
        """Declare a point and its outcomes; return a function that counts them, or None.

        A point may be declared more than once.
        """

    def evaluate(self, run: RuleRun) -> None:
        """Begin the evaluation of a rule, to which the following steps belong."""
        del run

    def resume(self, run: RuleRun) -> None:
        """Assign the following steps to a rule, which need not have begun."""
        del run

    def enter(self) -> int:
        """Begin a step; return the mark that ends it, 0 to omit it."""
        return 0

    def leave(self, mark: int, step: Step | None) -> None:
        """End a step that contains all steps since the mark; None omits them."""
        del mark, step

    def wrap(
        self, run: Callable[_Given, _Found], construct: "TracedConstruct[_Given, _Found]"
    ) -> Callable[_Given, _Found]:
        """Return `run` as a closure that reports a step for each call, as `with_steps` does."""
        del construct
        return run


class TracedConstruct(Generic[_Given, _Found]):
    """A construct of a policy that is a step in each evaluation."""

    def __init__(
        self,
        begun: Step,
        complete: Callable[Concatenate[Step, _Found, _Given], Step],
        locate: Callable[[], Location | None],
    ) -> None:
        """Use `begun`, to which `complete` adds the result for the arguments."""
        self.complete = complete
        self.begun = begun._replace(locate=cache(locate))

    def failed(self) -> Step:
        """Return the step of an evaluation that raised the error that is being handled."""
        error = sys.exception()
        text = getattr(error, "message", "") or str(error)
        return self.begun._replace(answer=RuleStatus.ERROR, note=text)


class Outcomes(NamedTuple, Generic[_Found]):
    """The outcomes of a construct for coverage."""

    kind: PointKind
    names: tuple[str, ...]
    number_of: Callable[[_Found], int | None]
    """Returns the index of the outcome, None if it does not count."""


class TraceContext(NamedTuple):
    """A position that is being compiled, and the tracer for it."""

    place: PolicyPlace | None = None
    tracer: Tracer | None = None
    counts: bool = True
    """Whether coverage counts points at this position."""

    @property
    def takes_steps(self) -> bool:
        """Whether there is a tracer to which steps are reported."""
        return self.tracer is not None and self.tracer.takes_steps

    def at(self, *steps: str | int) -> "TraceContext":
        """Return the context of a nested position."""
        place = self.place
        if place is None:
            return self
        return self._replace(place=place._replace(inside=(*place.inside, *steps)))

    @property
    def path(self) -> Path:
        """The path of the position in its document; () if there is none."""
        return (*self.place.root, *self.place.inside) if self.place else ()

    def to(self, path: Path) -> "TraceContext":
        """Return the context of the node at a path of the document, within the same rule."""
        place = self.place
        if place is None:
            return self
        return self._replace(place=place._replace(inside=path[len(place.root) :]))

    @property
    def name(self) -> str:
        """A short name of the position: `any[0]`, `preconditions`."""
        inside = self.place.inside if self.place else ()
        numbers = 0
        while numbers < len(inside) and isinstance(inside[-1 - numbers], int):
            numbers += 1
        named = inside[-1 - numbers] if numbers < len(inside) else ""
        return f"{named}{''.join(f'[{one}]' for one in inside[len(inside) - numbers :])}"

    def locate(self) -> Location | None:
        """Return the location of the position in its file."""
        return self.place.document.locate(self.path) if self.place else None

    def locate_in(self, text: str, offset: int) -> Location | None:
        """Return the location of a character in the text at the position."""
        place = self.place
        return place_in_text(place.document, self.path, text, offset) if place else None

    def declare(self, kind: PointKind, *outcomes: str) -> Count | None:
        """Declare a point here; return a function that counts its outcomes, or None."""
        if self.place is None or self.tracer is None or not self.counts:
            return None
        return self.tracer.declare(self.place, kind, outcomes)


NO_TRACE = TraceContext()

LONGEST_TRACED = 2_000
"""Maximum length of expressions whose parts are traced; longer ones would be unreadable."""


def traced(
    trace: TraceContext,
    run: Callable[_Given, _Found],
    begun: Step,
    complete: Callable[Concatenate[Step, _Found, _Given], Step],
    *,
    outcomes: Outcomes[_Found] | None = None,
    where: Callable[[], Location | None] | None = None,
) -> Callable[_Given, _Found]:
    """Return `run` as a closure that reports to a tracer; `run` itself without one.

    It reports a step: `complete` adds the result for the arguments to `begun`. If `run` raises, the
    step is an error, and the exception propagates. The step is at the position of `trace`, or at
    `where`. Coverage counts its `outcomes`.
    """
    tracer = trace.tracer
    if tracer is None:
        return run
    if tracer.takes_steps:
        run = tracer.wrap(run, TracedConstruct(begun, complete, where or trace.locate))
    return counted(trace, run, outcomes) if outcomes else run


def with_steps(
    tracer: Tracer, run: Callable[_Given, _Found], construct: TracedConstruct[_Given, _Found]
) -> Callable[_Given, _Found]:
    """Return `run` as a closure that reports whole steps to a tracer."""

    def wrapper(*given: _Given.args, **named: _Given.kwargs) -> _Found:
        mark = tracer.enter()
        if not mark:
            return run(*given, **named)
        step: Step | None = None
        try:
            found = run(*given, **named)
            step = construct.complete(construct.begun, found, *given, **named)
        finally:
            tracer.leave(mark, step or construct.failed())
        return found

    return wrapper


def counted(
    trace: TraceContext, run: Callable[_Given, _Found], outcomes: Outcomes[_Found]
) -> Callable[_Given, _Found]:
    """Return `run` as a closure whose outcomes are counted; `run` itself without coverage."""
    count = trace.declare(outcomes.kind, *outcomes.names)
    if count is None:
        return run
    number_of = outcomes.number_of

    def wrapper(*given: _Given.args, **named: _Given.kwargs) -> _Found:
        found = run(*given, **named)
        number = number_of(found)
        if number is not None:
            count(number)
        return found

    return wrapper


def with_answer(step: Step, found: Answer, *_: object) -> Step:
    """Return a step with its answer."""
    return step._replace(answer=found)


def with_found(step: Step, found: object, *_: object) -> Step:
    """Return a step with a found value that is not an answer."""
    return step._replace(found=Value(found))


def trace_step(trace: TraceContext, step: Step) -> None:
    """Report a step without substeps, if there is a tracer that takes steps."""
    if trace.tracer is not None and trace.tracer.takes_steps:
        mark = trace.tracer.enter()
        trace.tracer.leave(mark, step if step.place else step._replace(locate=trace.locate))


def untraced(trace: TraceContext, run: Callable[[], _Found]) -> _Found:
    """Return the result of `run`, whose steps are omitted."""
    if trace.tracer is None or not trace.tracer.takes_steps:
        return run()
    mark = trace.tracer.enter()
    try:
        return run()
    finally:
        trace.tracer.leave(mark, None)
