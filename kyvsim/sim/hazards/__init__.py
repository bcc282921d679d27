"""Hazards: what goes wrong in a run, or will; one file a hazard, described in docs/hazards.md."""

from collections.abc import Callable, Iterable

from kyvsim.model.simulation import Hazard
from kyvsim.sim.hazards import background_off
from kyvsim.sim.hazards.facts import Facts

HAZARDS: tuple[Callable[[Facts], Iterable[Hazard]], ...] = (background_off.find,)
"""All that is looked for, in the order of their codes."""


def find_hazards(facts: Facts) -> tuple[Hazard, ...]:
    """Return the hazards of a run, by code."""
    return tuple(hazard for find in HAZARDS for hazard in find(facts))
