"""KH014: the run was stopped before its end."""

from collections.abc import Iterator

from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield that a run was stopped, with the first step that was not played to its end."""
    if facts.cut is None:
        return
    left = len(facts.cut.steps)
    steps = f"{left} {'step was' if left == 1 else 'steps were'} not played"
    hint = "; `--max-events` lets it go on, where it is no loop" if facts.cut.by_events else ""
    yield Hazard(
        "KH014",
        HazardLevel.ERROR,
        f"the run was stopped at {facts.cut.reason}, before its end"
        f"{f': {steps}' if left else ''}; what would have come is not known{hint}",
        location=facts.cut.steps[0] if left else None,
    )
