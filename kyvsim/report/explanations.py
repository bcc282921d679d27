"""Explanations in words: steps, and why a rule failed."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.model.explanation import (
    RuleExplanation,
    Step,
    StepKind,
    alternatives,
    deciding,
    deciding_part,
    nearest,
    places,
)
from kyvsim.model.result import EngineResponse, Excerpt, ReportedReason, RuleResult, RuleStatus
from kyvsim.model.source import Location
from kyvsim.report.diagnostics import (
    excerpt_lines,
    excerpt_of,
    failed_place,
    rule_place,
    window_of,
)
from kyvsim.report.object_text import whole_numbers
from kyvsim.report.results import Row
from kyvsim.report.style import INDENT, TextLayout, counted, safe_line, truncated, wrapped

_LONGEST = 160
_WORDLESS = frozenset({StepKind.MATCH, StepKind.EXCLUDE, StepKind.CONDITIONS, StepKind.BODY})
_UNLABELED = frozenset(
    {
        *(StepKind.INDEX, StepKind.PATTERN, StepKind.CRITERION),
        *(StepKind.EXPRESSION, StepKind.FILTER),
    }
)


def value_text(data: object) -> str:
    """Return a value as JSON on one line, or as `str` returns it; shortened if it is long."""
    text = json.dumps(whole_numbers(data), ensure_ascii=False, default=str)
    return truncated(text, _LONGEST)


def sentence(step: Step) -> str:
    """Return what a step evaluated and found, on one line."""
    return " ".join(_parts(step))


def _parts(step: Step) -> Iterator[str]:
    if step.kind is StepKind.SIDE:
        yield f"{step.name}"
        if step.found is not None:
            yield f"= {value_text(step.found.data)}"
        if step.wanted is not None and step.found is not None and step.wanted != step.found:
            yield f"from {value_text(step.wanted.data)}"
    elif step.kind in {StepKind.CHANGE, StepKind.GENERATED}:
        yield f"{step.kind.value} {step.name}".strip()
    else:
        label = "" if step.kind in _WORDLESS or step.kind in _UNLABELED else step.kind.value
        yield " ".join(filter(None, (label, step.name)))
        if step.text:
            yield step.text
        if step.kind is StepKind.LOOP and step.found is not None:
            yield f"({counted(len(step.found.data), 'element')})"
        else:
            yield from _compared(step)
    if step.note:
        yield f"({step.note})"


def _compared(step: Step) -> Iterator[str]:
    """Yield expected and actual values that neither the answer nor inner steps show."""
    if step.kind in {StepKind.EXPRESSION, StepKind.VARIABLE}:
        if step.found is not None and step.answer is None:
            yield f"found {value_text(step.found.data)}"
    elif not step.steps:
        if step.wanted is not None:
            comma = "" if step.found is None else ","
            yield f"expected {value_text(step.wanted.data)}{comma}"
        if step.found is not None:
            yield f"found {value_text(step.found.data)}"


# Why a rule failed, in a few words each with its place: what the view of `apply` shows.
#
# They are drawn from the steps of an explanation. What is decisive depends on the kind of step: of
# alternatives the nearest one, of conditions all that held, of Pod security each control.

_LOOKED_AT = frozenset({StepKind.SIDE, StepKind.EXPRESSION, StepKind.VARIABLE})


class FailureExplanation(NamedTuple):
    """One thing that made a rule fail."""

    path: tuple[Step, ...]
    """The steps from the section of the rule to the one that decided; () where none is known."""
    start: str
    """A prefix of the text about the last of them."""
    place: Location | None
    """The position in the policy of the step that decided."""
    seen_at: Location | None
    """The field of the manifest that it evaluated, or the nearest node around that."""

    @property
    def text(self) -> str:
        """Expected and actual values; computed on demand, since most formats need no text."""
        if not self.path:
            return ""
        # The elements of loops that it is about come before it.
        elements = []
        for step in self.path:
            if step.kind is StepKind.ELEMENT:
                value: Json = step.found.data if step.found else None
                name = text_field(value, "name") if value.__class__ is dict else ""
                called = f" `{name}`" if name else ""
                called = f" {value_text(value)}" if value.__class__ is str else called
                elements.append(f"element {step.name}{called}: ")
        return f"{''.join(elements)}{self.start}{_words(self.path[-1])}"


Explain: TypeAlias = Callable[[EngineResponse, Row], tuple[FailureExplanation, ...]]
"""Returns why a rule came to a result, with places; () where that is not known.

It has to be called while the response is the last one that was read.
"""


def reasons_of(
    rule: RuleExplanation,
    result: RuleResult,
    placed: Callable[[tuple[Step, ...]], tuple[Step, ...]],
) -> tuple[FailureExplanation, ...]:
    """Return the reasons for a result of a rule, in the order of evaluation.

    `placed` returns a path with its places in the manifest. Several reasons are returned only if
    they are shown one by one; none for an error that the explanation did not reproduce, because
    its budget is smaller.
    """
    errs = result.status is RuleStatus.ERROR
    if errs and all(other.message != result.message for other in rule.results):
        return ()
    path = _path_to_image(rule.steps, result.message)
    if not path and len(rule.results) == 1:
        path = deciding(rule.steps)
    for number, step in enumerate(path):
        causes = [*_causes(step, path[:number])]
        if causes:
            before = path[:number]
            return tuple(_reason(placed((*before, *below)), start) for below, start in causes)
    return (_reason(placed(path), ""),) if path else ()


def _path_to_image(steps: Iterable[Step], message: str) -> tuple[Step, ...]:
    """Return the path to the image that a message is about; each image has a result."""
    for step in steps:
        if step.kind is StepKind.IMAGE and step.note == message:
            return (step,)
        below = _path_to_image(step.steps, message)
        if below:
            return (step, *below)
    return ()


def _causes(step: Step, around: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], str]]:
    """Yield paths below a step that are reported one by one, or replace it, each with a prefix."""
    evaluated = [inner for inner in step.steps if inner.answer is not None]
    if step.kind is StepKind.CONTROL:
        yield from (((step, inner), "") for inner in evaluated if inner.answer is False)
    elif step.kind is StepKind.CONDITIONS and step.answer is True:
        if any(outer.kind is StepKind.BODY for outer in around):  # which denies
            held = (inner for inner in evaluated if inner.answer is True)
            yield from (((step, one), "") for one in held if one.kind is StepKind.CONDITION)
    elif step.kind is StepKind.BODY or step.kind is StepKind.ELEMENT:
        every = alternatives(evaluated)
        chosen = nearest(every)
        if chosen is not None and len(every) > 1:
            start = f"closest of {counted(len(every), 'alternative')}, {chosen.name}: "
            yield (step, *deciding((chosen,))), start


def _reason(path: tuple[Step, ...], start: str) -> FailureExplanation:
    place, seen_at = places(path)
    last = path[-1]
    if last.kind is StepKind.CONTROL:
        seen_at = next((field.seen_at for field in last.steps if field.seen_at), seen_at)
    return FailureExplanation(path, start, place, seen_at)


def _words(step: Step) -> str:
    if step.answer is RuleStatus.ERROR:
        return step.note
    if step.kind is StepKind.PATTERN:
        # What a part of a pattern expected, and what was found.
        expected = f"expected {value_text(step.wanted.data)}" if step.wanted else step.note
        if step.found is None:
            return f"no `{step.name}`; {expected}" if expected else f"no `{step.name}`"
        return f"found {value_text(step.found.data)}; {expected}"
    if step.kind is StepKind.CONDITION:
        return _condition_words(step)
    if step.kind is StepKind.CONTROL:
        fields = ", ".join(
            f"{field.name} is {value_text(field.found.data)}"
            if field.found
            else f"{field.name} ({field.note})"
            for field in step.steps
        )
        return f"{step.note or step.name}: {fields}" if fields else step.note or step.name
    if step.kind is StepKind.EXPRESSION:
        answer = "true" if step.answer else "false"
        return "; ".join((f"`{step.text.strip()}` is {answer}", *_operands(step)))
    if step.kind is StepKind.IMAGE:
        return step.name
    return "" if step.kind is StepKind.BODY else sentence(step)


def _condition_words(step: Step) -> str:
    sides = {side.name: value_text(side.found.data) for side in step.steps if side.found}
    key, value = sides.get("key", "?"), sides.get("value", "?")
    compared = f"{step.name}: {key} {step.text} {value}"
    part = deciding_part(step)
    if not part or part.path is not None:
        return compared  # what only leads to a field is shown by its place
    actual = value_text(part.found.data) if part.found else part.note
    return "; ".join((compared, f"`{part.text}` is {actual}", *_operands(part)))


def _operands(step: Step) -> Iterator[str]:
    """Yield the values of the operands of an expression."""
    for operand in step.steps:
        if operand.kind in _LOOKED_AT and operand.answer is None and operand.found is not None:
            yield f"`{(operand.text or operand.name).strip()}` is {value_text(operand.found.data)}"


def failure_reasons(
    row: Row, response: EngineResponse, explain: Explain
) -> tuple[ReportedReason, ...]:
    """Return why a result failed, at least where its rule is."""
    document = response.document
    reasons = explain(response, row)
    at = failed_place(document, row.result.path)
    if not reasons:
        reasons = (FailureExplanation((), "", None, at),)
    elif at is not None and len(reasons) == 1:
        # The result names the field, and formats that explain nothing point there.
        reasons = (reasons[0]._replace(seen_at=at),)
    reported_reasons = []
    for reason in reasons:
        text, seen_at = reason.text, reason.seen_at
        text = "" if text in row.result.message else text
        reported = ReportedReason(text, reason.place or rule_place(row))
        if document is not None and seen_at is not None and seen_at != document.locate(()):
            excerpt = None
            if seen_at.line:
                first, last = window_of(seen_at.column)
                line = document.line(seen_at.line, first, last)
                excerpt = excerpt_of(line, seen_at.column - first)
            reported = reported._replace(seen_at=seen_at, excerpt=excerpt)
        reported_reasons.append(reported)
    return tuple(reported_reasons)


def explained_place(row: Row, response: EngineResponse, explain: Explain) -> Location | None:
    """Return the first place of `failure_reasons`, without working out their texts."""
    document = response.document
    if document is None:
        return None
    whole = document.locate(())
    places = (reason.seen_at for reason in explain(response, row))
    return next((place for place in places if place is not None and place != whole), None)


def reason_lines(reasons: Iterable[ReportedReason], layout: TextLayout) -> Iterator[str]:
    """Yield the lines on places in the manifest, each with what was seen there; then the rules."""
    shown = tuple(reasons)
    for (seen_at, excerpt), reasons_there in groupby(
        shown, lambda reason: (reason.seen_at, reason.excerpt)
    ):
        texts = [reason.text for reason in reasons_there if reason.text]
        yield from _seen(seen_at, excerpt, texts, layout)
    for place in dict.fromkeys(reason.place for reason in shown):
        yield f"{INDENT}{layout.paint('dim', 'rule: ' + safe_line(str(place)))}\n"


def _seen(
    place: Location | None, excerpt: Excerpt | None, texts: list[str], layout: TextLayout
) -> Iterator[str]:
    """Yield a place in the manifest with its line and the texts about it."""
    if place:
        yield f"{INDENT}{layout.paint('place', safe_line(str(place)))}\n"
    if place and excerpt:
        width = layout.width - len(INDENT)
        (gutter, source), (blank, mark) = excerpt_lines(excerpt, place.line, width)
        yield f"{INDENT}{layout.paint('dim', gutter)}{source}\n"
        start = f"{INDENT}{layout.paint('dim', blank)}{layout.paint('fail', mark)}"
        length = len(INDENT) + len(blank) + len(mark)
        if len(texts) == 1 and length + 1 + len(safe_line(texts[0])) <= layout.width:
            yield f"{start} {safe_line(texts[0])}\n"
            return
        yield f"{start}\n"
    for text in texts:
        yield from (f"{line}\n" for line in wrapped(text, layout.width, f"{INDENT}  ", INDENT))
