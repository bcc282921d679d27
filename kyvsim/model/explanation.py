"""How rules came to their verdicts: what was asked, what was found, and where both stand."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, ObjectKey, Path
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import EngineResponse, RuleResult, RuleStatus, Stage
from kyvsim.model.source import Location

Answer: TypeAlias = RuleStatus | bool
"""A verdict, or whether something holds."""


class StepKind(StrEnum):
    """What was done at a step."""

    INDEX = "index"
    """The kinds that a rule can match at all."""
    UNASKED = "not asked"
    """Why a controller does not come to a rule that is for objects of the kind."""
    MATCH = "match"
    EXCLUDE = "exclude"
    FILTER = "filter"
    """One alternative of a match or exclude block."""
    CRITERION = "criterion"
    """One part of a filter: kinds, names, namespaces, a selector, users …"""
    CONCERN = "concern"
    """Whether an object has anything that a rule looks at."""
    EXCEPTION = "exception"
    CONTEXT = "context"
    """A context entry, when something first asked for it."""
    CONDITIONS = "conditions"
    """A block of conditions: preconditions, those of `deny`, of an exception."""
    CONDITION = "condition"
    SIDE = "side"
    """The key or the value of a condition."""
    BODY = "body"
    """What a rule does with objects that it applies to."""
    PATTERN = "pattern"
    """A pattern, or a node of one."""
    LOOP = "loop"
    """The list of a loop."""
    ELEMENT = "element"
    CONTROL = "control"
    """A control of Pod security."""
    FINDING = "finding"
    """A field that a control of Pod security objects to."""
    EXPRESSION = "expression"
    """An expression in CEL, or a part of one."""
    VARIABLE = "variable"
    """A variable of a policy in CEL, when something first asked for it."""
    IMAGE = "image"
    """An entry of `verifyImages` on an image."""
    FILLED = "filled"
    """A patch, or what describes an object to create, with its variables filled."""
    CHANGE = "change"
    """What a rule made of an object: `found` is how it was, `wanted` what it became."""
    GENERATED = "generated"
    """An object that a rule would create."""


class Value(NamedTuple):
    """Something that was found or wanted, null included."""

    data: Json


class Step(NamedTuple):
    """Something that was asked while a rule was evaluated, and what came of it."""

    kind: StepKind
    name: str = ""
    """What is asked, in short: `any[0]`, `kinds`, `=(spec)`, the name of an entry."""
    text: str = ""
    """The same as it is written: an operator, an expression."""
    answer: Answer | None = None
    """None for a step that has no answer but what was found."""
    wanted: Value | None = None
    found: Value | None = None
    note: str = ""
    """What was said: a message, a reason, an error."""
    place: Location | None = None
    """Where it stands in the policy, or in an exception."""
    path: Path | None = None
    """Where in the object it looked: from the step around it on, where that is no whole path."""
    rooted: bool = False
    """Whether `path` is a whole one."""
    seen_at: Location | None = None
    """Where that stands in the manifest, or the nearest thing around it that does."""
    steps: tuple["Step", ...] = ()


class RuleRun(NamedTuple):
    """A rule that begins to be evaluated."""

    policy: Policy
    rule: Rule
    stage: Stage
    subject: ObjectKey | None = None
    """The object that it is asked about, where it is asked by its match."""


class TracedRule(NamedTuple):
    """One evaluation of a rule, and its steps."""

    run: RuleRun
    steps: tuple[Step, ...]


class RuleExplanation(NamedTuple):
    """How one rule came to its verdict on one object."""

    policy: Policy
    rule: Rule
    stage: Stage
    results: tuple[RuleResult, ...]
    """What it said; () where it does not concern the object, or has nothing to say."""
    steps: tuple[Step, ...]
    place: Location
    before: tuple[Step, ...] = ()
    """The same steps on the object as it was before an update, where that was asked."""

    @property
    def applied(self) -> bool:
        """Whether the rule was found to be about the object."""
        decisive = (
            StepKind.INDEX,
            StepKind.UNASKED,
            StepKind.MATCH,
            StepKind.EXCLUDE,
            StepKind.CONCERN,
        )
        asked = [one for one in self.steps if one.kind in decisive]
        return bool(self.results) or all(
            one.answer is (one.kind is not StepKind.EXCLUDE) for one in asked
        )


class ObjectExplanation(NamedTuple):
    """What the policies said of one object, and how each of their rules came to it."""

    response: EngineResponse
    rules: tuple[RuleExplanation, ...]
    """In the order in which they were evaluated; then those that were never asked."""


def deciding(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the way from a section of a rule to the step that decided; () where there is none.

    Evaluation stops where something is decided, so it is the last one that was asked and has the
    answer of what is around it. A pass is decided by nothing in particular below the body.
    """
    last = next((one for one in reversed(steps) if _answer(one) is not None), None)
    if last is None:
        return ()
    if last.kind is StepKind.BODY and last.answer is RuleStatus.PASS:
        return (last,)
    return (last, *_cause(last))


def deciding_part(condition: Step) -> Step | None:
    """Return the part of an expression that gave a side of a condition its value.

    That is the first side which is not fixed. None where it has no parts, since it only leads
    somewhere.
    """
    sides = (one for one in condition.steps if one.path is not None or _parts(one))
    parts = next(map(_parts, sides), ())
    part = None
    while parts:
        part = parts[-1]
        parts = tuple(one for one in _parts(part) if _is_same(one.found, part.found))
    return part


def _is_same(one: Value | None, other: Value | None) -> bool:
    """Return whether two values are one, and not only equal as true and 1 are."""
    return one == other and (one and one.data.__class__) is (other and other.data.__class__)


def _parts(step: Step) -> tuple[Step, ...]:
    return tuple(one for one in step.steps if one.kind is StepKind.EXPRESSION)


def places(way: tuple[Step, ...]) -> tuple[Location | None, Location | None]:
    """Return where what decided stands in the policy, and where in the manifest it looked.

    It looked where the last step did, or one of what it asked for; or else a step around it, and
    for a part of an expression what is around it in the same one. A condition is decided by a part
    of an expression where it has one.
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
    place = next((one.place for one in reversed(way) if one.place), None)
    return place, next((one.seen_at for one in looked if one.seen_at), None)


def _inside(step: Step) -> Iterator[Step]:
    for one in step.steps:
        yield one
        yield from _inside(one)


def _cause(step: Step) -> tuple[Step, ...]:
    answer = _answer(step)
    asked = [(one, own) for one in step.steps if (own := _answer(one)) is not None]
    same = [one for one, own in asked if own == answer and own.__class__ is answer.__class__]
    if not same and asked and isinstance(answer, RuleStatus) and answer is not RuleStatus.PASS:
        same = [one for one, own in asked if own == asked[-1][1]]
    if not same:
        return ()
    chosen = nearest(alternatives(same)) or same[-1]
    return (chosen, *_cause(chosen))


def alternatives(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return those of the steps that are alternatives of an `anyPattern`."""
    return tuple(
        one for one in steps if one.kind is StepKind.PATTERN and one.name.startswith("anyPattern[")
    )


def nearest(steps: tuple[Step, ...]) -> Step | None:
    """Return the alternative of which most parts fit, of equals the one that got furthest."""
    if len(steps) < 2:
        return steps[0] if steps else None
    return max(steps, key=_nearness)


def _nearness(step: Step) -> tuple[int, int]:
    fitting = sum(one.answer is True and not one.steps for one in _inside(step))
    return fitting, len(_cause(step))


def _answer(step: Step) -> Answer | None:
    """Return a step's answer; an element of a loop has that of what was asked of it last.

    So has a body that has nothing to say because of something that does not hold.
    """
    if step.answer is not None or step.kind not in {StepKind.ELEMENT, StepKind.BODY}:
        return step.answer
    last = next((_answer(one) for one in reversed(step.steps) if _answer(one) is not None), None)
    return last if step.kind is StepKind.ELEMENT or last is False else None
