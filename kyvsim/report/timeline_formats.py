"""A simulation as a page, alone or beside another run, and as one JSON document."""

from collections import Counter
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Any, Final

from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.model.simulation import (
    Expectation,
    Hazard,
    HazardLevel,
    Simulation,
    TimelineEvent,
)
from kyvsim.report.diagnostics import place_json
from kyvsim.report.explain import SHOWN_WORDS, explained_rule, rule_json
from kyvsim.report.object_text import to_json, to_yaml
from kyvsim.report.page import page
from kyvsim.report.results import identity_of
from kyvsim.report.timeline_chart import (
    LANE,
    PairDifference,
    chart_of,
    difference,
    lanes_of,
    pairs_of,
)
from kyvsim.report.timeline_rows import (
    TimelineOptions,
    differences,
    event_title,
    hazard_subject,
    interleavings_text,
    shown_events,
    summary_counts,
    summary_parts,
    time_text,
    title_of,
)
from kyvsim.report.timeline_text import (
    RenderedEvaluation,
    ending_word,
    left_out,
    rendered_evaluations,
)

TEXTS: Final = MappingProxyType(
    {
        "time": time_text,
        "subject": hazard_subject,
        "yaml": to_yaml,
        "levels": {HazardLevel.ERROR: "bad", HazardLevel.WARNING: "warn", HazardLevel.INFO: "info"},
        "lane_height": LANE,
    }
)
"""Functions and styles for the templates."""


def columns(count: int) -> str:
    """Return the style sheet for a number of lanes: inline styles are not allowed."""
    lines = [f".lanes{{grid-template-columns:6.5rem repeat({max(1, count)},minmax(0,1fr))}}\n"]
    lines += [f".l{lane}{{grid-column:{lane + 2}}}\n" for lane in range(count)]
    return "@media screen and (min-width:861px){\n" + "".join(lines) + "}\n"


def _run(letter: str, side: str, simulation: Simulation) -> dict[str, object]:
    """Return one of two runs for templates; `side` is the prefix of the ids of its cards."""
    lanes = lanes_of(simulation)
    return {
        "letter": letter,
        "side": side,
        "simulation": simulation,
        "summary": summary_parts(simulation),
        "lanes": lanes,
        "cards": {card.event.number: card for card in lanes.cards},
        "chart": chart_of(lanes, simulation.seconds),
    }


def render_html(simulation: Simulation, options: TimelineOptions) -> Iterator[str]:
    """Yield the page in pieces; a switch shows bookkeeping.

    A simulation that is compared with another is shown beside it, with bookkeeping only if
    `options.every` is set: the differences at the end, and step by step.
    """
    other = simulation.compared
    if other:
        pairs = list(pairs_of(simulation, other, every=options.every))
        counts = Counter(pair.difference for pair in pairs)
        return page(
            "comparison.html",
            style=("timeline.css", columns(2)),
            script=("timeline.js",),
            runs=(_run("A", "e", simulation), _run("B", "f", other)),
            differences=list(differences(simulation, other)),
            pairs=pairs,
            tally=[f"{counts[difference]} {difference.value}" for difference in PairDifference],
            texts=TEXTS,
        )
    values = values_of(simulation, options)
    return page(
        "timeline.html",
        style=("timeline.css", columns(len(values["lanes"].names))),
        script=("timeline.js",),
        **values,
    )


def values_of(simulation: Simulation, options: TimelineOptions) -> dict[str, Any]:
    """Return what templates show of a simulation."""
    lanes = lanes_of(simulation)
    # The changes of every object that is shown, in order of first appearance.
    shown = {event.object for event in shown_events(simulation, every=False)}
    shown |= set(map(object_key, simulation.objects))
    versions: dict[ObjectKey, list[TimelineEvent]] = {}
    for event in simulation.events:
        changed = event.before is not None or event.after is not None
        if event.object in shown and event.outcome == "done" and changed:
            versions.setdefault(event.object, []).append(event)
    inquiries = []
    for inquiry in rendered_evaluations(simulation, every=options.every):
        rules = []
        for rule in (*inquiry.applied, *inquiry.others):
            word = ending_word(rule)
            word = SHOWN_WORDS.get(word, word)
            rules.append(explained_rule(rule, inquiry.found) | {"word": word})
        inquiries.append((inquiry, tuple(rules)))
    return {
        "simulation": simulation,
        "summary": summary_parts(simulation),
        "every": options.every,
        "lanes": lanes,
        "chart": chart_of(lanes, simulation.seconds),
        "texts": TEXTS,
        "objects": versions,
        "inquiries": tuple(inquiries),
        "more": left_out(simulation, every=options.every),
        "orders": interleavings_text(simulation.interleavings) if simulation.interleavings else "",
        "differences": differences,
        "difference": difference,
        "shown_events": shown_events,
        "title_of": title_of,
        "event_title": event_title,
    }


def render_json(simulation: Simulation, _: TimelineOptions) -> Iterator[str]:
    """Yield the document, an event or object at a time; bookkeeping is in it in any case."""
    lists: dict[str, Iterable[object]] = {
        "events": map(_event, simulation.events),
        "objects": simulation.objects,
        "hazards": map(_hazard, simulation.hazards),
        "expectations": map(_expectation, simulation.expectations),
    }
    start = "{"
    for name, values in lists.items():
        yield f'{start}"{name}": ['
        yield from _joined(values)
        yield "]"
        start = ", "
    if simulation.explained:
        yield f', "explained": {to_json(simulation.explained)}, "inquiries": ['
        yield from _joined(map(_inquiry, rendered_evaluations(simulation, every=True)))
        yield "]"
    if simulation.interleavings:
        # Each ending but the usual one has the events of its shortest run.
        interleavings = simulation.interleavings
        usual, *others = interleavings.endings
        endings = [
            {
                "orders": ending.runs,
                "changes": ending.changes,
                "differences": _differences(usual.simulation, ending.simulation),
                **_steps(ending.simulation),
            }
            for ending in others
        ]
        orders = {
            "orders": interleavings.runs,
            "complete": interleavings.complete,
            "otherwise": endings,
        }
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


def _steps(simulation: Simulation) -> dict[str, object]:
    return {
        "events": [*map(_event, simulation.events)],
        "hazards": [*map(_hazard, simulation.hazards)],
        "expectations": [*map(_expectation, simulation.expectations)],
    }


def _differences(usual: Simulation, other: Simulation) -> list[dict[str, str]]:
    return [{"what": word, "text": text} for word, text in differences(usual, other)]


def _joined(values: Iterable[object]) -> Iterator[str]:
    for index, value in enumerate(values):
        yield f"{',' if index else ''}\n{to_json(value)}"


def _event(event: TimelineEvent) -> dict[str, object]:
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
                "reason": failure.reason.value,
                "message": failure.message,
                "object": identity_of(failure.object) if failure.object else None,
                "rules": list(failure.rules),
            }
            for failure in event.failure_reasons
        ],
        "givenUp": event.given_up,
        "errors": [{"rule": error.rule, "message": error.message} for error in event.unevaluated],
    }


def _inquiry(shown: RenderedEvaluation) -> dict[str, object]:
    inquiry = shown.inquiry
    return {
        "time": round(inquiry.time, 6),
        "actor": inquiry.actor,
        "occasion": inquiry.occasion,
        "event": inquiry.event,
        "unheard": inquiry.unheard,
        "waiting": list(inquiry.waiting),
        "rules": [
            {**rule_json(rule, shown.found), "verdict": ending_word(rule)}
            for rule in (*shown.applied, *shown.others)
        ],
    }


def _hazard(hazard: Hazard) -> dict[str, object]:
    return {
        "code": hazard.code,
        "level": hazard.level.value,
        "message": hazard.message,
        "objects": [identity_of(key) for key in hazard.objects],
        "policies": list(hazard.policies),
        "events": list(hazard.events),
        "location": place_json(hazard.location),
        **({"manifests": list(hazard.manifests)} if hazard.manifests else {}),
    }


def _expectation(expectation: Expectation) -> dict[str, object]:
    return {
        "text": expectation.text,
        "met": expectation.met,
        "time": round(expectation.time, 6),
        "reason": expectation.reason,
        "location": place_json(expectation.location),
    }


def _summary(simulation: Simulation) -> dict[str, object]:
    return {
        "name": simulation.name,
        "model": simulation.model,
        "install": simulation.installation,
        "seconds": round(simulation.seconds, 6),
        "stopped": simulation.cut.reason if simulation.cut else None,
        **summary_counts(simulation),
    }
