"""Which mutants of a manifest's policies its rows notice."""

import os
import time
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from kyvsim.api.suite import Reading, bench_of, chosen_rows
from kyvsim.api.suite_inputs import ManifestInputs, read_test
from kyvsim.engine.compile import PolicySet
from kyvsim.engine.compile.policy_set import index_policies
from kyvsim.languages import READERS, compile_policies
from kyvsim.load.policy import load_policies
from kyvsim.load.suite_manifest import read_manifests
from kyvsim.model.diagnostic import Severity
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path
from kyvsim.model.suite import ExpectedRow, Manifest
from kyvsim.mutation import Change, Kind, mutants_of
from kyvsim.suite.check import check_rows


class Fate(Enum):
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
    fates: tuple[Fate, ...]


class Mutant(NamedTuple):
    """A changed policy."""

    kind: Kind
    change: Change
    policy: Policy | None
    """None where what the change makes is no policy."""


class OpenTest(NamedTuple):
    """A manifest and what it names, read and compiled."""

    manifest: Manifest
    rows: tuple[ExpectedRow, ...]
    inputs: ManifestInputs
    options: Reading

    def failing(self, policies: PolicySet) -> frozenset[tuple[Path, str, str]]:
        """Return the rows that fail with some policies: their places, rules and resources."""
        inputs = self.inputs._replace(suite=self.inputs.suite._replace(policies=policies))
        bench = bench_of(self.manifest, inputs)
        found = check_rows(self.rows, inputs.suite, bench, lenient=self.options.lenient)
        return frozenset((row.path, one.rule, one.resource) for row, one in found if one.failed)


def open_tests(file: str, options: Reading) -> Iterator[OpenTest]:
    """Yield the manifests of a file that can be run, with the rows that are chosen."""
    for manifest in read_manifests(file)[0]:
        rows = chosen_rows(manifest, options)
        inputs = read_test(manifest, rows, walking=options.walking) if rows else None
        if inputs is not None and not inputs.unusable:
            yield OpenTest(manifest, rows, inputs, options)


def trials_of(file: str, options: Reading, ends: float) -> tuple[Trial, ...]:
    """Return what the manifests in a file make of the mutants of all their policies.

    `ends` is when to stop, on the clock of `time.monotonic`.
    """
    return tuple(trial for test in open_tests(file, options) for trial in _trials(test, ends))


def _trials(test: OpenTest, ends: float) -> Iterator[Trial]:
    sound = test.inputs.suite.policies
    before = test.failing(sound)
    for number, compiled in enumerate(sound.policies):

        def fate(mutant: Mutant, number: int = number) -> Fate:
            if time.monotonic() > ends:
                return Fate.UNTRIED
            changed = _with_mutant(test, number, mutant)
            if changed is None:
                return Fate.REFUSED
            return Fate.NOTICED if test.failing(changed) - before else Fate.UNNOTICED

        yield Trial(key_of(compiled.policy), tuple(map(fate, mutants(compiled.policy))))


def _with_mutant(test: OpenTest, number: int, mutant: Mutant) -> PolicySet | None:
    """Return the policies of a test with one of them changed; None where it cannot be used."""
    found = None if mutant.policy is None else compiled_alone(mutant.policy, test.inputs)
    if found is None:
        return None
    policies = list(test.inputs.suite.policies.policies)
    policies[number] = found.policies[0]
    return index_policies(policies, test.inputs.options.system.meter)


def compiled_alone(policy: Policy, inputs: ManifestInputs) -> PolicySet | None:
    """Return a policy compiled as those of a test are; None where it is refused."""
    found, told = compile_policies((policy,), inputs.options)
    refused = any(one.severity is Severity.ERROR for one in told)
    return None if refused or not found.policies else found


def key_of(policy: Policy) -> PolicyKey:
    """Return what tells a policy from all others."""
    place = policy.document.locate(())
    return PolicyKey(os.path.realpath(place.file), place.line)


def mutants(policy: Policy) -> Iterator[Mutant]:
    """Yield the mutants of a policy, always in the same order."""
    for kind, change in mutants_of(policy.document.data):
        document = policy.document._replace(data=change.data)
        found, told = load_policies((document,), READERS)
        sound = len(found) == 1 and not any(one.severity is Severity.ERROR for one in told)
        yield Mutant(kind, change, found[0] if sound else None)
