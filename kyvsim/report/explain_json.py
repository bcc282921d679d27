"""Explanations as one JSON document, for programs.

`objects` has for each object its `rules`; each rule its `verdict`, its `results`, what `decided`
it, and the tree of its `steps`. Values that are found or wanted are there whole.
"""

import json
from collections.abc import Iterable, Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, Step, StepKind, Value
from kyvsim.model.source import Location
from kyvsim.report.explain_words import Page, answer_word, decision, verdict_word
from kyvsim.report.object_text import whole_numbers
from kyvsim.report.results import identity


def render(objects: Iterable[ObjectExplanation], _: Page) -> Iterator[str]:
    """Yield the document an object at a time."""
    yield '{"objects": ['
    between = "\n  "
    for found in objects:
        document = found.response.document
        told = {
            **identity(found.response.trigger),
            "place": _place(document.locate(()) if document else None),
            "rules": [rule_json(one, found) for one in found.rules],
        }
        yield f"{between}{json.dumps(told, default=str)}"
        between = ",\n  "
    yield "]}\n"


def rule_json(rule: RuleExplanation, found: ObjectExplanation) -> Json:
    """Return how a rule came to its verdict: its results, what decided, and the tree of steps."""
    decided = decision(rule, found)
    return {
        "policy": rule.policy.key,
        "policyKind": rule.policy.kind,
        "rule": rule.rule.name,
        "variant": rule.rule.variant,
        "phase": rule.stage.phase.value,
        "verdict": verdict_word(rule),
        "place": _place(rule.place),
        "results": [
            {
                "rule": one.rule.name,
                "status": one.status.value,
                "message": one.message,
                "note": one.note,
            }
            for one in rule.results
        ],
        "decided": {
            "text": decided.text,
            "policy": _place(decided.place),
            "manifest": _place(decided.seen_at),
        },
        "steps": [_step(one) for one in rule.steps],
        "before": [_step(one) for one in rule.before],
    }


def _step(step: Step) -> Json:
    """Return a step; what it does not have is left out."""
    told = {
        "kind": step.kind.value,
        "name": step.name,
        "text": step.text,
        "answer": answer_word(step.answer),
        "note": step.note,
        "path": None if step.path is None else list(step.path),
        "policy": _place(step.place),
        "manifest": _place(step.seen_at),
        "steps": [_step(one) for one in step.steps],
    }
    names = ("after", "before") if step.kind is StepKind.CHANGE else ("wanted", "found")
    values = dict(zip(names, (step.wanted, step.found), strict=True))
    return {
        **{name: value for name, value in told.items() if value not in ("", None, [])},
        **{name: _value(one) for name, one in values.items() if one is not None},
    }


def _value(value: Value) -> Json:
    return whole_numbers(value.data)


def _place(place: Location | None) -> Json:
    if place is None:
        return None
    return {"file": place.file, "line": place.line, "column": place.column}
