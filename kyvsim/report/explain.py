"""Results of `explain` as text, JSON and HTML, and rules as shown in all explanations."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from textwrap import wrap
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.explanation import (
    Answer,
    ObjectExplanation,
    RuleExplanation,
    Step,
    StepKind,
    deciding,
)
from kyvsim.model.result import RuleStatus, RunVerdict
from kyvsim.report.decisions import decision, rule_name
from kyvsim.report.diagnostics import diagnostic_json, place_json, resource_place, sentence
from kyvsim.report.object_text import (
    Marked,
    document_origin,
    hunks,
    json_entries,
    marked_yaml,
    whole_numbers,
    yaml_lines,
)
from kyvsim.report.page import MOST_OBJECTS, page
from kyvsim.report.results import identity, title
from kyvsim.report.run import error_fact
from kyvsim.report.style import MARK_STYLES, Paint, counted, painter, safe_line

SHOWN_WORDS: Mapping[str, str] = {
    "silent": "no result",
    "unconcerned": "no match",
    StepKind.NOT_EVALUATED.value: "not run",
}
"""Texts and pages show these words in place of those of the JSON document."""


class StepPage(NamedTuple):
    """Display options of explanations."""

    colours: bool = False
    width: int = 80
    diagnostics: Callable[[], tuple[Diagnostic, ...]] = tuple
    """Returns those about inputs, when all objects are read; text is written beside them."""


def answer_word(answer: Answer | None) -> str:
    """Return `yes`, `no`, a status, or ""."""
    if isinstance(answer, RuleStatus):
        return answer.value
    return "" if answer is None else "yes" if answer else "no"


def verdict_word(rule: RuleExplanation) -> str:
    """Return the worst result of a rule, or why there is none."""
    order = (RuleStatus.ERROR, RuleStatus.FAIL, RuleStatus.WARN, RuleStatus.PASS, RuleStatus.SKIP)
    statuses = {result.status for result in rule.results}
    none = "silent" if rule.applied else "unconcerned"
    return next((status.value for status in order if status in statuses), none)


def effect_lines(step: Step) -> Iterator[Marked]:
    """Yield the changes by a rule or the objects it would create, as marked lines of YAML."""
    if step.kind is StepKind.CHANGE and step.found is not None and step.wanted is not None:
        for mark, line in hunks(marked_yaml(step.found.data, step.wanted.data)):
            yield (" ", "...") if mark == "@" else (mark, line)
    if step.kind is StepKind.GENERATED and step.found is not None:
        yield from (("+", line) for line in yaml_lines(step.found.data))


_STYLES: Final = MappingProxyType({"fail": "bad", "error": "bad", "warn": "warn", "pass": "good"})


def explained_rule(rule: RuleExplanation, explanation: ObjectExplanation) -> dict[str, object]:
    """Return a rule of an object, with the explanation of its result, as values for pages."""
    word = verdict_word(rule)
    path = deciding(rule.steps)
    texts = ((result.message or result.own, result.note) for result in rule.results)
    return {
        "rule": rule,
        "name": rule_name(rule),
        "word": SHOWN_WORDS.get(word, word),
        "style": _STYLES.get(word, ""),
        "messages": [*filter(None, chain.from_iterable(texts))],
        "decided": decision(rule, explanation),
        "steps": [_node(step, path) for step in rule.steps],
        "before": [_node(step, ()) for step in rule.before],
    }


def _node(step: Step, path: tuple[Step, ...]) -> dict[str, object]:
    """Return a step for templates; it `leads` if it is on the path to the decisive step."""
    leads = bool(path) and path[0] is step
    rest = path[1:] if leads else ()
    return {
        "word": answer_word(step.answer),
        "text": sentence(step),
        "place": step.place,
        "seen_at": step.seen_at,
        "effect": [*effect_lines(step)],
        "leads": leads,
        "decides": leads and not rest,
        "steps": [_node(inner, rest) for inner in step.steps],
    }


_WORD = 6
STYLES: Mapping[str, str] = {
    "yes": "pass",
    "no": "fail",
    "no match": "dim",
    "no result": "dim",
    "met": "pass",
    "not run": "warn",
}
"""Styles of words that have no style of their own."""


def render_text(objects: Iterable[ObjectExplanation], page: StepPage) -> Iterator[str]:
    """Yield the explanations of objects piece by piece."""
    paint = painter(colours=page.colours)
    width = max(page.width, 50)
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
    word = verdict_word(rule)
    word = SHOWN_WORDS.get(word, word)
    upper, place = word.upper(), safe_line(str(rule.place))
    line = f"  {upper:<5}  {safe_line(rule_name(rule))}"
    shown = line.replace(upper, paint(STYLES.get(word, word), upper), 1)
    gap = "  " if len(line) + 2 + len(str(rule.place)) <= width else "\n         "
    yield f"\n{shown}{gap}{paint('dim', place)}\n"
    for result in rule.results:
        for text in filter(None, (result.message or result.own, result.note)):
            yield from wrapped(text, " " * 9, width)
    document = explanation.response.document
    files = rule.place.file, document.file if document else ""
    decided = decision(rule, explanation)
    yield from wrapped(decided.text, " " * 9, width, "because  ")
    for label, at in (("policy   ", decided.place), ("manifest ", decided.seen_at)):
        if at is not None:
            yield f"{' ' * 9}{paint('dim', label)}{paint('place', safe_line(str(at)))}\n"
    for steps, head in ((rule.steps, "policy  object"), (rule.before, "on the old object")):
        if steps:
            yield f"\n    {paint('dim', head)}\n"
        for step in steps:
            yield from _step(step, 0, files, paint, width)


def _step(
    step: Step, depth: int, files: tuple[str, str], paint: Paint, width: int
) -> Iterator[str]:
    """Yield a step and its substeps; columns show line and column in policy and manifest."""
    columns = [
        f"{place.line}:{place.column}" if place and place.file == file and place.line else ""
        for place, file in zip((step.place, step.seen_at), files, strict=True)
    ]
    gutter = "".join(column.ljust(8) for column in columns)
    word = answer_word(step.answer)
    text = sentence(step)
    if step.place is not None and step.place.file != files[0]:
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
        yield from _step(inner, depth + 1, files, paint, width)


def wrapped(text: str, indent: str, width: int, label: str = "") -> Iterator[str]:
    """Yield the lines of a text, indented, with a label before the first one."""
    for line in _lines(label + text, width - len(indent), rest=" " * len(label)):
        yield f"{indent}{line}\n"


def _lines(text: str, width: int, rest: str = "") -> list[str]:
    """Return the lines of a text, with `rest` before all but the first; words are not broken."""
    return [
        part
        for line in text.splitlines()
        for part in wrap(
            safe_line(line),
            max(width, 24),
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def render_json(objects: Iterable[ObjectExplanation], page: StepPage) -> Iterator[str]:
    """Yield the document, one object at a time; found and expected values are not truncated."""
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
    yield '],\n"diagnostics": ['
    yield from json_entries(json.dumps(diagnostic_json(one)) for one in page.diagnostics())
    yield f'],\n"kyvsim": {json.dumps(document_origin("explain"))}}}\n'


def rule_json(rule: RuleExplanation, explanation: ObjectExplanation) -> dict[str, object]:
    """Return a rule's explanation: its results, the decisive step, and the tree of steps."""
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


def _step_json(step: Step) -> dict[str, object]:
    """Return a step as JSON data without empty fields."""
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


def render_html(objects: Iterable[ObjectExplanation], options: StepPage) -> Iterator[str]:
    """Yield the page in pieces."""
    every = [object_part(one) for one in objects]
    diagnostics = options.diagnostics()
    shown = every
    if len(every) > MOST_OBJECTS:
        shown = sorted(every, key=_rank)[:MOST_OBJECTS]
    further = len(every) - len(shown)
    return page(
        "explain.html",
        objects=shown,
        ending=banner(every, diagnostics),
        diagnostics=diagnostics,
        further=further,
    )


_RANKS: Final = ("bad", "warn", "good")


def _rank(shown: Mapping[str, Any]) -> int:
    """Return the position of an object on a page without room for all: the worst come first."""
    styles = {one["style"] for one in shown["applied"]}
    return next((rank for rank, style in enumerate(_RANKS) if style in styles), len(_RANKS))


def banner(
    objects: Sequence[Mapping[str, Any]], diagnostics: Iterable[Diagnostic]
) -> dict[str, str]:
    """Return the number of rules by their words, and the style of the worst one or of errors."""
    rules = [one for shown in objects for one in shown["applied"]]
    words = Counter(one["word"] for one in rules)
    numbers = [f"{number} {word}" for word, number in words.items()]
    numbers.append(f"{sum(len(shown['others']) for shown in objects)} not matching")
    styles = {one["style"] for one in rules}
    style = next((one for one in _RANKS if one in styles), "warn")
    evaluated = f"{counted(len(rules), 'rule')} evaluated on {counted(len(objects), 'object')}"
    line, errors = f"{evaluated}: {', '.join(numbers)}", error_fact(diagnostics)
    if errors.number:
        line, style = f"{RunVerdict.INCOMPLETE}: {errors.text} · {line}", "bad"
    return {"line": line, "style": style}


def object_part(explanation: ObjectExplanation) -> dict[str, object]:
    """Return the values of a page about an object, with matching rules and others."""
    rules = explanation.rules
    return {
        "title": title(explanation.response.trigger),
        "place": resource_place(explanation.response),
        "applied": [explained_rule(rule, explanation) for rule in rules if rule.applied],
        "others": [explained_rule(rule, explanation) for rule in rules if not rule.applied],
    }
