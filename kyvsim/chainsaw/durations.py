"""Durations that operations say, in virtual seconds."""

from collections.abc import Mapping

from kyvsim.chainsaw.ending import HardError
from kyvsim.chainsaw.session import Situation
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import SECOND, parse_duration


def seconds_of(text: Json) -> float:
    """Return the seconds that a duration says; raise HardError where it is none."""
    nanoseconds = parse_duration(str(text))
    if nanoseconds is None:
        raise HardError(f"`{text}` is no duration")
    return nanoseconds / SECOND


def timeout_of(situation: Situation, spec: Mapping[str, Json], default: float) -> float:
    """Return how long an operation may take."""
    given = spec.get("timeout")
    return default if given is None else seconds_of(situation.filled(given))
