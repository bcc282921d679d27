"""By how many processes `kyvsim apply` works, and whether by more than one at all."""

import os
import stat
from collections.abc import Mapping
from typing import Any, Final

from kyvsim.api import ApplyInputs, Source
from kyvsim.api.system import processors
from kyvsim.cli.apply_formats import teller
from kyvsim.report.run import Run

_MUCH: Final = 2_000_000
"""Bytes of resources from which on it pays to have several processes."""


def run_in_parts(
    inputs: ApplyInputs, stdin: bytes | None, options: Mapping[str, Any]
) -> Run | None:
    """Return a run by several processes, or None where one is to do it."""
    jobs = options["jobs"]
    if jobs == 1 or not (jobs or _size(inputs, stdin) >= _MUCH):
        return None
    jobs = jobs or processors()
    tell = teller(options)
    if jobs < 2 or tell is None:
        return None
    from kyvsim.api.apply_parts import can_fork, open_in_parts  # noqa: PLC0415 — slow, for much only

    return open_in_parts(inputs, stdin, jobs, tell) if can_fork() else None


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
