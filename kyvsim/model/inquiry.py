"""When policies were to be asked about an object in a simulation, and what they answered."""

from typing import NamedTuple

from kyvsim.model.explanation import ObjectExplanation


class Inquiry(NamedTuple):
    """One time that policies were to be asked about an object."""

    time: float
    """Seconds since the simulation began."""
    actor: str
    """Who asks: `admission`, or the controller that does so of its own accord."""
    occasion: str
    """The operation of the request that they were to be asked about; "" where there was none."""
    event: int | None
    """The number of the event that it belongs to, or that led to it."""
    explained: ObjectExplanation
    """The rules that were asked, and for a request those that were not about it."""
    unheard: str = ""
    """Why nobody was asked; "" where somebody was, or could have been."""
    waiting: tuple[str, ...] = ()
    """The policies that are there and did not act yet."""
