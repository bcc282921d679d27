"""Explanations as pages show them: steps in words, and which of them led to what decided."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, Step, StepKind, deciding
from kyvsim.model.source import Location
from kyvsim.report.explain_words import (
    Decision,
    answer_word,
    decision,
    rule_name,
    sentence,
    verdict_word,
)
from kyvsim.report.object_text import Marked, hunks, marked_yaml, yaml_lines

# What a rule that is explained changed or would create, as lines.


def effect_lines(step: Step) -> Iterator[Marked]:
    """Yield what a rule changed or would create, as lines of YAML with their marks."""
    if step.kind is StepKind.CHANGE and step.found is not None and step.wanted is not None:
        for mark, line in hunks(marked_yaml(step.found.data, step.wanted.data)):
            yield (" ", "...") if mark == "@" else (mark, line)
    if step.kind is StepKind.GENERATED and step.found is not None:
        yield from (("+", line) for line in yaml_lines(step.found.data))


# Explanations as pages show them: steps in words, and which of them led to what decided.


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
