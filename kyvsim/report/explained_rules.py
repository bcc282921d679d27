"""Rules as explanations show them: how each ended, what decided that, and its steps in words."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.model.explanation import (
    Answer,
    ObjectExplanation,
    RuleExplanation,
    Step,
    StepKind,
    deciding,
    places,
)
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Location
from kyvsim.report.diagnostics import resource_place, sentence
from kyvsim.report.object_text import Marked, hunks, marked_yaml, yaml_lines

_COMPARED = frozenset({StepKind.SIDE, StepKind.FINDING, StepKind.EXPRESSION})
"""Steps that show the values that the step around them evaluated."""


SHOWN_WORDS: Mapping[str, str] = MappingProxyType(
    {"silent": "no result", "unconcerned": "no match", StepKind.UNASKED.value: "not run"}
)
"""What texts and pages show in place of words of the JSON document."""


class StepPage(NamedTuple):
    """What explanations are written on, where a format leaves a choice."""

    colours: bool = False
    width: int = 80


class DecisionText(NamedTuple):
    """What decided how a rule ended, and where it is."""

    text: str
    place: Location | None
    seen_at: Location | None


def answer_word(answer: Answer | None) -> str:
    """Return `yes`, `no`, the word of a status, or ""."""
    if answer is None:
        return ""
    if isinstance(answer, RuleStatus):
        return answer.value
    return "yes" if answer else "no"


def verdict_word(rule: RuleExplanation) -> str:
    """Return how a rule ended: the worst of its results, or why there is none."""
    order = (RuleStatus.ERROR, RuleStatus.FAIL, RuleStatus.WARN, RuleStatus.PASS, RuleStatus.SKIP)
    statuses = {result.status for result in rule.results}
    worst = next((status for status in order if status in statuses), None)
    if worst is not None:
        return worst.value
    return "silent" if rule.applied else "unconcerned"


def rule_name(rule: RuleExplanation) -> str:
    """Return a rule's name behind that of its policy, with its variant."""
    return " / ".join(filter(None, (rule.policy.key, rule.rule.name, rule.rule.variant)))


def decision(rule: RuleExplanation, explanation: ObjectExplanation) -> DecisionText:
    """Return what decided how a rule ended, with the nearest places that are known."""
    path = deciding(rule.steps)
    object_place = resource_place(explanation.response)
    if not path:
        return DecisionText("no step was evaluated", rule.place, object_place)
    last = path[-1]
    names = [step.name for step in path if step.name and step.kind is not StepKind.BODY]
    named = last._replace(name=" / ".join(names)) if names else last
    place, seen_at = places(path)
    inner = (step for step in last.steps if step.kind in _COMPARED and step.answer is None)
    text = "; ".join((sentence(named), *map(sentence, inner)))
    return DecisionText(text, place or rule.place, seen_at or object_place)


def effect_lines(step: Step) -> Iterator[Marked]:
    """Yield what a rule changed or would create, as lines of YAML with their marks."""
    if step.kind is StepKind.CHANGE and step.found is not None and step.wanted is not None:
        for mark, line in hunks(marked_yaml(step.found.data, step.wanted.data)):
            yield (" ", "...") if mark == "@" else (mark, line)
    if step.kind is StepKind.GENERATED and step.found is not None:
        yield from (("+", line) for line in yaml_lines(step.found.data))


_STYLES: Final = MappingProxyType({"fail": "bad", "error": "bad", "warn": "warn", "pass": "good"})


class StepNode(NamedTuple):
    """A step."""

    word: str
    text: str
    place: Location | None
    seen_at: Location | None
    effect: tuple[Marked, ...]
    leads: bool
    """Whether it is on the path to the step that decided."""
    decides: bool
    steps: tuple["StepNode", ...]


class ExplainedRule(NamedTuple):
    """A rule with how it came to its verdict."""

    rule: RuleExplanation
    name: str
    word: str
    style: str
    messages: tuple[str, ...]
    decided: DecisionText
    steps: tuple[StepNode, ...]
    before: tuple[StepNode, ...]


def explained_rule(rule: RuleExplanation, explanation: ObjectExplanation) -> ExplainedRule:
    """Return a rule of an object as pages show it."""
    word = verdict_word(rule)
    path = deciding(rule.steps)
    texts = (
        text
        for result in rule.results
        for text in (result.message or result.own, result.note)
        if text
    )
    return ExplainedRule(
        rule=rule,
        name=rule_name(rule),
        word=SHOWN_WORDS.get(word, word),
        style=_STYLES.get(word, ""),
        messages=tuple(texts),
        decided=decision(rule, explanation),
        steps=tuple(_node(step, path) for step in rule.steps),
        before=tuple(_node(step, ()) for step in rule.before),
    )


def _node(step: Step, path: tuple[Step, ...]) -> StepNode:
    leads = bool(path) and path[0] is step
    rest = path[1:] if leads else ()
    return StepNode(
        word=answer_word(step.answer),
        text=sentence(step),
        place=step.place,
        seen_at=step.seen_at,
        effect=tuple(effect_lines(step)),
        leads=leads,
        decides=leads and not rest,
        steps=tuple(_node(inner, rest) for inner in step.steps),
    )
