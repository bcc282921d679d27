"""Explanations as pages show them: steps in words, and which of them led to what decided."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, Step, deciding
from kyvsim.model.source import Location
from kyvsim.report.diff import Marked
from kyvsim.report.explain_effects import effect_lines
from kyvsim.report.explain_words import (
    Decision,
    answer_word,
    decision,
    rule_name,
    sentence,
    verdict_word,
)

_LOOKS: Mapping[str, str] = MappingProxyType(
    {"fail": "bad", "error": "bad", "warn": "warn", "pass": "good"}
)


class Node(NamedTuple):
    """A step."""

    word: str
    text: str
    place: Location | None
    seen_at: Location | None
    effect: tuple[Marked, ...]
    leads: bool
    """Whether it is on the way to the step that decided."""
    decides: bool
    steps: tuple["Node", ...]


class ExplainedRule(NamedTuple):
    """A rule with how it came to its verdict."""

    rule: RuleExplanation
    name: str
    word: str
    looks: str
    messages: tuple[str, ...]
    decided: Decision
    steps: tuple[Node, ...]
    before: tuple[Node, ...]


def explained_rule(rule: RuleExplanation, found: ObjectExplanation) -> ExplainedRule:
    """Return what a page says of a rule of an object."""
    word = verdict_word(rule)
    way = deciding(rule.steps)
    texts = (text for one in rule.results for text in (one.message or one.own, one.note) if text)
    return ExplainedRule(
        rule=rule,
        name=rule_name(rule),
        word=word,
        looks=_LOOKS.get(word, ""),
        messages=tuple(texts),
        decided=decision(rule, found),
        steps=tuple(_node(one, way) for one in rule.steps),
        before=tuple(_node(one, ()) for one in rule.before),
    )


def _node(step: Step, way: tuple[Step, ...]) -> Node:
    leads = bool(way) and way[0] is step
    rest = way[1:] if leads else ()
    return Node(
        word=answer_word(step.answer),
        text=sentence(step),
        place=step.place,
        seen_at=step.seen_at,
        effect=tuple(effect_lines(step)),
        leads=leads,
        decides=leads and not rest,
        steps=tuple(_node(one, rest) for one in step.steps),
    )
