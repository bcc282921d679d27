"""`test --mutants`: policies changed a little, and what of it their tests notice.

Every manifest runs on every mutant of its policies. What none of them notices is compared with the
policy by cases: it does the same, or a small object shows what a test should have.
"""

import time
from collections.abc import Sequence
from functools import partial

from kyvsim.api.mutant_cases import Unnoticed, hole_of
from kyvsim.api.mutant_rows import Fate, PolicyKey, Trial, trials_of
from kyvsim.api.processes import each_in_processes
from kyvsim.api.suite import SuiteRun, find_files
from kyvsim.api.system import processors
from kyvsim.model.suite import Hole, Mutants

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
    fates, tests = _together(files, found)
    unnoticed = [
        Unnoticed(tests[policy], policy, number)
        for policy, told in fates.items()
        for number, fate in enumerate(told)
        if fate is Fate.UNNOTICED
    ]
    share = max(_SECONDS, (ends - time.monotonic()) * jobs / max(1, len(unnoticed)))
    looking = partial(hole_of, options=run.options, seconds=share, ends=ends)
    holes = list(each_in_processes(looking, unnoticed, jobs))
    every = [fate for told in fates.values() for fate in told]
    return Mutants(
        noticed=every.count(Fate.NOTICED),
        holes=tuple(sorted(filter(None, holes), key=_order)),
        same=holes.count(None),
        untried=every.count(Fate.UNTRIED),
    )


def _together(
    files: Sequence[str], found: Sequence[tuple[Trial, ...]]
) -> tuple[dict[PolicyKey, tuple[Fate, ...]], dict[PolicyKey, str]]:
    """Return what all tests made of each policy's mutants, and the first file with a test of it."""
    fates: dict[PolicyKey, tuple[Fate, ...]] = {}
    tests: dict[PolicyKey, str] = {}
    for file, trials in zip(files, found, strict=True):
        for policy, told in trials:
            tests.setdefault(policy, file)
            known = fates.get(policy, told)
            fates[policy] = tuple(map(_either, known, told))
    return fates, tests


def _either(one: Fate, other: Fate) -> Fate:
    """Return the fate of a mutant after two tests: it is enough that one of them notices."""
    order = (Fate.NOTICED, Fate.UNTRIED, Fate.UNNOTICED, Fate.REFUSED)
    return min(one, other, key=order.index)


def _order(hole: Hole) -> tuple[bool, str, int, int]:
    """Put holes with an example first, all in the order of their places."""
    return hole.example is None, *hole.location
