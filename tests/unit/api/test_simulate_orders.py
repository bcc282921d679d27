"""Orders of steps that several processes play ahead of time."""

import multiprocessing
from pathlib import Path

import pytest

from kyvsim.api.simulate import SimulateInputs, player, simulate
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.scenario import load_scenario
from kyvsim.simulator.exploration import explore, interleavings_of, text_of

pytestmark = pytest.mark.slow

SCENARIO = str(Path(__file__).parents[3] / "fixtures/scenarios/hung-pod.yaml")


def tried(jobs):
    inputs = SimulateInputs((SCENARIO,), interleavings=None, jobs=jobs)
    return simulate(inputs).simulation.interleavings


@pytest.mark.parametrize("jobs", [2, 3])
def test_processes_find_what_one_finds(jobs):
    alone, several = tried(1), tried(jobs)
    assert (alone.runs, alone.complete) == (several.runs, several.complete)
    assert [(one.changes, one.runs, text_of(one.simulation)) for one in alone.endings] == [
        (one.changes, one.runs, text_of(one.simulation)) for one in several.endings
    ]
    assert alone.endings[0].simulation.events == several.endings[0].simulation.events


def test_what_a_killed_process_leaves_is_played_here():
    documents, _ = read_documents((SCENARIO,), typing=STRICT)
    scenario, _ = load_scenario(documents[0])
    wanted = tried(1)
    with player(scenario, 2) as play_order:
        orders = explore(play_order, None, scenario.settings.seed)
        some = [next(orders), next(orders)]
        multiprocessing.active_children()[0].kill()
        found = interleavings_of([*some, *orders])
    assert (found.runs, len(found.endings)) == (wanted.runs, len(wanted.endings))
