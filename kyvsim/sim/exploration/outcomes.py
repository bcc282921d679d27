"""Runs that end alike, and those that do not."""

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from kyvsim.kube.objects import Json, metadata, text_field
from kyvsim.model.simulation import Simulation
from kyvsim.sim.exploration.orders import Order

_PASSING = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generation"}
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Outcome(NamedTuple):
    """One way in which a scenario can end."""

    shortest: Order
    """The run with the fewest changes of order that ends so."""
    runs: int
    """How many runs end so."""


def group_outcomes(orders: Iterable[Order]) -> list[Outcome]:
    """Return the ways in which runs end, the usual order's first."""
    found: dict[str, Outcome] = {}
    for order in orders:
        ending = _ending(order.simulation)
        if ending not in found:
            found[ending] = Outcome(order, 1)
            continue
        known = found[ending]
        better = min(known.shortest, order, key=_length)
        found[ending] = Outcome(better, known.runs + 1)
    return list(found.values())


def _length(order: Order) -> tuple[int, int]:
    return order.changes, len(order.simulation.events)


def _ending(simulation: Simulation) -> str:
    """Return what a user would compare: objects, hazards, what was expected."""
    told = [
        [_lasting(obj) for obj in simulation.objects],
        sorted({hazard.code for hazard in simulation.hazards}),
        [(one.text, one.met) for one in simulation.expectations],
    ]
    text = _TIME.sub("TIME", _UID.sub("UID", json.dumps(told, sort_keys=True)))
    for name, base in sorted(_generated_names(simulation).items()):
        text = text.replace(name, f"{base}*")
    return text


def _generated_names(simulation: Simulation) -> dict[str, str]:
    """Return names that chance has completed, and what they begin with."""
    every = [metadata(obj) for obj in simulation.objects]
    return {
        text_field(meta, "name"): text_field(meta, "generateName")
        for meta in every
        if text_field(meta, "generateName")
    }


def _lasting(obj: Json) -> Json:
    if obj.__class__ is dict:
        return {name: _lasting(value) for name, value in obj.items() if name not in _PASSING}
    if obj.__class__ is list:
        return [_lasting(value) for value in obj]
    return obj
