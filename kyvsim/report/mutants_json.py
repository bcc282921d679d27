"""What tests notice of changed policies as data, for programs."""

from kyvsim.kubernetes.objects import Json
from kyvsim.model.suite import Hole, Mutants
from kyvsim.report.coverage_json import ratio_json
from kyvsim.report.equal_json import example_json


def mutants_json(mutants: Mutants) -> Json:
    """Return the score with what it is made of, and the holes."""
    ratio = ratio_json(mutants.score)
    return {
        "score": ratio["percent"] if ratio["total"] else None,
        "noticed": mutants.noticed,
        "notNoticed": len(mutants.holes),
        "same": mutants.same,
        "notTried": mutants.untried,
        "holes": [_hole(one) for one in mutants.holes],
    }


def _hole(hole: Hole) -> Json:
    return {
        "policy": hole.policy,
        "kind": hole.kind,
        "was": hole.was,
        "now": hole.now or None,
        "location": hole.location._asdict(),
        "line": hole.line,
        "lookedForExample": hole.looked_for,
        "example": None if hole.example is None else example_json(hole.example),
    }
