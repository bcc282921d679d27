"""Races on purpose: one scenario in many orders of its steps."""

from kyvsim.sim.exploration.orders import Order, explore
from kyvsim.sim.exploration.outcomes import interleavings_of, with_interleavings

__all__ = ["Order", "explore", "interleavings_of", "with_interleavings"]
