"""`test --mutants`: small changes to policies, and whether tests detect them.

Each manifest runs on each mutant of its policies. A mutant that no test detects is compared with
its policy by cases: it behaves the same, or a small object shows an untested difference.
"""

import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from typing import NamedTuple

from kyvsim.api.equal import ComparisonSetup, decision_text
from kyvsim.api.inputs import given_world, objects_of
from kyvsim.api.processes import each_in_processes
from kyvsim.api.suite import Reading, SuiteRun, chosen_rows, find_files, row_context
from kyvsim.api.suite_inputs import ManifestInputs, read_test
from kyvsim.api.system import processors
from kyvsim.engine.compile import PolicySet
from kyvsim.engine.compile.policy_set import index_policies
from kyvsim.engine.world import GivenObjects
from kyvsim.equivalence.cases import STRANGER
from kyvsim.equivalence.policy_runner import CaseWorld
from kyvsim.equivalence.search import Search
from kyvsim.equivalence.verdict import VerdictContext, answer_of, first_counterexample
from kyvsim.kubernetes.objects import Path
from kyvsim.languages import READERS, compile_policies
from kyvsim.load.policy import load_policies
from kyvsim.load.suite_manifest import read_manifests
from kyvsim.model.comparison import Answer, Counterexample, SearchBudget
from kyvsim.model.diagnostic import has_errors
from kyvsim.model.policy import Policy
from kyvsim.model.ports import still_system
from kyvsim.model.source import place_in_text
from kyvsim.model.suite import ExpectedRow, Manifest, Mutants, SurvivingMutant
from kyvsim.mutation import MutationKind, PolicyChange, mutants_of
from kyvsim.policy.nodes import Node
from kyvsim.report.object_text import whole_numbers
from kyvsim.suite.check import check_rows

# Mutants that the rows of a manifest detect.


class MutantStatus(Enum):
    """The status of a mutant."""

    NOTICED = "noticed"
    UNNOTICED = "unnoticed"
    REFUSED = "refused"
    UNTRIED = "untried"


class PolicyKey(NamedTuple):
    """A policy, identified independently of the given path."""

    file: str
    line: int


class Trial(NamedTuple):
    """The statuses of the mutants of a policy in one manifest."""

    policy: PolicyKey
    statuses: tuple[MutantStatus, ...]


class Mutant(NamedTuple):
    """A changed policy."""

    kind: MutationKind
    change: PolicyChange
    policy: Policy | None
    """None if it is not a valid policy."""


class LoadedTest(NamedTuple):
    """A manifest with its inputs, compiled."""

    manifest: Manifest
    rows: tuple[ExpectedRow, ...]
    inputs: ManifestInputs
    options: Reading

    def failing(self, policies: PolicySet) -> frozenset[tuple[Path, str, str]]:
        """Return the failed rows for the given policies: their paths, rules and resources."""
        inputs = self.inputs._replace(suite=self.inputs.suite._replace(policies=policies))
        context = row_context(self.manifest, inputs)
        outcomes = check_rows(self.rows, inputs.suite, context, lenient=self.options.lenient)
        return frozenset(
            (row.path, outcome.rule, outcome.resource)
            for row, outcome in outcomes
            if outcome.failed
        )


def open_tests(file: str, options: Reading) -> Iterator[LoadedTest]:
    """Yield the usable manifests of a file, with the selected rows."""
    for manifest in read_manifests(file)[0]:
        rows = chosen_rows(manifest, options)
        if not rows:
            continue
        inputs = read_test(manifest, rows, walking=options.walking, release=options.release)
        if not inputs.unusable:
            yield LoadedTest(manifest, rows, inputs, options)


def trials_of(file: str, options: Reading, ends: float) -> tuple[Trial, ...]:
    """Return the statuses of all mutants in the manifests of a file.

    `ends` is the time limit, as a time of `time.monotonic`.
    """
    return tuple(trial for test in open_tests(file, options) for trial in _trials(test, ends))


def _trials(test: LoadedTest, ends: float) -> Iterator[Trial]:
    sound = test.inputs.suite.policies
    before = test.failing(sound)
    for number, compiled in enumerate(sound.policies):

        def status(mutant: Mutant, number: int = number) -> MutantStatus:
            if time.monotonic() > ends:
                return MutantStatus.UNTRIED
            compiled_mutant = (
                None if mutant.policy is None else compiled_alone(mutant.policy, test.inputs)
            )
            if compiled_mutant is None:
                return MutantStatus.REFUSED
            policies = list(sound.policies)
            policies[number] = compiled_mutant.policies[0]
            changed = index_policies(policies, test.inputs.options.system.meter)
            is_noticed = test.failing(changed) - before
            return MutantStatus.NOTICED if is_noticed else MutantStatus.UNNOTICED

        yield Trial(key_of(compiled.policy), tuple(map(status, mutants(compiled.policy))))


def compiled_alone(policy: Policy, inputs: ManifestInputs) -> PolicySet | None:
    """Return a policy compiled with the options of a test; None if it is rejected."""
    compiled, diagnostics = compile_policies((policy,), inputs.options)
    return None if has_errors(diagnostics) or not compiled.policies else compiled


def key_of(policy: Policy) -> PolicyKey:
    """Return the identity of a policy."""
    place = policy.document.locate(())
    return PolicyKey(os.path.realpath(place.file), place.line)


def mutants(policy: Policy) -> Iterator[Mutant]:
    """Yield the mutants of a policy, always in the same order."""
    nodes: list[Node] = [policy.tree, *(rule.tree for rule in policy.rules)]
    for kind, change in mutants_of(policy.document.data, nodes):
        document = policy.document._replace(data=change.data)
        policies, diagnostics = load_policies((document,), READERS)
        sound = len(policies) == 1 and not has_errors(diagnostics)
        yield Mutant(kind, change, policies[0] if sound else None)


# Undetected mutants, compared with their policies by cases.

_CASES = 3000


def surviving_mutant(
    unnoticed: tuple[str, PolicyKey, int], options: Reading, seconds: float, ends: float
) -> SurvivingMutant | None:
    """Return a surviving mutant; None if it behaves the same as its policy.

    `unnoticed` is a file with a test of its policy, the policy, and the index of the mutant.
    `seconds` limits the search, as does `ends`, a time of `time.monotonic`.
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
    world = given_world(GivenObjects(()), suite.values, suite.context, suite.targets)
    others = (*objects, *suite.targets, *suite.others)
    system = still_system(datetime.now(UTC), inputs.options.system.release)
    setup = ComparisonSetup(
        options=inputs.options._replace(system=system),
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
    pair = setup.pair(old, new, space)
    budget = SearchBudget(_CASES, seconds, first_only=True)
    tried = Search(pair, space, setup.options.kinds, budget, time.monotonic).run(setup.given)
    answer, _ = answer_of(tried, space, pair)
    if answer is not Answer.COUNTEREXAMPLE:
        return answer, None
    quick = setup.quick_pair(setup.compiled(old), setup.compiled(new), space)
    context = VerdictContext(pair, quick, decision_text(old, setup), decision_text(new, setup))
    return answer, first_counterexample(tried, context)


_ORDER = (MutantStatus.NOTICED, MutantStatus.UNTRIED, MutantStatus.UNNOTICED, MutantStatus.REFUSED)
_SECONDS = 3.0
"""Minimum time in seconds to compare a mutant with its policy."""


def try_mutants(run: SuiteRun, seconds: float) -> Mutants:
    """Return which mutants of policies the tests in `run` detect.

    After `seconds`, the remaining mutants are not tried.
    """
    ends = time.monotonic() + seconds
    jobs = run.jobs or processors()
    files, _ = find_files(run)
    trying = partial(trials_of, options=run.options, ends=ends)
    trials = list(each_in_processes(trying, files, jobs))
    statuses, tests = _merged(files, trials)
    unnoticed = [
        (tests[policy], policy, number)
        for policy, own in statuses.items()
        for number, status in enumerate(own)
        if status is MutantStatus.UNNOTICED
    ]
    share = max(_SECONDS, (ends - time.monotonic()) * jobs / max(1, len(unnoticed)))
    looking = partial(surviving_mutant, options=run.options, seconds=share, ends=ends)
    survivors = list(each_in_processes(looking, unnoticed, jobs))
    every = [status for own in statuses.values() for status in own]
    return Mutants(
        noticed=every.count(MutantStatus.NOTICED),
        # Those with an example first, then by position.
        holes=tuple(
            sorted(filter(None, survivors), key=lambda one: (one.example is None, *one.location))
        ),
        same=survivors.count(None),
        untried=every.count(MutantStatus.UNTRIED),
    )


def _merged(
    files: Sequence[str], trials_of_files: Sequence[tuple[Trial, ...]]
) -> tuple[dict[PolicyKey, tuple[MutantStatus, ...]], dict[PolicyKey, str]]:
    """Return the statuses of each policy's mutants, and the first file that tests it."""
    statuses: dict[PolicyKey, tuple[MutantStatus, ...]] = {}
    tests: dict[PolicyKey, str] = {}
    for file, trials in zip(files, trials_of_files, strict=True):
        for policy, own in trials:
            tests.setdefault(policy, file)
            known = statuses.get(policy, own)
            # One test that detects a mutant is enough.
            pairs = zip(known, own, strict=True)
            statuses[policy] = tuple(min(pair, key=_ORDER.index) for pair in pairs)
    return statuses, tests
