"""Explanations: how rules came to their results, as trees of steps."""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, ObjectKey, Path
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import EngineResponse, RuleResult, RuleStatus, Stage
from kyvsim.model.source import Location

Answer: TypeAlias = RuleStatus | bool
"""A status, or whether something is true."""


class StepKind(StrEnum):
    """The kind of construct that was evaluated."""

    INDEX = "index"
    """The kinds that a rule can match."""
    NOT_EVALUATED = "not evaluated"
    """Why a controller did not evaluate a rule for objects of the kind."""
    MATCH = "match"
    EXCLUDE = "exclude"
    FILTER = "filter"
    """One alternative of a match or exclude block."""
    CRITERION = "criterion"
    """One part of a filter: kinds, names, namespaces, a selector, users …"""
    CONCERN = "concern"
    """Whether an object has any of the fields that a rule reads."""
    EXCEPTION = "exception"
    CONTEXT = "context"
    """A context entry, evaluated on first use."""
    CONDITIONS = "conditions"
    """A block of conditions: preconditions, those of `deny`, of an exception."""
    CONDITION = "condition"
    SIDE = "side"
    """The key or the value of a condition."""
    BODY = "body"
    """The body of a rule that applies to the object."""
    PATTERN = "pattern"
    """A pattern, or a node of one."""
    LOOP = "loop"
    """The list of a loop."""
    ELEMENT = "element"
    TEMPLATE = "Pod template"
    """A Pod template in a custom workload: the paths inside it are those of the Pod."""
    CONTROL = "control"
    """A control of Pod security."""
    FINDING = "finding"
    """A field that violates a control of Pod security."""
    EXPRESSION = "expression"
    """A CEL expression, or a part of one."""
    VARIABLE = "variable"
    """A variable of a CEL policy, evaluated on first use."""
    IMAGE = "image"
    """An entry of `verifyImages` on an image."""
    FILLED = "filled"
    """A patch, or the description of an object to create, with substituted variables."""
    CHANGE = "change"
    """A changed object: `found` is the old one, `wanted` the new one."""
    GENERATED = "generated"
    """An object that a rule would create."""


class Value(NamedTuple):
    """A found or expected value, which may be null."""

    data: Json


class Step(NamedTuple):
    """An evaluated part of a rule, and its outcome."""

    kind: StepKind
    name: str = ""
    """A short name: `any[0]`, `kinds`, `=(spec)`, the name of an entry."""
    text: str = ""
    """The source text: an operator, an expression."""
    answer: Answer | None = None
    """None for a step whose only outcome is the found value."""
    wanted: Value | None = None
    found: Value | None = None
    note: str = ""
    """A message, a reason, an error."""
    place: Location | None = None
    """Its location in the policy, or in an exception; None if only `locate` knows it."""
    path: Path | None = None
    """The path in the object that was read: relative to the parent step, unless `rooted`."""
    rooted: bool = False
    """Whether `path` is absolute: in the object, or in the surrounding Pod template."""
    seen_at: Location | None = None
    """The location of that path in the manifest, or of its nearest ancestor."""
    steps: tuple["Step", ...] = ()
    locate: Callable[[], Location | None] | None = None
    """Finds `place`, which is slow and only needed for the steps that are shown."""

    def located(self) -> Location | None:
        """Return its location in the policy, or in an exception."""
        return self.locate() if self.place is None and self.locate else self.place


class RuleRun(NamedTuple):
    """The evaluation of a rule that begins."""

    policy: Policy
    rule: Rule
    stage: Stage
    subject: ObjectKey | None = None
    """The object, if the evaluation begins with the match block."""


class TracedRule(NamedTuple):
    """One evaluation of a rule, and its steps."""

    run: RuleRun
    steps: tuple[Step, ...]


class RuleExplanation(NamedTuple):
    """The explanation of a rule's results for one object."""

    policy: Policy
    rule: Rule
    stage: Stage
    results: tuple[RuleResult, ...]
    """() if the rule does not apply to the object, or has no result."""
    steps: tuple[Step, ...]
    place: Location
    before: tuple[Step, ...] = ()
    """The steps on the old object of an update, if that was evaluated, too."""

    @property
    def applied(self) -> bool:
        """Whether the rule applied to the object."""
        decisive = (
            StepKind.INDEX,
            StepKind.NOT_EVALUATED,
            StepKind.MATCH,
            StepKind.EXCLUDE,
            StepKind.CONCERN,
        )
        return bool(self.results) or all(
            one.answer is (one.kind is not StepKind.EXCLUDE)
            for one in self.steps
            if one.kind in decisive
        )


class ObjectExplanation(NamedTuple):
    """The response to one object, and the explanations of all rules."""

    response: EngineResponse
    rules: tuple[RuleExplanation, ...]
    """In the order of evaluation, followed by rules that were not evaluated."""


def deciding(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps from a section of a rule to the decisive one; () if there is none.

    Evaluation stops as soon as the result is known, so it is the last step with the answer of its
    parent. In the body, no single step decides a pass; the body, or a list without elements in it,
    decides that there is no result.
    """
    if steps and steps[-1].kind is StepKind.BODY and _answer(steps[-1]) is None:
        loops = [one for one in steps[-1].steps if one.kind is StepKind.LOOP]
        return (steps[-1], loops[-1]) if loops else (steps[-1],)
    last = next((one for one in reversed(steps) if _answer(one) is not None), None)
    if last is None:
        return ()
    if last.kind is StepKind.BODY and last.answer is RuleStatus.PASS:
        return (last,)
    return (last, *_cause(last))


def deciding_part(condition: Step) -> Step | None:
    """Return the part of an expression that determined a side of a condition.

    That is the first side that is not constant. None for a plain path, which has no parts.
    """
    sides = (one for one in condition.steps if one.path is not None or _parts(one))
    parts = next(map(_parts, sides), ())
    part = None
    while parts:
        part = parts[-1]
        parts = tuple(one for one in _parts(part) if _is_same(one.found, part.found))
    return part


def _is_same(one: Value | None, other: Value | None) -> bool:
    """Return whether two values are equal and of the same type: true is not 1."""
    return one == other and (one and one.data.__class__) is (other and other.data.__class__)


def _parts(step: Step) -> tuple[Step, ...]:
    return tuple(one for one in step.steps if one.kind is StepKind.EXPRESSION)


def places(way: tuple[Step, ...]) -> tuple[Location | None, Location | None]:
    """Return the locations of the decisive step: in the policy, and in the manifest.

    In the manifest, it is that of the last step or one of its substeps, otherwise that of a parent
    step, or for a part of an expression, of another part. In a condition, the decisive part of an
    expression is used if there is one.
    """
    if not way:
        return None, None
    last = way[-1]
    part = deciding_part(last) if last.kind is StepKind.CONDITION else None
    if part:
        return places((*way, part))
    looked = [last, *_inside(last)]
    for one in reversed(way[:-1]):
        looked += (one, *(_inside(one) if one.kind is StepKind.EXPRESSION else ()))
    place = next(filter(None, (one.located() for one in reversed(way))), None)
    return place, next((one.seen_at for one in looked if one.seen_at), None)


def _inside(step: Step) -> Iterator[Step]:
    for one in step.steps:
        yield one
        yield from _inside(one)


def _cause(step: Step) -> tuple[Step, ...]:
    answer = _answer(step)
    answered = [(one, own) for one in step.steps if (own := _answer(one)) is not None]
    same = [one for one, own in answered if own == answer and own.__class__ is answer.__class__]
    if not same and answered and isinstance(answer, RuleStatus) and answer is not RuleStatus.PASS:
        same = [one for one, own in answered if own == answered[-1][1]]
    if not same:
        return ()
    # Of two errors in `a && b`, the first one is reported.
    named = [one for one in same if one.note and one.note in step.note]
    chosen = nearest(alternatives(same)) or (named or same)[-1]
    return (chosen, *_cause(chosen))


def alternatives(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps that are alternatives of an `anyPattern`."""
    return tuple(
        one for one in steps if one.kind is StepKind.PATTERN and one.name.startswith("anyPattern[")
    )


def nearest(steps: tuple[Step, ...]) -> Step | None:
    """Return the alternative with most matching parts, and of several the one that got furthest."""
    if len(steps) < 2:
        return steps[0] if steps else None
    return max(steps, key=_nearness)


def _nearness(step: Step) -> tuple[int, int]:
    fitting = sum(one.answer is True and not one.steps for one in _inside(step))
    return fitting, len(_cause(step))


def _answer(step: Step) -> Answer | None:
    """Return a step's answer; for an element of a loop, that of its last step.

    The same is done for a body without a result because a part of it is false.
    """
    if step.answer is not None or step.kind not in {StepKind.ELEMENT, StepKind.BODY}:
        return step.answer
    last = next((_answer(one) for one in reversed(step.steps) if _answer(one) is not None), None)
    return last if step.kind is StepKind.ELEMENT or last is False else None
