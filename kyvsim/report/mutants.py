"""What tests notice of changed policies: as text, JSON, and cases of other reports."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.comparison import DifferenceKind
from kyvsim.model.source import Location
from kyvsim.model.suite import Mutants, SurvivingMutant
from kyvsim.report.coverage import ratio_json
from kyvsim.report.equal import example_json
from kyvsim.report.evidence import example_objects
from kyvsim.report.style import safe_line

_WORDS: Mapping[DifferenceKind, str] = MappingProxyType(
    {
        DifferenceKind.DENIAL_LOST: "the policy denies this, the mutant does not",
        DifferenceKind.DENIAL_GAINED: "the mutant denies this, the policy does not",
        DifferenceKind.ENFORCEMENT_LOST: "the policy denies this, the mutant only reports it",
        DifferenceKind.ENFORCEMENT_GAINED: "the mutant denies this, the policy only reports it",
        DifferenceKind.OBJECT: "the mutant changes this object differently",
        DifferenceKind.GENERATED: "the mutant generates different objects for this",
        DifferenceKind.DELETION: "only one of the two would delete this",
    }
)


_LONGEST = 80
"""The comment on a value that was changed: its line is shown, too."""


def mutant_lines(mutants: Mutants) -> Iterator[str]:
    """Yield the score, then the holes with what they need of tests."""
    yield f"{score_line(mutants)}\n"
    for hole in mutants.holes:
        yield f"  {safe_line(str(hole.location))}: {safe_line(change_text(hole))}\n"
        yield f"    {hole.location.line} | {safe_line(hole.line.strip())}\n"
        yield from (f"    {safe_line(line)}\n" for line in advice_lines(hole))


def score_line(mutants: Mutants) -> str:
    """Return how many mutants were noticed, and what does not count."""
    ratio = mutants.score
    if ratio.total:
        shown = f"{ratio.percent}% ({ratio.reached} of {ratio.total}) detected by tests"
    else:
        shown = "no mutants"
    same = f", {mutants.same} equivalent" if mutants.same else ""
    untried = f", {mutants.untried} not tried (time limit)" if mutants.untried else ""
    return f"mutants: {shown}{same}{untried}"


def change_text(hole: SurvivingMutant) -> str:
    """Return in words what was changed."""
    was, now = _cut(hole.was), _cut(hole.now)
    if now:
        return f"{hole.kind}: `{was}` became `{now}`"
    kind = "" if hole.kind == "left out" else f"{hole.kind}: "
    return f"{kind}`{was}` removed"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def advice_lines(hole: SurvivingMutant) -> Iterator[str]:
    """Yield what a test would have to try, as far as it is known."""
    example = hole.example
    if example is None:
        why = "no object was found" if hole.looked_for else "there was no time to find an object"
        yield f"no test detects this; {why} that shows a difference"
        return
    request = "" if example.operation == "CREATE" else f", at {example.operation}"
    yield f"no test detects this; {_WORDS[example.difference]}{request}:"
    for name, some in example_objects(example):
        if name:
            yield f"{name}:"
        yield from (f"  {line}" for line in some)


# What tests notice of changed policies as data, for programs.


def mutants_json(mutants: Mutants) -> Json:
    """Return the score with what it is made of, and the holes."""
    ratio = ratio_json(mutants.score)
    return {
        "score": ratio["percent"] if ratio["total"] else None,
        "noticed": mutants.noticed,
        "notNoticed": len(mutants.holes),
        "same": mutants.same,
        "notTried": mutants.untried,
        "holes": [
            {
                "policy": hole.policy,
                "kind": hole.kind,
                "was": hole.was,
                "now": hole.now or None,
                "location": hole.location._asdict(),
                "line": hole.line,
                "lookedForExample": hole.looked_for,
                "example": None if hole.example is None else example_json(hole.example),
            }
            for hole in mutants.holes
        ],
    }


# Mutants that no test notices as cases of a report for programs that knows cases only.


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
    return tuple(
        HoleCase(hole.policy, change_text(hole), hole.location, "\n".join(advice_lines(hole)))
        for hole in (mutants.holes if mutants else ())
    )


def score_of(mutants: Mutants | None) -> str:
    """Return the score in words, "" where no policies were changed."""
    return score_line(mutants) if mutants else ""
