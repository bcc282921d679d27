"""Conditions that tell what both of their sides came to."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from kyvsim.expr import Scope, Template
from kyvsim.expr.way import Field, way_of_text
from kyvsim.kube.objects import Json
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.following import following, tell
from kyvsim.model.probe import Probe
from kyvsim.model.source import Path

_Result = TypeVar("_Result")


def followed_block(
    evaluate: Callable[[Scope], _Result], probe: Probe, is_met: Callable[[_Result], bool]
) -> Callable[[Scope], _Result]:
    """Return a block of conditions as one that tells whether it holds."""

    def told(step: Step, found: _Result, _: Scope) -> Step:
        return step._replace(answer=is_met(found))

    return following(probe, evaluate, Step(StepKind.CONDITIONS, probe.name), told)


def followed_side(template: Template, side: str, written: Json, probe: Probe) -> Template:
    """Return a side of a condition as one that tells its value when it is filled in."""
    path = _path_of(written)
    asked = Step(StepKind.SIDE, side, wanted=Value(written), path=path, rooted=path is not None)

    def told(step: Step, found: Json, _: Scope) -> Step:
        return step._replace(found=Value(found))

    return template._replace(render=following(probe.at(side), template.render, asked, told))


def _path_of(written: Json) -> Path | None:
    """Return where in the object a side looks, if it leads there and nothing else."""
    way = way_of_text(written)
    below = way.below("request", "object") if way else None
    if below is None:
        return None
    path: list[str | int] = []
    for step in below.steps:
        if not isinstance(step, Field):
            break
        path.append(step.key)
    return tuple(path)


def followed_condition(
    holds: Callable[[Scope], bool],
    written: Mapping[str, Json],
    sides: tuple[Template, Template],
    probe: Probe,
) -> Callable[[Scope], bool]:
    """Return a condition as one that tells its answer, and its sides that are fixed."""
    key, value = sides
    asked = Step(
        StepKind.CONDITION,
        probe.name,
        str(written.get("operator") or ""),
        note=written.get("message") or "",
    )

    def run(scope: Scope) -> bool:
        if key.constant:
            _tell_fixed(key, "key", probe)
        found = holds(scope)
        if value.constant:
            _tell_fixed(value, "value", probe)
        return found

    def told(step: Step, found: bool, _: Scope) -> Step:
        return step._replace(answer=found)

    return following(probe, run, asked, told)


def _tell_fixed(template: Template, side: str, probe: Probe) -> None:
    value = Value(template.value)
    tell(probe.at(side), Step(StepKind.SIDE, side, wanted=value, found=value))
