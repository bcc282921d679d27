"""Mutants that no test notices as cases of a report for programs that knows cases only."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.model.source import Location
from kyvsim.model.suite import Mutants
from kyvsim.report.mutants_text import advice_lines, change_text, score_line


class HoleCase(NamedTuple):
    """A hole, in the words of a report."""

    policy: str
    title: str
    """What was changed."""
    place: Location
    advice: str
    """What a test would have to try, over several lines."""


def hole_cases(mutants: Mutants | None) -> tuple[HoleCase, ...]:
    """Return a case for each hole, none where no policies were changed."""
    return tuple(_cases(mutants)) if mutants else ()


def _cases(mutants: Mutants) -> Iterator[HoleCase]:
    for hole in mutants.holes:
        text = "\n".join(advice_lines(hole))
        yield HoleCase(hole.policy, change_text(hole), hole.location, text)


def score_of(mutants: Mutants | None) -> str:
    """Return the score in words, "" where no policies were changed."""
    return score_line(mutants) if mutants else ""
