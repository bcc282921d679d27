"""What the runner knows of an operation."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kyvsim.chainsaw.session import Situation
from kyvsim.kubernetes.objects import Json


class Operation(NamedTuple):
    """An action of a step."""

    name: str
    """The field that asks for it."""
    run: Callable[[Situation, Mapping[str, Json]], Mapping[str, Json]]
    """Does it and returns the bindings it leaves; raises FailedError or UnsupportedError."""
