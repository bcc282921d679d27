"""`test --mutants`: policies changed a little, and which changes their tests notice.

Every manifest runs on every mutant of its policies. A mutant that no test notices is compared with
its policy by cases: either it does the same, or a small object shows what a test should have.
"""

import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from typing import NamedTuple

from kyvsim.api.equal import ComparisonSetup, why
from kyvsim.api.inputs import objects_of
from kyvsim.api.processes import each_in_processes
from kyvsim.api.suite import Reading, SuiteRun, chosen_rows, find_files, row_context
from kyvsim.api.suite_inputs import ManifestInputs, read_test
from kyvsim.api.system import processors, still_system
from kyvsim.engine.compile import PolicySet
from kyvsim.engine.compile.policy_set import index_policies
from kyvsim.engine.world import GivenObjects, World
from kyvsim.equivalence.cases import STRANGER
from kyvsim.equivalence.policy_runner import CaseWorld
from kyvsim.equivalence.search import Search, SearchBudget
from kyvsim.equivalence.verdict import VerdictContext, answer_of, first_counterexample
from kyvsim.kubernetes.objects import Path
from kyvsim.languages import READERS, compile_policies
from kyvsim.load.policy import load_policies
from kyvsim.load.suite_manifest import read_manifests
from kyvsim.model.comparison import Answer, Counterexample
from kyvsim.model.diagnostic import Severity
from kyvsim.model.policy import Policy
from kyvsim.model.source import place_in_text
from kyvsim.model.suite import ExpectedRow, Manifest, Mutants, SurvivingMutant
from kyvsim.mutation import MutationKind, PolicyChange, mutants_of
from kyvsim.policy.nodes import Node
from kyvsim.report.object_text import whole_numbers
from kyvsim.suite.check import check_rows

# Which mutants of a manifest's policies its rows notice.


class MutantStatus(Enum):
    """What came of a mutant."""

    NOTICED = "noticed"
    UNNOTICED = "unnoticed"
    REFUSED = "refused"
    """It is no policy that can be used, so there is nothing to notice."""
    UNTRIED = "untried"
    """The time was over."""


class PolicyKey(NamedTuple):
    """A policy, whichever manifest names it by whatever path."""

    file: str
    """Its file as the system knows it."""
    line: int
    """Where it begins."""


class Trial(NamedTuple):
    """What one manifest made of the mutants of one policy, in their order."""

    policy: PolicyKey
    statuses: tuple[MutantStatus, ...]


class Mutant(NamedTuple):
    """A changed policy."""

    kind: MutationKind
    change: PolicyChange
    policy: Policy | None
    """None where what the change makes is no policy."""


class LoadedTest(NamedTuple):
    """A manifest and what it names, read and compiled."""

    manifest: Manifest
    rows: tuple[ExpectedRow, ...]
    inputs: ManifestInputs
    options: Reading

    def failing(self, policies: PolicySet) -> frozenset[tuple[Path, str, str]]:
        """Return the rows that fail with some policies: their places, rules and resources."""
        inputs = self.inputs._replace(suite=self.inputs.suite._replace(policies=policies))
        bench = row_context(self.manifest, inputs)
        found = check_rows(self.rows, inputs.suite, bench, lenient=self.options.lenient)
        return frozenset((row.path, one.rule, one.resource) for row, one in found if one.failed)


def open_tests(file: str, options: Reading) -> Iterator[LoadedTest]:
    """Yield the manifests of a file that can be run, with the rows that are chosen."""
    for manifest in read_manifests(file)[0]:
        rows = chosen_rows(manifest, options)
        inputs = read_test(manifest, rows, walking=options.walking) if rows else None
        if inputs is not None and not inputs.unusable:
            yield LoadedTest(manifest, rows, inputs, options)


def trials_of(file: str, options: Reading, ends: float) -> tuple[Trial, ...]:
    """Return what the manifests in a file make of the mutants of all their policies.

    `ends` is when to stop, on the clock of `time.monotonic`.
    """
    return tuple(trial for test in open_tests(file, options) for trial in _trials(test, ends))


def _trials(test: LoadedTest, ends: float) -> Iterator[Trial]:
    sound = test.inputs.suite.policies
    before = test.failing(sound)
    for number, compiled in enumerate(sound.policies):

        def status(mutant: Mutant, number: int = number) -> MutantStatus:
            if time.monotonic() > ends:
                return MutantStatus.UNTRIED
            found = None if mutant.policy is None else compiled_alone(mutant.policy, test.inputs)
            if found is None:
                return MutantStatus.REFUSED
            policies = list(sound.policies)
            policies[number] = found.policies[0]
            changed = index_policies(policies, test.inputs.options.system.meter)
            is_noticed = test.failing(changed) - before
            return MutantStatus.NOTICED if is_noticed else MutantStatus.UNNOTICED

        yield Trial(key_of(compiled.policy), tuple(map(status, mutants(compiled.policy))))


def compiled_alone(policy: Policy, inputs: ManifestInputs) -> PolicySet | None:
    """Return a policy compiled as those of a test are; None where it is refused."""
    found, diagnostics = compile_policies((policy,), inputs.options)
    refused = any(one.severity is Severity.ERROR for one in diagnostics)
    return None if refused or not found.policies else found


def key_of(policy: Policy) -> PolicyKey:
    """Return what tells a policy from all others."""
    place = policy.document.locate(())
    return PolicyKey(os.path.realpath(place.file), place.line)


def mutants(policy: Policy) -> Iterator[Mutant]:
    """Yield the mutants of a policy, always in the same order."""
    nodes: list[Node] = [policy.tree, *(rule.tree for rule in policy.rules)]
    for kind, change in mutants_of(policy.document.data, nodes):
        document = policy.document._replace(data=change.data)
        found, diagnostics = load_policies((document,), READERS)
        sound = len(found) == 1 and not any(one.severity is Severity.ERROR for one in diagnostics)
        yield Mutant(kind, change, found[0] if sound else None)


# Whether a mutant that no test notices does what its policy does, by cases made of both.

_CASES = 3000
"""How many cases are made at most to tell a mutant from its policy."""


def surviving_mutant(
    unnoticed: tuple[str, PolicyKey, int], options: Reading, seconds: float, ends: float
) -> SurvivingMutant | None:
    """Return what tests leave open; None where the mutant does what the policy does.

    `unnoticed` is a file with a test of its policy, the policy, and which of its mutants it is.
    No more than some `seconds` are spent, and none after `ends`, on the clock of `time.monotonic`.
    """
    file, own, number = unnoticed
    inputs, policy = next(
        (test.inputs, compiled.policy)
        for test in open_tests(file, options)
        for compiled in test.inputs.suite.policies.policies
        if key_of(compiled.policy) == own
    )
    mutant = next(mutant for n, mutant in enumerate(mutants(policy)) if n == number)
    left = min(seconds, ends - time.monotonic())
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
    setup = ComparisonSetup(
        options=inputs.options._replace(system=still_system(datetime.now(UTC))),
        given=tuple(map(whole_numbers, objects)),
        case_world=CaseWorld(world, others, ()),
        user=suite.user or STRANGER,
    )
    answer, example = _compared(policy, mutant, setup, left)
    if answer is Answer.EQUAL:
        return None
    document, change = policy.document, mutant.change
    if change.offset < 0:
        place = document.locate(change.path)
    else:
        text = document.data
        for step in change.path:
            text = text[step]
        place = place_in_text(document, change.path, text, change.offset)
    return SurvivingMutant(
        policy=policy.key,
        kind=mutant.kind.name,
        was=mutant.change.was,
        now=mutant.change.now,
        location=place,
        line=policy.document.line(place.line),
        example=example,
        looked_for=left > 0,
    )


def _compared(
    policy: Policy, mutant: Mutant, setup: ComparisonSetup, seconds: float
) -> tuple[Answer, Counterexample | None]:
    if mutant.policy is None or seconds <= 0:
        return Answer.NOT_COVERED, None
    old, new = (policy,), (mutant.policy,)
    space = setup.space((*old, *new))
    pair = setup.pair(old, new)
    budget = SearchBudget(_CASES, seconds, time.monotonic, first_only=True)
    tried = Search(pair, space, setup.options.kinds, budget).run(setup.given)
    answer, _ = answer_of(tried, space, pair)
    if answer is not Answer.COUNTEREXAMPLE:
        return answer, None
    bench = VerdictContext(pair, setup.quick_pair(old, new), why(old, setup), why(new, setup))
    return answer, first_counterexample(tried, bench)


# `test --mutants`: policies changed a little, and what of it their tests notice.
#
# Every manifest runs on every mutant of its policies. What none of them notices is compared with
# the policy by cases: it does the same, or a small object shows what a test should have.

_ORDER = (MutantStatus.NOTICED, MutantStatus.UNTRIED, MutantStatus.UNNOTICED, MutantStatus.REFUSED)
"""Which of two statuses counts for a mutant."""
_SECONDS = 3.0
"""How long a mutant may be compared with its policy, however many there are."""


def try_mutants(run: SuiteRun, seconds: float) -> Mutants:
    """Return which mutants of their policies the tests that the paths lead to notice.

    Rows that fail on the policies themselves notice nothing. After `seconds` what is left is not
    tried, and nobody looks any further at what no test noticed.
    """
    ends = time.monotonic() + seconds
    jobs = run.jobs or processors()
    files, _ = find_files(run)
    trying = partial(trials_of, options=run.options, ends=ends)
    found = list(each_in_processes(trying, files, jobs))
    statuses, tests = _together(files, found)
    unnoticed = [
        (tests[policy], policy, number)
        for policy, own in statuses.items()
        for number, status in enumerate(own)
        if status is MutantStatus.UNNOTICED
    ]
    share = max(_SECONDS, (ends - time.monotonic()) * jobs / max(1, len(unnoticed)))
    looking = partial(surviving_mutant, options=run.options, seconds=share, ends=ends)
    holes = list(each_in_processes(looking, unnoticed, jobs))
    every = [status for own in statuses.values() for status in own]
    return Mutants(
        noticed=every.count(MutantStatus.NOTICED),
        # Those with an example first, all in the order of their places.
        holes=tuple(
            sorted(filter(None, holes), key=lambda one: (one.example is None, *one.location))
        ),
        same=holes.count(None),
        untried=every.count(MutantStatus.UNTRIED),
    )


def _together(
    files: Sequence[str], found: Sequence[tuple[Trial, ...]]
) -> tuple[dict[PolicyKey, tuple[MutantStatus, ...]], dict[PolicyKey, str]]:
    """Return what all tests made of each policy's mutants, and the first file with a test of it."""
    statuses: dict[PolicyKey, tuple[MutantStatus, ...]] = {}
    tests: dict[PolicyKey, str] = {}
    for file, trials in zip(files, found, strict=True):
        for policy, own in trials:
            tests.setdefault(policy, file)
            known = statuses.get(policy, own)
            # It is enough that one of the tests notices a mutant.
            pairs = zip(known, own, strict=True)
            statuses[policy] = tuple(min(pair, key=_ORDER.index) for pair in pairs)
    return statuses, tests
