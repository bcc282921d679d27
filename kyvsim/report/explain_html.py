"""Explanations as one page for a browser: no script, no font, nothing from anywhere."""

from collections.abc import Iterable, Iterator

from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, Step, deciding
from kyvsim.model.source import Location
from kyvsim.report.explain_css import CSS
from kyvsim.report.explain_words import (
    Page,
    answer_word,
    decision,
    effect_lines,
    rule_name,
    sentence,
    verdict_word,
)
from kyvsim.report.html_text import html_text
from kyvsim.report.subject import title

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(objects: Iterable[ObjectExplanation], _: Page) -> Iterator[str]:
    """Yield the page an object at a time; the steps on the way to what decided are open."""
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>kyvsim explain</title>\n<style>{CSS}</style></head>\n"
    yield "<body>\n<h1>Why rules said what they said</h1>\n<main>\n"
    for found in objects:
        yield from _object(found)
    yield "</main>\n</body></html>\n"


def _object(found: ObjectExplanation) -> Iterator[str]:
    document = found.response.document
    place = _place(document.locate(())) if document else ""
    yield f"<section><h2>{html_text(title(found.response.trigger))} {place}</h2>\n"
    yield from (_rule(one, found) for one in found.rules if one.applied)
    others = [one for one in found.rules if not one.applied]
    if others:
        yield "<h3>Rules that are not about it</h3>\n"
    yield from (_rule(one, found) for one in others)
    yield "</section>\n"


def _rule(rule: RuleExplanation, found: ObjectExplanation) -> str:
    word = verdict_word(rule)
    decided = decision(rule, found)
    way = deciding(rule.steps)
    messages = (text for one in rule.results for text in (one.message, one.note) if text)
    return "".join(
        (
            f'<article><h3><span class="word {word}">{word}</span> ',
            f"{html_text(rule_name(rule))} {_place(rule.place)}</h3>\n",
            *(f"<p>{html_text(text)}</p>\n" for text in messages),
            f'<p class="why">because <code>{html_text(decided.text)}</code><br>',
            f"{_place(decided.place)} {_place(decided.seen_at)}</p>\n",
            *(_step(one, way) for one in rule.steps),
            "<h3>As it was before</h3>\n" if rule.before else "",
            *(_step(one, ()) for one in rule.before),
            "</article>\n",
        )
    )


def _step(step: Step, way: tuple[Step, ...]) -> str:
    word = answer_word(step.answer)
    on_way = bool(way) and way[0] is step
    line = (
        f'<span class="word {word}">{word}</span> <code>{html_text(sentence(step))}</code> '
        f"{_place(step.place)} {_place(step.seen_at)}"
    )
    effect = "\n".join(f"{mark} {text}" for mark, text in effect_lines(step))
    line += f"<pre>{html_text(effect)}</pre>" if effect else ""
    look = " decided" if on_way and len(way) == 1 else ""
    if not step.steps:
        return f'<div class="leaf{look}">{line}</div>\n'
    rest = way[1:] if on_way else ()
    inside = "".join(_step(one, rest) for one in step.steps)
    state = " open" if on_way else ""
    return f'<details class="step{look}"{state}><summary>{line}</summary>\n{inside}</details>\n'


def _place(place: Location | None) -> str:
    return f'<span class="place">{html_text(str(place))}</span>' if place else ""
