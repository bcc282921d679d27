"""A simulation as one page for a browser: an axis of time, lanes, what goes wrong, versions."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.model.simulation import Simulation, TimelineEvent
from kyvsim.report.endings import differences, orders_text
from kyvsim.report.explain_nodes import ExplainedRule, explained_rule
from kyvsim.report.inquiry_text import (
    ToldInquiry,
    ending_word,
    left_out,
    told_inquiries,
)
from kyvsim.report.page import page
from kyvsim.report.timeline_chart import chart_of, difference, lanes_of
from kyvsim.report.timeline_comparison import comparison_page
from kyvsim.report.timeline_rows import (
    TimelineLook,
    event_title,
    shown_events,
    summary_parts,
    title_of,
)
from kyvsim.report.timeline_texts import TEXTS, columns


def render(simulation: Simulation, look: TimelineLook) -> Iterator[str]:
    """Yield the page in pieces; bookkeeping is in it, shown where its switch is on.

    A simulation that is compared with another one is shown beside it.
    """
    if simulation.compared:
        return comparison_page(simulation, simulation.compared, every=look.every)
    values = values_of(simulation, look)
    return page(
        "timeline.html",
        style=("timeline.css", columns(len(values["lanes"].names))),
        script=("timeline.js",),
        **values,
    )


def values_of(simulation: Simulation, look: TimelineLook) -> dict[str, Any]:
    """Return what templates show of a simulation."""
    lanes = lanes_of(simulation)
    return {
        "simulation": simulation,
        "summary": summary_parts(simulation),
        "every": look.every,
        "lanes": lanes,
        "chart": chart_of(lanes, simulation.seconds),
        "texts": TEXTS,
        "objects": _versions(simulation),
        "inquiries": tuple(_told(one) for one in told_inquiries(simulation, every=look.every)),
        "more": left_out(simulation, every=look.every),
        "orders": orders_text(simulation.interleavings) if simulation.interleavings else "",
        "differences": differences,
        "difference": difference,
        "shown_events": shown_events,
        "title_of": title_of,
        "event_title": event_title,
    }


class _Inquiry(NamedTuple):
    """One time that policies were to be asked about the object that is explained."""

    heading: str
    notes: tuple[str, ...]
    rules: tuple[ExplainedRule, ...]


def _told(one: ToldInquiry) -> _Inquiry:
    rules = (*one.applied, *one.others)
    told = (explained_rule(rule, one.found)._replace(word=ending_word(rule)) for rule in rules)
    return _Inquiry(one.heading, one.notes, tuple(told))


def _versions(simulation: Simulation) -> dict[ObjectKey, list[TimelineEvent]]:
    """Return the changes of every object that is shown, in order of first appearance."""
    told = {event.object for event in shown_events(simulation, every=False)}
    told |= set(map(object_key, simulation.objects))
    versions: dict[ObjectKey, list[TimelineEvent]] = {}
    for event in simulation.events:
        changed = event.before is not None or event.after is not None
        if event.object in told and event.outcome == "done" and changed:
            versions.setdefault(event.object, []).append(event)
    return versions
