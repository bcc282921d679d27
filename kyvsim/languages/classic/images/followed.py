"""Images that tell how they were verified."""

from collections.abc import Callable
from typing import TypeVar

from kyvsim.compile.outcome import Outcome
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.following import following
from kyvsim.model.probe import Probe

_Turn = TypeVar("_Turn")
_Compiled = TypeVar("_Compiled")


def followed_image(
    verify: Callable[[_Turn, _Compiled], Outcome], name: Callable[[_Turn], str], probe: Probe
) -> Callable[[_Turn, _Compiled], Outcome]:
    """Return what verifies an image by an entry as one that tells its verdict."""

    def told(step: Step, outcome: Outcome, turn: _Turn, _: _Compiled) -> Step:
        return step._replace(name=name(turn), answer=outcome.status, note=outcome.message)

    return following(probe.at("verifyImages"), verify, Step(StepKind.IMAGE), told)
