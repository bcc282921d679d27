"""Whether a mutant that no test notices does what its policy does, by cases made of both."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from kyvsim.api.equal_sides import Ground, why
from kyvsim.api.inputs import objects_of
from kyvsim.api.mutant_rows import Mutant, PolicyKey, key_of, mutants, open_tests
from kyvsim.api.suite import Reading
from kyvsim.api.suite_inputs import ManifestInputs
from kyvsim.api.system import still_system
from kyvsim.engine.given_objects import GivenObjects
from kyvsim.engine.world import World
from kyvsim.equivalence.case import STRANGER
from kyvsim.equivalence.search import Budget, Search
from kyvsim.equivalence.side import Surroundings
from kyvsim.equivalence.verdict import Bench, answer_of, first_counterexample
from kyvsim.model.evidence import Answer, Counterexample
from kyvsim.model.policy import Policy
from kyvsim.model.source import Location, place_in_text
from kyvsim.model.suite import Hole
from kyvsim.report.object_text import whole_numbers

_CASES = 3000
"""How many cases are made at most to tell a mutant from its policy."""


class Unnoticed(NamedTuple):
    """A mutant that no test notices, and a file with a test of its policy."""

    file: str
    policy: PolicyKey
    number: int
    """Which of the policy's mutants it is."""


def hole_of(one: Unnoticed, options: Reading, seconds: float, ends: float) -> Hole | None:
    """Return what tests leave open; None where the mutant does what the policy does.

    No more than some `seconds` are spent, and none after `ends`, on the clock of `time.monotonic`.
    """
    inputs, policy = next(_tests_of(one, options))
    mutant = next(mutant for n, mutant in enumerate(mutants(policy)) if n == one.number)
    left = min(seconds, ends - time.monotonic())
    answer, example = _compared(policy, mutant, _ground(inputs), left)
    if answer is Answer.EQUAL:
        return None
    place = _place(policy, mutant)
    return Hole(
        policy=policy.key,
        kind=mutant.kind.name,
        was=mutant.change.was,
        now=mutant.change.now,
        location=place,
        line=policy.document.line(place.line),
        example=example,
        looked_for=left > 0,
    )


def _tests_of(one: Unnoticed, options: Reading) -> Iterator[tuple[ManifestInputs, Policy]]:
    for test in open_tests(one.file, options):
        for compiled in test.inputs.suite.policies.policies:
            if key_of(compiled.policy) == one.policy:
                yield test.inputs, compiled.policy


def _place(policy: Policy, mutant: Mutant) -> Location:
    """Return where a policy is changed: in a text the character with which the change begins."""
    document, change = policy.document, mutant.change
    if change.offset < 0:
        return document.locate(change.path)
    text = document.data
    for step in change.path:
        text = text[step]
    return place_in_text(document, change.path, text, change.offset)


def _compared(
    policy: Policy, mutant: Mutant, ground: Ground, seconds: float
) -> tuple[Answer, Counterexample | None]:
    if mutant.policy is None or seconds <= 0:
        return Answer.NOT_COVERED, None
    old, new = (policy,), (mutant.policy,)
    space = ground.space((*old, *new))
    pair = ground.pair(old, new)
    budget = Budget(_CASES, seconds, time.monotonic, first_only=True)
    tried = Search(pair, space, ground.options.kinds, budget).run(ground.given)
    answer, _ = answer_of(tried, space, pair)
    if answer is not Answer.COUNTEREXAMPLE:
        return answer, None
    bench = Bench(pair, ground.quick_pair(old, new), why(old, ground), why(new, ground))
    return answer, first_counterexample(tried, bench)


def _ground(inputs: ManifestInputs) -> Ground:
    """Return what a test gives its policies: objects, values, exceptions, the user."""
    suite = inputs.suite
    objects = objects_of(suite.resources)
    context = GivenObjects(suite.context.resources) if suite.context.resources else None
    world = World(
        GivenObjects(()),
        suite.values,
        context=context,
        images=suite.context.images,
        targets=suite.targets,
    )
    others = (*objects, *suite.targets, *suite.others)
    return Ground(
        options=inputs.options._replace(system=still_system(datetime.now(UTC))),
        given=tuple(map(whole_numbers, objects)),
        surroundings=Surroundings(world, others, ()),
        user=suite.user or STRANGER,
    )
