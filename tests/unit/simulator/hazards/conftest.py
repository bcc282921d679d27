"""Runs in which hazards are searched."""

import re

import pytest
import yaml

from kyvsim.api.simulate import readers
from kyvsim.model.simulation import Scenario, ScenarioSettings, ScenarioStep, Verb
from kyvsim.model.source import Document, Location
from kyvsim.simulator.scenario import play

INCOMPLETE = re.compile(r"``|(?<!\w)\(\)|: *[;:,.]|; *[;,]|  |[:;,] *$|^ *[:;,]|\bNone\b")
"""What a text has in which something was left empty."""


@pytest.fixture
def documents():
    """Return what makes documents of objects or of YAML text."""

    def make(objects):
        if isinstance(objects, str):
            objects = list(yaml.safe_load_all(objects))
        return tuple(
            Document(one, f"{index}.yaml", 0, lambda _, n=index: Location(f"{n}.yaml", 1, 1))
            for index, one in enumerate(objects)
        )

    return make


@pytest.fixture
def run(documents):
    """Return what creates objects under policies, one after the other, and tells what came of it.

    A number among the steps is a time to wait; policies and whole steps may
    be steps too. `without` are objects
    that are deleted before, `gone` those that are deleted
    at the end, `update` is what is put in the place of an object there.
    """

    def deletion(one):
        return ScenarioStep(Verb.DELETE, Location("steps"), objects=documents([one]))

    def simulate(policies, *steps, objects=(), without=(), gone=(), update=None, **settings):
        refused = settings.pop("refused", False)
        before, after = ([deletion(one) for one in some] for some in (without, gone))
        changes = (
            [ScenarioStep(Verb.UPDATE, Location("steps"), objects=documents([update]))]
            if update
            else []
        )
        made = [
            one
            if isinstance(one, ScenarioStep)
            else ScenarioStep(Verb.WAIT, Location("steps"), seconds=one)
            if isinstance(one, float)
            else ScenarioStep(
                Verb.CREATE, Location("steps"), objects=documents([one]), lenient=True
            )
            for one in steps
        ]
        scenario = Scenario(
            "test",
            settings=ScenarioSettings(**{"horizon": 20.0, **settings}),
            objects=documents(objects),
            policies=documents(policies),
            steps=(*before, *made, *after, *changes),
        )
        simulation = play(scenario, readers())
        assert bool(simulation.diagnostics) is refused, simulation.diagnostics
        for one in simulation.hazards:
            assert not INCOMPLETE.search(one.message), one.message
        return simulation

    return simulate


@pytest.fixture
def hazards(run):
    """Return what tells the hazards of a run as code, level, rules and names of objects."""

    def find(policies, *steps, **further):
        found = run(policies, *steps, **further).hazards
        return [
            (one.code, one.level.value, one.policies, [key.name for key in one.objects])
            for one in found
        ]

    return find
