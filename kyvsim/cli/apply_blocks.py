"""`kyvsim apply` for large inputs, and in several processes: block by block."""

import sys

from kyvsim.api import ApplyInputs
from kyvsim.api.apply_streamed import StreamOptions, open_streamed
from kyvsim.api.processes import can_fork
from kyvsim.cli.streams import is_terminal, print_stderr, with_progress
from kyvsim.report.run import DocumentSet, Run
from kyvsim.report.style import safe_line


def run_in_blocks(
    inputs: ApplyInputs,
    stdin: bytes | None,
    processes: tuple[int, int],
    documents: DocumentSet,
) -> Run | None:
    """Return a run that was evaluated in blocks; None if it must be read as a whole.

    `processes` are the number that `-j` asked for, 0 for automatic, and the number to use.
    Notes on standard error say why the work is not distributed, or memory grows with the input.
    """
    jobs, number = processes

    def note(reason: str) -> None:
        done = (
            f"-j {jobs} has no effect" if jobs > 1 else "all resources are read before evaluation"
        )
        print_stderr(f"note: {done}: {safe_line(reason)}")

    if number > 1 and (inputs.budget.run or not can_fork()):
        number = 1
        if jobs > 1:
            counts_all = "--budget run=N counts the steps of all resources"
            note(counts_all if inputs.budget.run else "this system cannot fork processes")
    is_shown = is_terminal(sys.stderr)
    options = StreamOptions(
        number,
        documents,
        lambda items, total: with_progress(items, total, "applying") if is_shown else items,
        note,
    )
    return open_streamed(inputs, stdin, options)
