"""Closures that tell whoever follows an evaluation what they were asked and what they found.

Loaded only where somebody follows: elsewhere the closures stay as they are.
"""

# Evaluated for each closure that is made, the annotations of `told` took most of the time.
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from kyvsim.model.explanation import Step
from kyvsim.model.probe import Probe
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Location

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")

LONGEST_FOLLOWED = 2_000
"""Characters of an expression whose parts are told, too: of a longer one nobody reads them all."""


def following(
    probe: Probe,
    run: Callable[_Given, _Found],
    asked: Step,
    tell: Callable[Concatenate[Step, _Found, _Given], Step],
    *,
    where: Callable[[], Location | None] | None = None,
) -> Callable[_Given, _Found]:
    """Return `run` as a closure that tells of itself; `run` itself if nobody follows.

    `tell` completes the step `asked` with what was found for what was given. Where `run` raises,
    the step is an error, and the error goes on. It stands at the probe's place, or at `where`.
    """
    follower = probe.follower
    if follower is None:
        return run
    known: Step | None = None

    def placed() -> Step:
        nonlocal known
        if known is None:
            known = asked._replace(place=(where or probe.locate)())
        return known

    def told(*given: _Given.args, **named: _Given.kwargs) -> _Found:
        mark = follower.begin()
        if not mark:
            return run(*given, **named)
        step: Step | None = None
        try:
            found = run(*given, **named)
            step = tell(placed(), found, *given, **named)
        finally:
            follower.end(mark, step or fault(placed()))
        return found

    return told


def fault(asked: Step) -> Step:
    """Return a step that ended in the error which is being raised."""
    error: Any = sys.exception()
    text = getattr(error, "message", "") or str(error)
    return asked._replace(answer=RuleStatus.ERROR, note=text)


def tell(probe: Probe, step: Step) -> None:
    """Tell a step that has nothing inside, if anybody follows."""
    if probe.follower is not None:
        mark = probe.follower.begin()
        probe.follower.end(mark, step._replace(place=step.place or probe.locate()))


def unheard(probe: Probe, run: Callable[[], _Found]) -> _Found:
    """Return what `run` gives; what it would tell is forgotten."""
    if probe.follower is None:
        return run()
    mark = probe.follower.begin()
    try:
        return run()
    finally:
        probe.follower.end(mark, None)
