"""A simulation as one JSON document: events, final objects, hazards, expectations, summary."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json, ObjectKey
from kyvsim.model.simulation import (
    Expectation,
    FailureReason,
    Hazard,
    Interleavings,
    Simulation,
    TimelineEvent,
)
from kyvsim.report.diagnostics import place_json
from kyvsim.report.explain import rule_json
from kyvsim.report.object_text import to_json
from kyvsim.report.timeline_chart import pairs_of
from kyvsim.report.timeline_rows import TimelineOptions, differences, summary_counts
from kyvsim.report.timeline_text import RenderedInquiry, ending_word, rendered_inquiries


def render(simulation: Simulation, options: TimelineOptions) -> Iterator[str]:
    """Yield the document, an event or object at a time; bookkeeping is in it in any case."""
    del options
    yield '{"events": ['
    yield from _joined(_event(one) for one in simulation.events)
    yield '], "objects": ['
    yield from _joined(iter(simulation.objects))
    yield '], "hazards": ['
    yield from _joined(_hazard(one) for one in simulation.hazards)
    yield '], "expectations": ['
    yield from _joined(_expectation(one) for one in simulation.expectations)
    yield "]"
    if simulation.explained:
        yield f', "explained": {to_json(simulation.explained)}, "inquiries": ['
        yield from _joined(_inquiry(one) for one in rendered_inquiries(simulation, every=True))
        yield "]"
    if simulation.interleavings:
        yield f', "interleavings": {to_json(_orders(simulation.interleavings))}'
    if simulation.compared:
        yield f', "compared": {to_json(_compared(simulation, simulation.compared))}'
    yield f', "summary": {to_json(_summary(simulation))}}}\n'


def _compared(simulation: Simulation, other: Simulation) -> Json:
    """Return another run, how it ends otherwise, and which events of both are the same step."""
    return {
        "differences": _differences(simulation, other),
        "pairs": [
            {
                "difference": pair.difference.value,
                "event": pair.first.number if pair.first else None,
                "other": pair.second.number if pair.second else None,
            }
            for pair in pairs_of(simulation, other, every=True)
        ],
        "events": [_event(event) for event in other.events],
        "hazards": [_hazard(hazard) for hazard in other.hazards],
        "expectations": [_expectation(each) for each in other.expectations],
        "summary": _summary(other),
    }


def _differences(usual: Simulation, other: Simulation) -> Json:
    return [{"what": one.word, "text": one.text} for one in differences(usual, other)]


def _orders(found: Interleavings) -> Json:
    """Return the orders tried; each ending but the usual one has its shortest run's events."""
    usual, *others = found.endings
    endings = [
        {
            "orders": one.runs,
            "changes": one.changes,
            "differences": _differences(usual.simulation, one.simulation),
            "events": [_event(event) for event in one.simulation.events],
            "hazards": [_hazard(hazard) for hazard in one.simulation.hazards],
            "expectations": [_expectation(each) for each in one.simulation.expectations],
        }
        for one in others
    ]
    return {"orders": found.runs, "complete": found.complete, "otherwise": endings}


def _joined(values: Iterator[Json]) -> Iterator[str]:
    for index, value in enumerate(values):
        yield f"{',' if index else ''}\n{to_json(value)}"


def _event(event: TimelineEvent) -> Json:
    return {
        "time": round(event.time, 6),
        "actor": event.actor,
        "action": event.action,
        "object": _key(event.object),
        "outcome": event.outcome,
        "message": event.full_message,
        "number": event.number,
        "cause": event.cause,
        "policies": list(event.policies),
        "obstacles": [_refusal(one) for one in event.failure_reasons],
        "givenUp": event.given_up,
        "errors": [{"rule": one.rule, "message": one.message} for one in event.unevaluated],
    }


def _inquiry(shown: RenderedInquiry) -> Json:
    """Return one time that policies were to be asked about an object, with the trees of rules."""
    one = shown.inquiry
    return {
        "time": round(one.time, 6),
        "actor": one.actor,
        "occasion": one.occasion,
        "event": one.event,
        "unheard": one.unheard,
        "waiting": list(one.waiting),
        "rules": [
            {**rule_json(rule, shown.found), "verdict": ending_word(rule)}
            for rule in (*shown.applied, *shown.others)
        ],
    }


def _refusal(failure_reason: FailureReason) -> Json:
    return {
        "reason": failure_reason.reason.value,
        "message": failure_reason.message,
        "object": _key(failure_reason.object) if failure_reason.object else None,
        "rules": list(failure_reason.rules),
    }


def _hazard(hazard: Hazard) -> Json:
    return {
        "code": hazard.code,
        "level": hazard.level.value,
        "message": hazard.message,
        "objects": [_key(one) for one in hazard.objects],
        "policies": list(hazard.policies),
        "events": list(hazard.events),
        "location": place_json(hazard.location),
        **({"manifests": list(hazard.manifests)} if hazard.manifests else {}),
    }


def _expectation(one: Expectation) -> Json:
    return {
        "text": one.text,
        "met": one.met,
        "time": round(one.time, 6),
        "reason": one.reason,
        "location": place_json(one.location),
    }


def _summary(simulation: Simulation) -> Json:
    return {
        "name": simulation.name,
        "model": simulation.model,
        "install": simulation.installation,
        "seconds": round(simulation.seconds, 6),
        "stopped": simulation.cut.reason if simulation.cut else None,
        **summary_counts(simulation),
    }


def _key(key: ObjectKey) -> Json:
    api_version, kind, namespace, name = key
    return {"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name}
