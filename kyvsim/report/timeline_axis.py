"""The axis of a timeline: milliseconds and hours on one line.

Between two moments there is as much room as the logarithm of the time between them says, wherever
on the line they are: a burst of milliseconds after two hours is as wide as one at the beginning. An
axis that is logarithmic from its origin would squeeze that one into a point.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

LONG_WAIT: Final = 4
"""The step from which a wait is told in words: a second."""
_MOST: Final = 9
_LEAST: Final = 0.15
"""What keeps two events of one moment apart, in tenfold steps."""
_NARROW: Final = 14.0
_WIDE: Final = 38.0
"""Percent that two labels have to be apart, and those that a narrow screen has room for."""


class Label(NamedTuple):
    """A moment that the axis names."""

    at: float
    """Where it is, in percent of the axis."""
    number: int
    """Which of the times it is."""
    is_minor: bool
    """Whether a narrow screen has no room for it."""


def wait_step(seconds: float) -> int:
    """Return how long a wait is in tenfold steps: 0 below a millisecond, 1 below ten, 4 seconds."""
    milliseconds = round(seconds * 1000, 3)
    return 0 if milliseconds < 1 else min(_MOST, 1 + int(math.log10(milliseconds)))


def places(times: Sequence[float]) -> list[float]:
    """Return where moments in seconds, which never go back, are on the axis, in percent."""
    reached, found, before = 0.0, [], times[0] if times else 0.0
    for time in times:
        reached += _LEAST + math.log10(1 + max(0.0, time - before) * 1000)
        found.append(reached)
        before = time
    extent = reached + _LEAST
    return [round(100 * one / extent, 2) for one in found]


def labels(times: Sequence[float], at: Sequence[float]) -> list[Label]:
    """Return the moments to name: the ends, then those after the longest waits, where is room."""
    waits = [after - before for before, after in zip((0.0, *times), times, strict=False)]
    order = sorted(range(len(times)), key=lambda index: -waits[index])
    ends = [0, len(times) - 1] if times else []
    chosen: list[Label] = []
    for index in dict.fromkeys((*ends, *order)):
        spot = at[index]
        if all(abs(spot - one.at) >= _NARROW for one in chosen):
            wide = all(abs(spot - one.at) >= _WIDE for one in chosen if not one.is_minor)
            chosen.append(Label(spot, index, not wide))
    return sorted(chosen)
