"""A simulation as a page, alone or beside another run."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.model.simulation import Hazard, HazardLevel, Simulation, TimelineEvent
from kyvsim.report.explain_words import SHOWN_WORDS, ExplainedRule, explained_rule
from kyvsim.report.object_text import to_yaml
from kyvsim.report.page import page
from kyvsim.report.timeline_chart import (
    LANE,
    Card,
    Chart,
    Lanes,
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
    orders_text,
    shown_events,
    summary_parts,
    time_text,
    title_of,
)
from kyvsim.report.timeline_text import ending_word, left_out, rendered_inquiries

# What templates of pages of simulations use: words, colours, where lanes are.


class Texts(NamedTuple):
    """The words, as functions."""

    time: Callable[[float], str]
    subject: Callable[[Hazard], list[str]]
    yaml: Callable[[Json], str]
    levels: Mapping[HazardLevel, str]
    """How hazards look."""
    lane_height: int


TEXTS: Final = Texts(
    time=time_text,
    subject=hazard_subject,
    yaml=to_yaml,
    levels=MappingProxyType(
        {HazardLevel.ERROR: "bad", HazardLevel.WARNING: "warn", HazardLevel.INFO: "info"}
    ),
    lane_height=LANE,
)


def columns(count: int) -> str:
    """Return the style that says where so many lanes are: a page may not say it at a card."""
    lines = [f".lanes{{grid-template-columns:6.5rem repeat({max(1, count)},minmax(0,1fr))}}\n"]
    lines += [f".l{lane}{{grid-column:{lane + 2}}}\n" for lane in range(count)]
    return "@media screen and (min-width:861px){\n" + "".join(lines) + "}\n"


# Two runs as one page for a browser: how they end, and step by step what only one of them does.


class _Run(NamedTuple):
    """One of the runs."""

    letter: str
    side: str
    """What the names of its cards begin with, as targets of links."""
    simulation: Simulation
    summary: list[str]
    lanes: Lanes
    cards: Mapping[int, Card]
    """By the numbers of their events."""
    chart: Chart


def _run(letter: str, side: str, simulation: Simulation) -> _Run:
    lanes = lanes_of(simulation)
    return _Run(
        letter=letter,
        side=side,
        simulation=simulation,
        summary=summary_parts(simulation),
        lanes=lanes,
        cards={one.event.number: one for one in lanes.cards},
        chart=chart_of(lanes, simulation.seconds),
    )


# A simulation as one page for a browser: an axis of time, lanes, what goes wrong, versions.


def render(simulation: Simulation, options: TimelineOptions) -> Iterator[str]:
    """Yield the page in pieces; bookkeeping is in it, shown where its switch is on.

    A simulation that is compared with another one is shown beside it, without bookkeeping unless
    `options.every` is set: how both end, and step by step what only one of them does.
    """
    other = simulation.compared
    if other:
        pairs = list(pairs_of(simulation, other, every=options.every))
        counts = Counter(one.difference for one in pairs)
        return page(
            "comparison.html",
            style=("timeline.css", columns(2)),
            script=("timeline.js",),
            runs=(_run("A", "e", simulation), _run("B", "f", other)),
            differences=list(differences(simulation, other)),
            pairs=pairs,
            tally=[f"{counts[one]} {one.value}" for one in PairDifference],
            texts=TEXTS,
        )
    values = values_of(simulation, options)
    return page(
        "timeline.html",
        style=("timeline.css", columns(len(values["lanes"].names))),
        script=("timeline.js",),
        **values,
    )


class _Inquiry(NamedTuple):
    """One time that policies were to be asked about the object that is explained."""

    heading: str
    notes: tuple[str, ...]
    rules: tuple[ExplainedRule, ...]


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
    for one in rendered_inquiries(simulation, every=options.every):
        rules = []
        for rule in (*one.applied, *one.others):
            word = ending_word(rule)
            word = SHOWN_WORDS.get(word, word)
            rules.append(explained_rule(rule, one.found)._replace(word=word))
        inquiries.append(_Inquiry(one.heading, one.notes, tuple(rules)))
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
        "orders": orders_text(simulation.interleavings) if simulation.interleavings else "",
        "differences": differences,
        "difference": difference,
        "shown_events": shown_events,
        "title_of": title_of,
        "event_title": event_title,
    }
