"""Images that tell how they were verified."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from kyvsim.engine.compile.compiled import Outcome
from kyvsim.kubernetes.objects import Json
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.probe import Probe, following, tell
from kyvsim.model.source import Path

_Turn = TypeVar("_Turn")
_Compiled = TypeVar("_Compiled")


def followed_image(
    verify: Callable[[_Turn, _Compiled], Outcome],
    image: Callable[[_Turn], Mapping[str, Json]],
    probe: Probe,
) -> Callable[[_Turn, _Compiled], Outcome]:
    """Return what verifies an image by an entry as one that tells its verdict."""

    def told(step: Step, outcome: Outcome, turn: _Turn, _: _Compiled) -> Step:
        found = _step(image(turn), outcome)
        return step._replace(**found._asdict())

    return following(probe.at("verifyImages"), verify, Step(StepKind.IMAGE), told)


def tell_image(image: Mapping[str, Json], outcome: Outcome, probe: Probe) -> None:
    """Tell what a check found of an image."""
    tell(probe.at("verifyImages"), _step(image, outcome))


def _step(image: Mapping[str, Json], outcome: Outcome) -> Step:
    return Step(
        StepKind.IMAGE,
        str(image["reference"]),
        answer=outcome.status,
        note=outcome.message,
        path=_path(image["jsonPointer"]),
        rooted=True,
    )


def _path(pointer: str) -> Path:
    """Return the way that a pointer describes; numbers are places in lists."""
    steps = pointer.split("/")[1:]
    return tuple(int(step) if step.isdecimal() else step for step in steps)
