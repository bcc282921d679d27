"""Races on purpose: one scenario in many orders of its steps."""

from kyvsim.simulator.exploration.orders import (
    Order,
    Player,
    explore,
    interleavings_of,
    with_interleavings,
)
from kyvsim.simulator.exploration.run import Directions, Played, play_directed

__all__ = [
    "Directions",
    "Order",
    "Played",
    "Player",
    "explore",
    "interleavings_of",
    "play_directed",
    "with_interleavings",
]
