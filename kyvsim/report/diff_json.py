"""What two sets of policies say otherwise, as one JSON document.

`resources` has those with a difference. Sides are null where a set says or makes nothing. What the
document holds, says docs/diff.schema.json.
"""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.model.difference import (
    Effect,
    ObjectDifference,
    Outcome,
    ResourceDifference,
    Said,
    UncomparedRule,
    VerdictDifference,
)
from kyvsim.model.source import Location
from kyvsim.report.comparison import Comparison, comparison_ending, figures
from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.ending import ending_json
from kyvsim.report.object_text import to_json, without_comma
from kyvsim.report.results import identity, identity_of
from kyvsim.report.style import Look


def render(one: Comparison, look: Look) -> Iterator[str]:
    """Yield the document a resource at a time."""
    del look  # a document for programs has one look
    yield f'{{"old": {to_json(one.names[0])}, "new": {to_json(one.names[1])}, "resources": ['
    differing = (found for found in one.resources if found.verdicts or found.objects)
    yield from without_comma(f",\n  {to_json(_resource(found))}" for found in differing)
    rules = one.uncompared() if one.applied else ()
    rest = {
        "exceptions": [
            {
                "exception": exception,
                "changes": [
                    {"old": old, "new": new, "count": number}
                    for (old, new), number in changes.items()
                ],
            }
            for exception, changes in (one.without() if one.applied else ())
        ],
        "notCompared": {
            "rules": [_uncompared(rule) for rule in rules],
            "resources": [identity_of(key) for key in one.seen.unmatched],
        },
        "diagnostics": [diagnostic_json(entry) for entry in (*one.remarks(), *one.last_remarks())],
        "ending": ending_json(comparison_ending(one)),
        "summary": figures(one),
    }
    yield "]"
    yield from (f',\n"{name}": {to_json(value)}' for name, value in rest.items())
    yield "}\n"


def _resource(found: ResourceDifference) -> Json:
    told: dict[str, Json] = {
        "resource": identity(found.resource),
        "location": _place(found.place),
        "verdicts": [_verdict(one) for one in found.verdicts],
    }
    for effect in Effect:
        some = [one for one in found.objects if one.effect is effect]
        told[effect.value] = [_object(one) for one in some]
    return told


def _verdict(one: VerdictDifference) -> Json:
    return {
        "policy": one.policy,
        "rule": one.rule,
        "type": one.type,
        "direction": one.direction.value,
        "old": _said(one.old),
        "new": _said(one.new),
        "missing": one.missing.value if one.missing else None,
    }


def _said(side: Said | None) -> Json:
    if side is None:
        return None
    return {
        "result": side.result,
        "message": side.message,
        "note": side.note,
        "path": side.path,
        "ruleLocation": _place(side.rule_place),
        "location": _place(side.failed_place),
    }


def _object(one: ObjectDifference) -> Json:
    return {"resource": identity_of(one.key), "old": _outcome(one.old), "new": _outcome(one.new)}


def _outcome(side: Outcome | None) -> Json:
    if side is None:
        return None
    return {
        "by": [
            {"policy": one.policy, "rule": one.rule, "ruleLocation": _place(one.place)}
            for one in side.authors
        ],
        **side.settings,
        "object": side.object,
    }


def _uncompared(rule: UncomparedRule) -> Json:
    return {
        "policy": rule.policy,
        "rule": rule.rule,
        "old": _place(rule.old),
        "new": _place(rule.new),
    }


def _place(place: Location | None) -> Json:
    return place._asdict() if place else None
