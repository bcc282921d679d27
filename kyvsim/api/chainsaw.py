"""Chainsaw tests on simulated clusters: a fresh one for each."""

import time
from typing import NamedTuple

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


class ChainsawRun(NamedTuple):
    """What to run, and how."""

    paths: tuple[str, ...]
    file_name: str = ""
    """The name of test files, looked for in the folders only; "" for the usual one, below them."""
    jobs: int = 1
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
    for file in dict.fromkeys(files):
        tests, problems = read_tests(file)
        remarks += problems
        outcomes += [run_one(test, timeline=run.timeline) for test in tests]
    return ChainsawReport(tuple(outcomes), tuple(remarks))


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
