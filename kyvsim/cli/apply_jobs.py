"""By how many processes `kyvsim apply` works, and whether block by block at all."""

import os
import stat
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from kyvsim.api import ApplyInputs, Source
from kyvsim.api.system import processors
from kyvsim.cli.streams import is_terminal, print_stderr
from kyvsim.report.progress import with_progress
from kyvsim.report.run import DocumentSet, Run
from kyvsim.report.style import safe_line

_LARGE: Final = 2_000_000
"""Bytes of resources from which on it pays to work in blocks, and by several processes."""


def run_in_blocks(
    inputs: ApplyInputs, stdin: bytes | None, jobs: int, documents: DocumentSet | None
) -> Run | None:
    """Return a run that was made block by block, or None where all is to be read first.

    `jobs` is the number of processes, 0 for what is worth it. Without `documents` no part can be
    rendered.
    """
    size = _size(inputs, stdin)
    wanted = jobs or (processors() if size >= _LARGE else 1)
    if not (wanted > 1 or size >= _LARGE):
        return None
    note = partial(_note, jobs)
    if documents is None:
        note("-o or the output format needs all results at once")
        return None
    possible = _possible(wanted)
    if possible < jobs:
        note("this system cannot fork processes")
    from kyvsim.api.apply_streamed import How, open_streamed  # noqa: PLC0415 — for much only

    return open_streamed(inputs, stdin, How(possible, documents, _watched, note))


def _note(jobs: int, reason: str) -> None:
    """Report once why the work is not shared, or memory grows with the input."""
    done = f"-j {jobs} has no effect" if jobs > 1 else "all resources are read before evaluation"
    print_stderr(f"note: {done}: {safe_line(reason)}")


def _possible(jobs: int) -> int:
    """Return how many processes there can be of so many."""
    if jobs < 2:
        return 1
    from kyvsim.api.processes import can_fork  # noqa: PLC0415 — for several only

    return jobs if can_fork() else 1


def _watched(items: Iterator[Any], total: int) -> Iterator[Any]:
    if not is_terminal(sys.stderr):
        return items
    return with_progress(items, total, "applying")


def _size(inputs: ApplyInputs, stdin: bytes | None) -> int:
    """Return the bytes of the resource files that are named."""
    return sum(_bytes_of(path, stdin) for path in inputs.resources)


def _bytes_of(path: str | Source, stdin: bytes | None) -> int:
    if isinstance(path, Source):
        return len(path.text)
    if path == "-":
        return len(stdin or b"")
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
