"""Races on purpose: one scenario in many orders of its steps."""

from kyvsim.sim.exploration.orders import Order, explore
from kyvsim.sim.exploration.outcomes import Outcome, group_outcomes

__all__ = ["Order", "Outcome", "explore", "group_outcomes"]
