"""Chainsaw tests on simulated clusters: a fresh one for each."""

import time
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from kyvsim.api.jobs import processors
from kyvsim.api.simulation import readers
from kyvsim.chainsaw.runner import run_test
from kyvsim.chainsaw.session import Files
from kyvsim.load.chainsaw import (
    find_tests,
    parse_objects,
    place_of,
    read_objects,
    read_script,
    read_tests,
)
from kyvsim.model.chainsaw import ChainsawOutcome, ChainsawReport, ChainsawTest
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.sim.cluster import open_cluster

_DEFAULT_NAME = "chainsaw-test.yaml"
_FEW = 8
"""So many tests run in one process faster than several processes start."""

_OfFile = tuple[tuple[ChainsawOutcome, ...], tuple[Diagnostic, ...]]


class ChainsawRun(NamedTuple):
    """What to run, and how."""

    paths: tuple[str, ...]
    file_name: str = ""
    """The name of test files, looked for in the folders only; "" for the usual one, below them."""
    jobs: int = 0
    """How many processes at once; 0 for as many as processors, if it is worth it."""
    timeline: bool = False
    """Whether the outcomes are to have their timelines."""


def run_chainsaw(run: ChainsawRun) -> ChainsawReport:
    """Return what came of the tests, and what could not be read."""
    files: list[str] = []
    remarks: list[Diagnostic] = []
    for path in run.paths:
        found, problems = find_tests(path, run.file_name or _DEFAULT_NAME, deep=not run.file_name)
        files += found
        remarks += problems
    outcomes: list[ChainsawOutcome] = []
    for found_outcomes, problems in _run_all(tuple(dict.fromkeys(files)), run):
        outcomes += found_outcomes
        remarks += problems
    return ChainsawReport(tuple(outcomes), tuple(remarks))


def _run_all(files: tuple[str, ...], run: ChainsawRun) -> Iterator[_OfFile]:
    jobs = run.jobs or (processors() if len(files) > _FEW else 1)
    if jobs == 1 or len(files) < 2:
        for file in files:
            yield run_file(file, timeline=run.timeline)
        return
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 — slow, for many files only

    with ProcessPoolExecutor(min(jobs, len(files))) as pool:
        work = partial(run_file, timeline=run.timeline)
        yield from pool.map(work, files, chunksize=2)


def run_file(file: str, *, timeline: bool) -> _OfFile:
    """Return what came of the tests in a file, and what could not be read of it."""
    tests, problems = read_tests(file)
    return tuple(run_one(test, timeline=timeline) for test in tests), problems


def run_one(test: ChainsawTest, *, timeline: bool) -> ChainsawOutcome:
    """Return what came of one test, with the wall time that it took."""
    start = time.perf_counter()
    folder = test.folder
    files = Files(
        lambda name: read_objects(place_of(folder, name)),
        lambda name: read_script(place_of(folder, name)),
        parse_objects,
    )
    outcome = run_test(test, open_cluster(readers()), files)
    spent = round((time.perf_counter() - start) * 1000)
    return outcome._replace(duration_ms=spent, events=outcome.events if timeline else ())
