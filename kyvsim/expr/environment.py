"""The world outside that an expression may ask: the clock and chance."""

from typing import NamedTuple

from kyvsim.model.ports import Clock, Entropy


class Environment(NamedTuple):
    """Where `time_now()` and `random()` get their answers from."""

    clock: Clock
    entropy: Entropy
