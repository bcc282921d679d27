"""How a simulation ended."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import Ending, Fact, Verdict
from kyvsim.model.simulation import Hazard, HazardLevel, Simulation
from kyvsim.report.ending import error_fact, informing, left_out_fact, warning_fact, weighing
from kyvsim.report.style import counted

NO_LEVEL = "none"
"""The least level of a hazard that counts where none does."""
_LEVELS = tuple(one.value for one in HazardLevel)


class SimulationTerms(NamedTuple):
    """What was read beside the scenario, and what counts as a failure."""

    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: int = 0
    least: str = HazardLevel.ERROR.value
    """The least level of a hazard that fails the run, or `none`."""


def simulation_ending(simulation: Simulation | None, terms: SimulationTerms) -> Ending:
    """Return how it ended; None for a simulation that did not begin."""
    facts = (
        error_fact(terms.diagnostics),
        *(_facts(simulation, terms.least) if simulation is not None else (_NOT_BEGUN,)),
        left_out_fact(terms.left_out),
        warning_fact(terms.diagnostics),
    )
    return Ending(facts)


_NOT_BEGUN = Fact("notBegun", 1, "nothing was simulated", Verdict.INCOMPLETE)


def runs_of(simulation: Simulation) -> list[Simulation]:
    """Return the run, and those in other orders of steps that end otherwise."""
    others = simulation.interleavings.endings[1:] if simulation.interleavings else ()
    return [simulation, *(ending.simulation for ending in others)]


def _facts(simulation: Simulation, least: str) -> Iterator[Fact]:
    runs = runs_of(simulation)
    cuts = [run.cut for run in runs if run.cut]
    reached = f"stopped before its end, at {cuts[0].reason}" if cuts else ""
    yield weighing("cut", len(cuts), reached, Verdict.INCOMPLETE)
    yield from _expectations(runs)
    counting = _LEVELS[: _LEVELS.index(least) + 1] if least != NO_LEVEL else ()
    counts = sum(one.level in counting for one in simulation.hazards)
    above = f"of level {least} or above" if least != _LEVELS[0] else f"of level {least}"
    yield weighing("hazards", counts, f"{counted(counts, 'hazard')} {above}")
    if not counts and not cuts and not any(run.is_checked for run in runs):
        skipped = max(run.skipped for run in runs)
        text = (
            f"{skipped} of {counted(skipped, 'result')} skipped" if skipped else "no rule matched"
        )
        yield Fact("nothingChecked", 1, text, Verdict.NOTHING)
    others = [one for one in simulation.hazards if one.level not in counting]
    yield informing("otherHazards", len(others), _others_text(others, counts))
    yield Fact("events", len(simulation.events), counted(len(simulation.events), "event"))


def _others_text(others: Sequence[Hazard], counts: int) -> str:
    """Return how many hazards do not count; where those of every level do not, of which level."""
    if counts:
        return counted(len(others), "further hazard")
    levels = [(level, sum(one.level == level for one in others)) for level in _LEVELS]
    if not any(number for level, number in levels if level == HazardLevel.ERROR.value):
        return counted(len(others), "lesser hazard")
    shown = ", ".join(f"{number} {level}" for level, number in levels if number)
    return f"{counted(len(others), 'hazard')} not counted ({shown})"


def _expectations(runs: list[Simulation]) -> Iterator[Fact]:
    """Yield what came of expectations: in the usual order, or else in another one."""
    usual = runs[0].expectations
    unmet = sum(not one.met for one in usual)
    expected = counted(len(usual), "expectation")
    yield weighing("unmet", unmet, f"{unmet} of {expected} not met")
    elsewhere = sum(any(not one.met for one in run.expectations) for run in runs[1:])
    others = counted(elsewhere, "other order")
    yield weighing("unmetElsewhere", elsewhere, f"expectations not met in {others} of steps")
    if usual and not unmet:
        yield Fact("met", len(usual), f"{expected} met")
