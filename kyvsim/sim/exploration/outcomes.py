"""Runs that end alike, and those that do not."""

import json
import re
from collections.abc import Iterable

from kyvsim.kube.lasting import lasting
from kyvsim.kube.objects import metadata, text_field
from kyvsim.model.simulation import (
    Ending,
    Hazard,
    HazardLevel,
    Interleavings,
    Simulation,
)
from kyvsim.sim.exploration.orders import MOST_CHANGES, Order
from kyvsim.sim.exploration.run import FOLLOWING

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def interleavings_of(orders: Iterable[Order]) -> Interleavings:
    """Return the ways in which runs end, the usual order's first; there is at least one run."""
    found: dict[str, Ending] = {}
    complete = True
    for order in orders:
        ending = Ending(order.simulation, order.changes, 1)
        known = found.setdefault(_text_of(order.simulation), ending)
        if known is not ending:
            shortest = min(known, ending, key=_length)
            found[_text_of(order.simulation)] = shortest._replace(runs=known.runs + 1)
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


def _text_of(simulation: Simulation) -> str:
    """Return what a user would compare: objects, hazards, what was expected."""
    told = [
        *(lasting(obj) for obj in simulation.objects if obj["kind"] not in FOLLOWING),
        *sorted({hazard.code for hazard in simulation.hazards}),
        *((one.text, one.met) for one in simulation.expectations),
    ]
    lines = "\n".join(json.dumps(one, sort_keys=True) for one in told)
    text = _UID.sub("UID", lines)
    for name, base in sorted(_generated_names(simulation).items()):
        text = text.replace(name, f"{base}*")
    return "\n".join(sorted(text.splitlines()))


def _generated_names(simulation: Simulation) -> dict[str, str]:
    """Return names that chance has completed, and what they begin with."""
    every = [metadata(obj) for obj in simulation.objects]
    return {
        text_field(meta, "name"): text_field(meta, "generateName")
        for meta in every
        if text_field(meta, "generateName")
    }
