"""Conditions that tell what both of their sides came to."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import takewhile
from typing import Any, TypeVar

from kyvsim.expr import RuleScope, System, Template, compile_template
from kyvsim.expr.closures import Missing, Run
from kyvsim.expr.query import Hear
from kyvsim.expr.variables import Variable
from kyvsim.expr.way import Field, way_of_text
from kyvsim.kube.objects import Json
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.following import LONGEST_FOLLOWED, following, tell
from kyvsim.model.probe import Probe
from kyvsim.model.source import Path

_Result = TypeVar("_Result")

_STARTS = ((("request", "object"), True), (("target",), True), (("element",), False))
"""What leads to an object, and whether it is the whole one."""


def followed_block(
    evaluate: Callable[[RuleScope], _Result], probe: Probe, is_met: Callable[[_Result], bool]
) -> Callable[[RuleScope], _Result]:
    """Return a block of conditions as one that tells whether it holds."""

    def told(step: Step, found: _Result, _: RuleScope) -> Step:
        return step._replace(answer=is_met(found))

    return following(probe, evaluate, Step(StepKind.CONDITIONS, probe.name), told)


def followed_side(written: Json, side: str, system: System, probe: Probe) -> Template:
    """Return a side of a condition as one that tells its value when it is filled in.

    Of an expression that does more than lead somewhere each part is told, unless it is a long one:
    parts of parts are written out as often as they are nested.
    """
    path, is_whole = _path_of(written)
    place = probe.at(side)
    is_short = not isinstance(written, str) or len(written) <= LONGEST_FOLLOWED
    hear = None if _is_bare(written) or not is_short else partial(_heard_in, place, written)
    template = compile_template(written, system, hear)
    asked = Step(StepKind.SIDE, side, wanted=Value(written), path=path, rooted=is_whole)

    def told(step: Step, found: Json, _: RuleScope) -> Step:
        return step._replace(found=Value(found))

    return template._replace(render=following(place, template.render, asked, told))


def _is_bare(written: Json) -> bool:
    way = way_of_text(written)
    return way is not None and not way.default and way.besides is None


def _heard_in(place: Probe, text: str, variable: Variable) -> Hear:
    """Return who hears of the parts of a variable in the text at a place."""
    expression = variable.expression
    start = variable.start + variable.text.index(expression)

    def hear(span: tuple[int, int], run: Run) -> Run:
        first, last = span
        part = expression[first:last].strip()
        path, is_whole = _path_of(f"{{{{{part}}}}}")
        shown = " ".join(map(str.strip, part.splitlines()))
        asked = Step(StepKind.EXPRESSION, text=shown, path=path, rooted=is_whole)
        return following(
            place, run, asked, _told, where=lambda: place.locate_in(text, start + first)
        )

    return hear


def _told(step: Step, found: Any, _: Json) -> Step:
    if found.__class__ is Missing:
        return step._replace(note=f"no `{found.key}`")
    return step._replace(found=Value(found))


def _path_of(written: Json) -> tuple[Path | None, bool]:
    """Return where a side looks, if it leads there and nothing else, and whether from the object.

    Else the way starts at the element of a loop.
    """
    way = way_of_text(written)
    for start, is_whole in _STARTS:
        below = way.below(*start) if way else None
        if below is not None:
            keys = (one.key for one in takewhile(_is_field, below.steps) if isinstance(one, Field))
            return tuple(keys), is_whole
    return None, False


def _is_field(step: object) -> bool:
    return isinstance(step, Field)


def followed_condition(
    holds: Callable[[RuleScope], bool],
    written: Mapping[str, Json],
    sides: tuple[Template, Template],
    probe: Probe,
) -> Callable[[RuleScope], bool]:
    """Return a condition as one that tells its answer, and its sides that are fixed."""
    key, value = sides
    asked = Step(
        StepKind.CONDITION,
        probe.name,
        str(written.get("operator") or ""),
        note=written.get("message") or "",
    )

    def run(scope: RuleScope) -> bool:
        if key.constant:
            _tell_fixed(key, "key", probe)
        found = holds(scope)
        if value.constant:
            _tell_fixed(value, "value", probe)
        return found

    def told(step: Step, found: bool, _: RuleScope) -> Step:
        return step._replace(answer=found)

    return following(probe, run, asked, told)


def _tell_fixed(template: Template, side: str, probe: Probe) -> None:
    value = Value(template.value)
    tell(probe.at(side), Step(StepKind.SIDE, side, wanted=value, found=value))
