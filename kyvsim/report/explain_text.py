"""`explain` for people: each rule with what decided, and the tree of what was asked."""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, Step
from kyvsim.model.source import Location
from kyvsim.report.explain_nodes import effect_lines
from kyvsim.report.explain_words import (
    Page,
    answer_word,
    decision,
    rule_name,
    sentence,
    verdict_word,
)
from kyvsim.report.results import title
from kyvsim.report.style import MARK_LOOKS, Paint, painter, safe_line

_LEAST = 50
_PLACE = 8
"""The width of the columns with line and column in policy and manifest."""
_WORD = 6
_NARROWEST = 24
LOOKS: Mapping[str, str] = MappingProxyType(
    {
        "yes": "pass",
        "no": "fail",
        "unconcerned": "dim",
        "silent": "dim",
        "met": "pass",
        "not asked": "warn",
    }
)
"""Looks of words for verdicts and answers that are not their own."""


class _Look(NamedTuple):
    """How steps are shown, and the files whose places stand in the columns."""

    paint: Paint
    width: int
    policy: str
    manifest: str


def render(objects: Iterable[ObjectExplanation], page: Page) -> Iterator[str]:
    """Yield the explanations of objects a piece at a time."""
    paint = painter(colours=page.colours)
    width = max(page.width, _LEAST)
    for found in objects:
        yield from _object(found, paint, width)


def _object(found: ObjectExplanation, paint: Paint, width: int) -> Iterator[str]:
    document = found.response.document
    place = f"  {document.locate(())}" if document else ""
    yield f"{paint('title', safe_line(title(found.response.trigger)))}{paint('dim', place)}\n"
    others: list[RuleExplanation] = []
    for rule in found.rules:
        if rule.applied:
            yield from _rule(rule, found, paint, width)
        else:
            others.append(rule)
    if others:
        yield f"\n  {paint('title', 'Rules that are not about it')}\n"
    for rule in others:
        yield from _unconcerned(rule, found, paint, width)
    yield "\n"


def _rule(
    rule: RuleExplanation, found: ObjectExplanation, paint: Paint, width: int
) -> Iterator[str]:
    """Yield a rule: its verdict, what decided it, and the tree of its steps."""
    word = verdict_word(rule)
    yield "\n"
    yield from _heading(rule, word, paint, width)
    for result in rule.results:
        if result.message or result.own:
            yield from wrapped(result.message or result.own, " " * 9, width)
        if result.note:
            yield from wrapped(result.note, " " * 9, width)
    document = found.response.document
    look = _Look(paint, width, rule.place.file, document.file if document else "")
    decided = decision(rule, found)
    yield from wrapped(decided.text, " " * 9, width, "because  ")
    for label, place in (("policy   ", decided.place), ("manifest ", decided.seen_at)):
        if place is not None:
            yield f"{' ' * 9}{paint('dim', label)}{paint('place', safe_line(str(place)))}\n"
    for steps, head in ((rule.steps, "policy  object"), (rule.before, "as it was before")):
        if steps:
            yield f"\n    {paint('dim', head)}\n"
        for step in steps:
            yield from _step(step, 0, look)


def _heading(rule: RuleExplanation, word: str, paint: Paint, width: int) -> Iterator[str]:
    name = rule_name(rule)
    place = str(rule.place)
    line = f"  {word.upper():<5}  {safe_line(name)}"
    shown = line.replace(word.upper(), paint(_look(word), word.upper()), 1)
    gap = "  " if len(line) + 2 + len(place) <= width else "\n         "
    yield f"{shown}{gap}{paint('dim', safe_line(place))}\n"


def _step(step: Step, depth: int, look: _Look) -> Iterator[str]:
    paint, width, policy, manifest = look
    columns = (_position(step.place, policy), _position(step.seen_at, manifest))
    gutter = "".join(one.ljust(_PLACE) for one in columns)
    word = answer_word(step.answer)
    text = sentence(step)
    if step.place is not None and step.place.file != policy:
        text = f"{text} [{step.place}]"
    start = f"    {gutter}{word:<{_WORD}}{'  ' * depth}"
    lines = _lines(text, width - len(start), rest="  ") or [""]
    colored = f"    {paint('dim', gutter)}{paint(_look(word), word) if word else ''}"
    padding = " " * (_WORD - len(word)) + "  " * depth
    yield f"{colored}{padding}{lines[0]}\n"
    for line in lines[1:]:
        yield f"{' ' * len(start)}{line}\n"
    for mark, line in effect_lines(step):
        shown, look_of = f"{mark} {safe_line(line)}", MARK_LOOKS.get(mark)
        yield f"{' ' * len(start)}  {paint(look_of, shown) if look_of else shown}\n"
    for one in step.steps:
        yield from _step(one, depth + 1, look)


def _unconcerned(
    rule: RuleExplanation, found: ObjectExplanation, paint: Paint, width: int
) -> Iterator[str]:
    """Yield a rule that is not about an object, and why, in a line or two."""
    name = rule_name(rule)
    decided = decision(rule, found)
    place = paint("dim", safe_line(str(decided.place or rule.place)))
    yield from wrapped(name, " " * 4, width)
    yield from wrapped(decided.text, " " * 6, width)
    yield f"      {place}\n"


def _look(word: str) -> str:
    return LOOKS.get(word, word)


def _position(place: Location | None, file: str) -> str:
    """Return line and column, where a place stands in the file that the heading names."""
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
