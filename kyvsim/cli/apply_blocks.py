"""`kyvsim apply` for large inputs, block by block, and in several processes."""

import sys
from collections.abc import Iterator
from typing import Any

from kyvsim.api import ApplyInputs
from kyvsim.api.apply import Application
from kyvsim.api.apply_parts import DistributionError
from kyvsim.api.apply_processes import run_in_processes
from kyvsim.api.apply_streamed import StreamOptions, open_streamed
from kyvsim.api.system import can_fork, processors
from kyvsim.cli.streams import is_terminal, print_stderr, with_progress
from kyvsim.report.run import DocumentSet, Run
from kyvsim.report.style import safe_line


def run_in_blocks(
    inputs: ApplyInputs, stdin: bytes | None, jobs: int, documents: DocumentSet
) -> tuple[Run | None, int]:
    """Return a run in blocks, or None if it must be read as a whole, and the `-j` for that.

    Notes on standard error say why memory grows with the input, or the work is not distributed.
    """

    def note(reason: str) -> None:
        print_stderr(f"note: all resources are read before evaluation: {safe_line(reason)}")

    number = _process_count(inputs, jobs)
    try:
        run = open_streamed(inputs, stdin, StreamOptions(number, documents, _watch, note))
    except DistributionError as error:
        _note_one_process(jobs, str(error))
        return None, 1
    return run, jobs if number > 1 else 1


def distributed(application: Application, jobs: int, documents: DocumentSet) -> Run:
    """Return the run of an application by several processes, or by this one if that fails."""
    number = _process_count(application.inputs, jobs)
    if number > 1:
        try:
            return run_in_processes(application, number, documents, _watch)
        except DistributionError as error:
            _note_one_process(jobs, str(error))
    return application.run


def _process_count(inputs: ApplyInputs, jobs: int) -> int:
    """Return the number of processes for `-j`, where 0 is automatic; a note says why it is 1."""
    if inputs.budget.run:
        _note_one_process(jobs, "--budget run=N counts the steps of all resources")
        return 1
    if not can_fork():
        _note_one_process(jobs, "this system cannot fork processes")
        return 1
    return jobs or processors()


def _note_one_process(jobs: int, reason: str) -> None:
    if jobs > 1:
        print_stderr(f"note: -j {jobs} has no effect: {safe_line(reason)}")


def _watch(items: Iterator[Any], total: int) -> Iterator[Any]:
    return with_progress(items, total, "applying") if is_terminal(sys.stderr) else items
