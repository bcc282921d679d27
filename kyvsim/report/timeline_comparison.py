"""Two runs as one page for a browser: how they end, and step by step what only one of them does."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kyvsim.model.simulation import Simulation
from kyvsim.report.endings import differences
from kyvsim.report.page import page
from kyvsim.report.timeline_chart import Card, Chart, Lanes, chart_of, lanes_of
from kyvsim.report.timeline_pairs import PairDifference, pairs_of
from kyvsim.report.timeline_rows import summary_parts
from kyvsim.report.timeline_texts import TEXTS, columns


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


def comparison_page(simulation: Simulation, other: Simulation, *, every: bool) -> Iterator[str]:
    """Yield the page in pieces; without `every` bookkeeping is left out."""
    pairs = list(pairs_of(simulation, other, every=every))
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
