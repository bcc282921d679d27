"""Results of `explain` as text, JSON and HTML."""

import json
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, Step, StepKind
from kyvsim.model.source import Location
from kyvsim.report.diagnostics import place_json, resource_place, sentence
from kyvsim.report.explained_rules import (
    SHOWN_WORDS,
    ExplainedRule,
    StepPage,
    answer_word,
    decision,
    effect_lines,
    explained_rule,
    rule_name,
    verdict_word,
)
from kyvsim.report.object_text import json_entries, whole_numbers
from kyvsim.report.page import page
from kyvsim.report.results import identity, title
from kyvsim.report.style import MARK_STYLES, Paint, painter, safe_line

_LEAST = 50
_PLACE = 8
"""The width of the columns with line and column in policy and manifest."""
_WORD = 6
_NARROWEST = 24
STYLES: Mapping[str, str] = MappingProxyType(
    {
        "yes": "pass",
        "no": "fail",
        "no match": "dim",
        "no result": "dim",
        "met": "pass",
        "not run": "warn",
    }
)
"""Looks of words for verdicts and answers that are not their own."""


class _TreeStyle(NamedTuple):
    """How steps are shown, and the files whose places are in the columns."""

    paint: Paint
    width: int
    policy: str
    manifest: str


def render_text(objects: Iterable[ObjectExplanation], page: StepPage) -> Iterator[str]:
    """Yield the explanations of objects a piece at a time."""
    paint = painter(colours=page.colours)
    width = max(page.width, _LEAST)
    for explanation in objects:
        document = explanation.response.document
        place = f"  {document.locate(())}" if document else ""
        name = safe_line(title(explanation.response.trigger))
        yield f"{paint('title', name)}{paint('dim', place)}\n"
        others = [rule for rule in explanation.rules if not rule.applied]
        for rule in explanation.rules:
            if rule.applied:
                yield from _rule(rule, explanation, paint, width)
        if others:
            yield f"\n  {paint('title', 'Rules that do not match')}\n"
        for rule in others:
            decided = decision(rule, explanation)
            yield from wrapped(rule_name(rule), " " * 4, width)
            yield from wrapped(decided.text, " " * 6, width)
            yield f"      {paint('dim', safe_line(str(decided.place or rule.place)))}\n"
        yield "\n"


def _rule(
    rule: RuleExplanation, explanation: ObjectExplanation, paint: Paint, width: int
) -> Iterator[str]:
    """Yield a rule: its verdict, what decided it, and the tree of its steps."""
    word = verdict_word(rule)
    word = SHOWN_WORDS.get(word, word)
    upper, place = word.upper(), safe_line(str(rule.place))
    line = f"  {upper:<5}  {safe_line(rule_name(rule))}"
    shown = line.replace(upper, paint(STYLES.get(word, word), upper), 1)
    gap = "  " if len(line) + 2 + len(str(rule.place)) <= width else "\n         "
    yield f"\n{shown}{gap}{paint('dim', place)}\n"
    for result in rule.results:
        if result.message or result.own:
            yield from wrapped(result.message or result.own, " " * 9, width)
        if result.note:
            yield from wrapped(result.note, " " * 9, width)
    document = explanation.response.document
    options = _TreeStyle(paint, width, rule.place.file, document.file if document else "")
    decided = decision(rule, explanation)
    yield from wrapped(decided.text, " " * 9, width, "because  ")
    for label, at in (("policy   ", decided.place), ("manifest ", decided.seen_at)):
        if at is not None:
            yield f"{' ' * 9}{paint('dim', label)}{paint('place', safe_line(str(at)))}\n"
    for steps, head in ((rule.steps, "policy  object"), (rule.before, "on the old object")):
        if steps:
            yield f"\n    {paint('dim', head)}\n"
        for step in steps:
            yield from _step(step, 0, options)


def _step(step: Step, depth: int, options: _TreeStyle) -> Iterator[str]:
    paint, width, policy, manifest = options
    columns = (_position(step.place, policy), _position(step.seen_at, manifest))
    gutter = "".join(column.ljust(_PLACE) for column in columns)
    word = answer_word(step.answer)
    text = sentence(step)
    if step.place is not None and step.place.file != policy:
        text = f"{text} [{step.place}]"
    start = f"    {gutter}{word:<{_WORD}}{'  ' * depth}"
    lines = _lines(text, width - len(start), rest="  ") or [""]
    colored = f"    {paint('dim', gutter)}{paint(STYLES.get(word, word), word) if word else ''}"
    padding = " " * (_WORD - len(word)) + "  " * depth
    yield f"{colored}{padding}{lines[0]}\n"
    for line in lines[1:]:
        yield f"{' ' * len(start)}{line}\n"
    for mark, line in effect_lines(step):
        shown, look_of = f"{mark} {safe_line(line)}", MARK_STYLES.get(mark)
        yield f"{' ' * len(start)}  {paint(look_of, shown) if look_of else shown}\n"
    for inner in step.steps:
        yield from _step(inner, depth + 1, options)


def _position(place: Location | None, file: str) -> str:
    """Return line and column, where a place is in the file that the heading names."""
    if place is None or place.file != file or not place.line:
        return ""
    return f"{place.line}:{place.column}"


def wrapped(text: str, indent: str, width: int, label: str = "") -> Iterator[str]:
    """Yield the lines of a text, indented, with a label before the first."""
    for line in _lines(label + text, width - len(indent), rest=" " * len(label)):
        yield f"{indent}{line}\n"


def _lines(text: str, width: int, rest: str = "") -> list[str]:
    """Return a text in lines, from the second one on behind `rest`; words stay whole."""
    return [
        part
        for line in text.splitlines()
        for part in wrap(
            safe_line(line),
            max(width, _NARROWEST),
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


# Explanations as one JSON document, for programs.
#
# `objects` has for each object its `rules`; each rule its `verdict`, its `results`, what `decided`
# it, and the tree of its `steps`. Values that are found or wanted are there whole.


def render_json(objects: Iterable[ObjectExplanation], _: StepPage) -> Iterator[str]:
    """Yield the document an object at a time."""
    shown = (
        {
            **identity(explanation.response.trigger),
            "place": place_json(resource_place(explanation.response)),
            "rules": [rule_json(rule, explanation) for rule in explanation.rules],
        }
        for explanation in objects
    )
    yield '{"objects": ['
    yield from json_entries(json.dumps(entry, default=str) for entry in shown)
    yield "]}\n"


def rule_json(rule: RuleExplanation, explanation: ObjectExplanation) -> Json:
    """Return how a rule came to its verdict: its results, what decided, and the tree of steps."""
    decided = decision(rule, explanation)
    return {
        "policy": rule.policy.key,
        "policyKind": rule.policy.kind,
        "rule": rule.rule.name,
        "variant": rule.rule.variant,
        "phase": rule.stage.phase.value,
        "verdict": verdict_word(rule),
        "place": place_json(rule.place),
        "results": [
            {
                "rule": result.rule.name,
                "status": result.status.value,
                "message": result.message,
                "note": result.note,
            }
            for result in rule.results
        ],
        "decided": {
            "text": decided.text,
            "policy": place_json(decided.place),
            "manifest": place_json(decided.seen_at),
        },
        "steps": [_step_json(step) for step in rule.steps],
        "before": [_step_json(step) for step in rule.before],
    }


def _step_json(step: Step) -> Json:
    """Return a step; what it does not have is left out."""
    shown = {
        "kind": step.kind.value,
        "name": step.name,
        "text": step.text,
        "answer": answer_word(step.answer),
        "note": step.note,
        "path": None if step.path is None else list(step.path),
        "policy": place_json(step.place),
        "manifest": place_json(step.seen_at),
        "steps": [_step_json(inner) for inner in step.steps],
    }
    names = ("after", "before") if step.kind is StepKind.CHANGE else ("wanted", "found")
    values = dict(zip(names, (step.wanted, step.found), strict=True))
    return {
        **{name: value for name, value in shown.items() if value not in ("", None, [])},
        **{name: whole_numbers(value.data) for name, value in values.items() if value is not None},
    }


class ObjectPart(NamedTuple):
    """An object as a page shows it."""

    title: str
    place: Location | None
    applied: tuple[ExplainedRule, ...]
    others: tuple[ExplainedRule, ...]
    """Rules that do not match."""


def render_html(objects: Iterable[ObjectExplanation], _: StepPage) -> Iterator[str]:
    """Yield the page in pieces."""
    return page("explain.html", objects=map(object_part, objects))


def object_part(explanation: ObjectExplanation) -> ObjectPart:
    """Return the part of a page about an object."""
    rules = [explained_rule(rule, explanation) for rule in explanation.rules]
    return ObjectPart(
        title=title(explanation.response.trigger),
        place=resource_place(explanation.response),
        applied=tuple(rule for rule in rules if rule.rule.applied),
        others=tuple(rule for rule in rules if not rule.rule.applied),
    )
