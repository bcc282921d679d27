"""Expressions in CEL that tell what came of them, to who counts what tests reach."""

from typing import Any

from kyvsim.cel import Program
from kyvsim.languages.followed_expressions import followed_program
from kyvsim.model.probe import PointKind, Probe


def told_program(program: Program, probe: Probe, *, decides: bool = True) -> Program:
    """Return a program that tells its outcomes; the program itself if nobody listens.

    One that decides is true or false; of others it counts that they were evaluated.
    """
    if probe.follower is not None:
        program = followed_program(program, probe)
    if decides:
        seen = probe.point(PointKind.CONDITION, "true", "false")
    else:
        seen = probe.point(PointKind.EXPRESSION, "evaluated")
    if seen is None:
        return program
    run = program.run

    def told(frame: list[Any]) -> Any:
        found = run(frame)
        seen(0 if found is True or not decides else 1)
        return found

    return program._replace(run=told)
