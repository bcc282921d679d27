"""Runs that end alike, and those that do not."""

from collections.abc import Iterable

from kyvsim.model.simulation import (
    Ending,
    Hazard,
    HazardLevel,
    Interleavings,
    Simulation,
)
from kyvsim.sim.exploration.endings import text_of
from kyvsim.sim.exploration.orders import MOST_CHANGES, Order


def interleavings_of(orders: Iterable[Order]) -> Interleavings:
    """Return the ways in which runs end, the usual order's first; there is at least one run."""
    found: dict[str, Ending] = {}
    complete = True
    for order in orders:
        ending = Ending(order.simulation, order.changes, 1)
        known = found.setdefault(text_of(order.simulation), ending)
        if known is not ending:
            shortest = min(known, ending, key=_length)
            found[text_of(order.simulation)] = shortest._replace(runs=known.runs + 1)
        complete = order.waiting == 0
    endings = tuple(found.values())
    return Interleavings(sum(one.runs for one in endings), complete, MOST_CHANGES, endings)


def with_interleavings(found: Interleavings) -> Simulation:
    """Return the usual run with what other orders lead to, as a hazard where they end otherwise.

    KH012: an error where another order meets fewer expectations or more hazards that are errors.
    """
    usual, *others = found.endings
    simulation = usual.simulation._replace(interleavings=found)
    if not others:
        return simulation
    worse = any(_failures(one.simulation) > _failures(usual.simulation) for one in others)
    runs = sum(one.runs for one in others)
    hazard = Hazard(
        "KH012",
        HazardLevel.ERROR if worse else HazardLevel.WARNING,
        f"how it ends depends on which of two steps comes first: {runs} of {found.runs} orders of "
        f"steps end otherwise, in {len(others)} {'way' if len(others) == 1 else 'ways'}",
    )
    return simulation._replace(hazards=(*simulation.hazards, hazard))


def _failures(simulation: Simulation) -> int:
    unmet = sum(not one.met for one in simulation.expectations)
    return unmet + sum(one.level is HazardLevel.ERROR for one in simulation.hazards)


def _length(ending: Ending) -> tuple[int, int]:
    return ending.changes, len(ending.simulation.events)
