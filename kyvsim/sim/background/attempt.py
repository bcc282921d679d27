"""How one attempt at an UpdateRequest ended."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.kube.objects import ObjectKey
from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.sim.server import ApiError


class Attempt(NamedTuple):
    """Whether there is more to do, and what stood in the way."""

    problems: tuple[Obstacle, ...] = ()
    """Why it failed; it is tried again."""
    notes: tuple[Obstacle, ...] = ()
    """Why nothing was done where that counts as done."""


def obstacle_of(error: ApiError, key: ObjectKey) -> Obstacle:
    """Return the refusal of a request about an object as an obstacle."""
    return Obstacle(error.why, error.message, key)


def noted(reason: Reason, message: str) -> Attempt:
    """Return an attempt that counts as done although nothing was."""
    return Attempt(notes=(Obstacle(reason, message),))


def failed(reason: Reason, message: str) -> Attempt:
    """Return an attempt that failed."""
    return Attempt((Obstacle(reason, message),))


def told(obstacles: Iterable[Obstacle]) -> str:
    """Return what obstacles say, each once."""
    return "; ".join(dict.fromkeys(one.message for one in obstacles))


def within(start: str, obstacles: Iterable[Obstacle]) -> Iterator[Obstacle]:
    """Yield obstacles with a text before what each says."""
    return (one._replace(message=f"{start}{one.message}") for one in obstacles)
