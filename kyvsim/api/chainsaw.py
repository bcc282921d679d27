"""Chainsaw tests, each on a new simulated cluster."""

import os
import time
from functools import partial
from typing import NamedTuple

from kyvsim.api.kyverno_command import apply_in_cluster
from kyvsim.api.processes import each_in_processes
from kyvsim.api.simulate import readers
from kyvsim.api.system import processors
from kyvsim.chainsaw.runner import run_test
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
)
from kyvsim.model.diagnostic import Diagnostic, without_left_out
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.simulation import BY_NAME, CI, Installation
from kyvsim.simulator.cluster import open_cluster
from kyvsim.simulator.context import SimulationSettings

_DEFAULT_NAME = "chainsaw-test"
_FEW = 8
"""Maximum number of tests for which one process is faster than several."""


class ChainsawRun(NamedTuple):
    """The tests to run, and options."""

    paths: tuple[str, ...]
    file_name: str = ""
    """The name of test files directly in the folders; "" for the usual one, also in subfolders."""
    jobs: int = 0
    """Number of processes; 0 for one per processor if it is worth it."""
    timeline: bool = False
    configuration: str = ""
    """The file of the configuration; "" for the discovered one."""
    walking: Walking = USUAL
    install: str = CI.name
    release: Release = NEWEST


class _Job(NamedTuple):
    """A test file with its settings."""

    file: str
    given: str
    """The folder given by the user, or that of the file."""
    configuration: ChainsawConfiguration
    install: str
    values: dict[str, object]
    """The values of an unnamed installation; plain data, which is sent to other processes."""
    release: Release


def run_chainsaw(run: ChainsawRun) -> ChainsawReport:
    """Return the outcomes of the tests, with diagnostics."""
    jobs: dict[str, _Job] = {}
    installation, unusable = load_installation(run.install)
    if installation is None:
        return ChainsawReport((), unusable, ())
    remarks: list[Diagnostic] = [*unusable]
    values = {} if installation.name in BY_NAME else dict(installation.values)
    read: dict[str, ChainsawConfiguration | None] = {"": WITHOUT_CONFIGURATION}

    def configuration_of(folder: str) -> ChainsawConfiguration | None:
        name = run.configuration or find_configuration(folder)
        if name not in read:
            read[name], problems = read_configuration(name)
            remarks.extend(problems)
        return read[name]

    for path in run.paths:
        configuration = configuration_of(path)
        if configuration is None:
            continue
        matching, problems = _find(path, run, configuration)
        remarks += problems
        for file in matching:
            folder = os.path.dirname(file)
            nearest = configuration_of(folder or os.curdir)
            given = path if os.path.isdir(path) else folder
            if nearest is not None:
                jobs.setdefault(
                    file, _Job(file, given, nearest, installation.name, values, run.release)
                )
    outcomes: list[ChainsawOutcome] = []
    files = {*filter(None, read), *jobs}
    processes = run.jobs or (processors() if len(jobs) > _FEW else 1)
    work = partial(run_file, timeline=run.timeline)
    for result in each_in_processes(work, tuple(jobs.values()), processes, chunk=2):
        outcomes += result[0]
        remarks += result[1]
        files |= result[2]
    reported, left_out = without_left_out(remarks)
    return ChainsawReport(tuple(outcomes), reported, left_out, frozenset(files), run.release.name)


def _find(
    path: str, run: ChainsawRun, configuration: ChainsawConfiguration
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the test files of a path, or diagnostics.

    A name without an extension matches .yaml and .yml.
    """
    walking = run.walking
    if run.file_name:
        return find_tests(path, run.file_name, walking, deep=False)
    stem, extension = os.path.splitext(configuration.test_file or _DEFAULT_NAME)
    files, problems = find_tests(path, f"{stem}{extension or '.yaml'}", walking, deep=True)
    if extension:
        return files, problems
    others, _ = find_tests(path, f"{stem}.yml", walking, deep=True)
    every = tuple(dict.fromkeys((*files, *others)))
    return every, without_left_out(problems)[1] if every else problems


def run_file(
    job: _Job, *, timeline: bool
) -> tuple[list[ChainsawOutcome], tuple[Diagnostic, ...], set[str]]:
    """Return the outcomes of the tests in a file, diagnostics, and the files that they use."""
    tests, problems = read_tests(job.file, job.configuration)
    installation = BY_NAME.get(job.install) or Installation(job.install, job.values)
    named = {file for test in tests for file in named_files(test)}
    project = project_of(os.path.dirname(job.file), job.given)
    outcomes: list[ChainsawOutcome] = []
    for test in tests:
        files = ReachableFiles(test.folder, project)
        start = time.perf_counter()
        settings = SimulationSettings(installation=installation, release=job.release, own_pods=True)
        cluster = open_cluster(readers(), settings)
        outcome = run_test(test, cluster, files, apply_in_cluster)
        spent = round((time.perf_counter() - start) * 1000)
        outcomes.append(
            outcome._replace(duration_ms=spent, events=outcome.events if timeline else ())
        )
        named |= files.used
    return outcomes, problems, named
