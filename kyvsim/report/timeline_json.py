"""A simulation as one JSON document: events, final objects, hazards, expectations, summary."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.model.simulation import (
    Expectation,
    Hazard,
    Simulation,
    TimelineEvent,
)
from kyvsim.report.diagnostics import place_json
from kyvsim.report.explain import rule_json
from kyvsim.report.object_text import to_json
from kyvsim.report.results import identity_of
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
        # Each ending but the usual one has the events of its shortest run.
        found = simulation.interleavings
        usual, *others = found.endings
        endings = [
            {
                "orders": one.runs,
                "changes": one.changes,
                "differences": _differences(usual.simulation, one.simulation),
                **_steps(one.simulation),
            }
            for one in others
        ]
        orders = {"orders": found.runs, "complete": found.complete, "otherwise": endings}
        yield f', "interleavings": {to_json(orders)}'
    if simulation.compared:
        other = simulation.compared
        compared = {
            "differences": _differences(simulation, other),
            "pairs": [
                {
                    "difference": pair.difference.value,
                    "event": pair.first.number if pair.first else None,
                    "other": pair.second.number if pair.second else None,
                }
                for pair in pairs_of(simulation, other, every=True)
            ],
            **_steps(other),
            "summary": _summary(other),
        }
        yield f', "compared": {to_json(compared)}'
    yield f', "summary": {to_json(_summary(simulation))}}}\n'


def _steps(simulation: Simulation) -> dict[str, Json]:
    return {
        "events": [_event(event) for event in simulation.events],
        "hazards": [_hazard(hazard) for hazard in simulation.hazards],
        "expectations": [_expectation(each) for each in simulation.expectations],
    }


def _differences(usual: Simulation, other: Simulation) -> Json:
    return [{"what": one.word, "text": one.text} for one in differences(usual, other)]


def _joined(values: Iterator[Json]) -> Iterator[str]:
    for index, value in enumerate(values):
        yield f"{',' if index else ''}\n{to_json(value)}"


def _event(event: TimelineEvent) -> Json:
    return {
        "time": round(event.time, 6),
        "actor": event.actor,
        "action": event.action,
        "object": identity_of(event.object),
        "outcome": event.outcome,
        "message": event.full_message,
        "number": event.number,
        "cause": event.cause,
        "policies": list(event.policies),
        "obstacles": [
            {
                "reason": one.reason.value,
                "message": one.message,
                "object": identity_of(one.object) if one.object else None,
                "rules": list(one.rules),
            }
            for one in event.failure_reasons
        ],
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


def _hazard(hazard: Hazard) -> Json:
    return {
        "code": hazard.code,
        "level": hazard.level.value,
        "message": hazard.message,
        "objects": [identity_of(one) for one in hazard.objects],
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
