"""Chainsaw tests on simulated clusters: a fresh one for each."""

import os
import time
from functools import partial
from typing import NamedTuple

from kyvsim.api.processes import each_in_processes
from kyvsim.api.simulate import readers
from kyvsim.api.system import processors
from kyvsim.chainsaw.runner import run_test
from kyvsim.kubernetes.objects import Json
from kyvsim.load.chainsaw import (
    find_configuration,
    find_tests,
    named_files,
    read_configuration,
    read_tests,
)
from kyvsim.load.chainsaw_files import ReachableFiles, project_of
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.scenario import load_installation
from kyvsim.model.chainsaw import (
    WITHOUT_CONFIGURATION,
    ChainsawConfiguration,
    ChainsawOutcome,
    ChainsawReport,
    ChainsawTest,
)
from kyvsim.model.diagnostic import Diagnostic, without_left_out
from kyvsim.model.simulation import BY_NAME, CI, Installation
from kyvsim.simulator.cluster import open_cluster
from kyvsim.simulator.context import SimulationSettings

_DEFAULT_NAME = "chainsaw-test"
_FEW = 8
"""So many tests run in one process faster than several processes start."""


class ChainsawRun(NamedTuple):
    """What to run, and how."""

    paths: tuple[str, ...]
    file_name: str = ""
    """The name of test files, looked for in the folders only; "" for the usual one, below them."""
    jobs: int = 0
    """How many processes at once; 0 for as many as processors, if it is worth it."""
    timeline: bool = False
    """Whether the outcomes are to have their timelines."""
    configuration: str = ""
    """The file of the configuration; "" for the one that is found for each path."""
    walking: Walking = USUAL
    """How folders are walked."""
    install: str = CI.name
    """How Kyverno is installed: `helm`, `ci`, or a file of values."""


class _Job(NamedTuple):
    """A file of tests, and what holds for them."""

    file: str
    given: str
    """The folder that the user named, or that of the file."""
    configuration: ChainsawConfiguration
    install: str
    values: dict[str, Json]
    """The values of an installation that has no name; plain, since other processes get it."""


def run_chainsaw(run: ChainsawRun) -> ChainsawReport:
    """Return what came of the tests, and what could not be read."""
    jobs: dict[str, _Job] = {}
    installation, unusable = load_installation(run.install)
    if installation is None:
        return ChainsawReport((), unusable, ())
    remarks: list[Diagnostic] = [*unusable]
    values = {} if installation.name in BY_NAME else dict(installation.values)
    read: dict[str, ChainsawConfiguration | None] = {"": WITHOUT_CONFIGURATION}
    for path in run.paths:
        name = run.configuration or find_configuration(path)
        if name not in read:
            read[name], problems = read_configuration(name)
            remarks += problems
        configuration = read[name]
        if configuration is None:
            continue
        found, problems = _find(path, run, configuration)
        remarks += problems
        for file in found:
            given = path if os.path.isdir(path) else os.path.dirname(file)
            jobs.setdefault(file, _Job(file, given, configuration, installation.name, values))
    outcomes: list[ChainsawOutcome] = []
    files = {*filter(None, read), *jobs}
    processes = run.jobs or (processors() if len(jobs) > _FEW else 1)
    work = partial(run_file, timeline=run.timeline)
    for one in each_in_processes(work, tuple(jobs.values()), processes, chunk=2):
        outcomes += one[0]
        remarks += one[1]
        files |= one[2]
    said, left_out = without_left_out(remarks)
    return ChainsawReport(tuple(outcomes), said, left_out, frozenset(files))


def _find(
    path: str, run: ChainsawRun, configuration: ChainsawConfiguration
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the test files of a path, or why there are none.

    A name without an extension stands for files with either of YAML's.
    """
    walking = run.walking
    if run.file_name:
        return find_tests(path, run.file_name, walking, deep=False)
    stem, extension = os.path.splitext(configuration.test_file or _DEFAULT_NAME)
    found, problems = find_tests(path, f"{stem}{extension or '.yaml'}", walking, deep=True)
    if extension:
        return found, problems
    others, _ = find_tests(path, f"{stem}.yml", walking, deep=True)
    every = tuple(dict.fromkeys((*found, *others)))
    return every, without_left_out(problems)[1] if every else problems


def run_file(
    job: _Job, *, timeline: bool
) -> tuple[list[ChainsawOutcome], tuple[Diagnostic, ...], set[str]]:
    """Return the outcomes of the tests in a file, what could not be read, and what they name."""
    tests, problems = read_tests(job.file, job.configuration)
    installation = BY_NAME.get(job.install) or Installation(job.install, job.values)
    named = {file for test in tests for file in named_files(test)}
    project = project_of(os.path.dirname(job.file), job.given)
    outcomes: list[ChainsawOutcome] = []
    for test in tests:
        files = ReachableFiles(test.folder, project)
        outcomes.append(run_one(test, installation, files, timeline=timeline))
        named |= files.used
    return outcomes, problems, named


def run_one(
    test: ChainsawTest, installation: Installation, files: ReachableFiles, *, timeline: bool
) -> ChainsawOutcome:
    """Return what came of one test, with the wall time that it took."""
    start = time.perf_counter()
    cluster = open_cluster(readers(), SimulationSettings(installation=installation))
    outcome = run_test(test, cluster, files)
    spent = round((time.perf_counter() - start) * 1000)
    return outcome._replace(duration_ms=spent, events=outcome.events if timeline else ())
