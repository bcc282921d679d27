"""Expressions in CEL that tell what each part of them came to."""

from typing import Any

from kyvsim.cel import Program
from kyvsim.cel.loops import Run
from kyvsim.cel.nodes import Call, Loop, Node, Select
from kyvsim.cel.unparse import object_path, start_of, written
from kyvsim.cel.values import plain, show_value
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.probe import LONGEST_FOLLOWED, Probe, following

_JSON = (str, int, float, bool, list, dict, type(None))
_OWN = "expression"


def followed_program(program: Program, probe: Probe) -> Program:
    """Return a program that tells what it and its parts came to, apart from names and literals."""

    def hear(node: Node, run: Run) -> Run:
        if not isinstance(node, Call | Loop | Select):
            return run
        path = object_path(node)
        asked = Step(StepKind.EXPRESSION, text=written(node), path=path, rooted=path is not None)
        start = start_of(node, program.text)
        return following(
            probe, run, asked, _told, where=lambda: probe.locate_in(program.text, start)
        )

    heard = program.heard(hear) if len(program.text) <= LONGEST_FOLLOWED else program
    name, kind = _named(probe)
    asked = Step(kind, name, program.text.strip())
    return heard._replace(run=following(probe, heard.run, asked, _told))


def _named(probe: Probe) -> tuple[str, StepKind]:
    """Return what an expression is called by its place, and whether it is a variable's."""
    inside = probe.place.inside if probe.place else ()
    kind = StepKind.VARIABLE if "variables" in inside else StepKind.EXPRESSION
    outer, last = inside[:-1], inside[-1:] or ("",)
    shown = ""
    for step in (*outer, *(() if last == (_OWN,) else last)):
        shown += f"[{step}]" if isinstance(step, int) else f".{step}" if shown else step
    return shown, kind


def _told(step: Step, found: Any, _: list[Any]) -> Step:
    answer = found if isinstance(found, bool) else None
    return step._replace(answer=answer, found=Value(_shown(found)))


def _shown(found: Any) -> Any:
    """Return a value as it can be shown: what is not JSON as a text."""
    value = plain(found)
    return value if isinstance(value, _JSON) else show_value(value)
