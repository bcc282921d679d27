"""Diagnostics about inputs, and the last line of the output."""

import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.cli.streams import is_terminal, print_stderr, shown_width, shows_colours, write_out
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import RunEnding
from kyvsim.report.diagnostics import diagnostic_text, source_lines
from kyvsim.report.run import closing_lines, ending_line
from kyvsim.report.style import RenderOptions, layout_of


def print_diagnostics(remarks: Iterable[Diagnostic]) -> None:
    """Print diagnostics about inputs."""
    lines = _remark_lines(remarks) if is_terminal(sys.stderr) else map(diagnostic_text, remarks)
    for line in lines:
        print_stderr(line)


class SummaryStyle(NamedTuple):
    """The style of the closing line."""

    look: RenderOptions
    begun: float | None = None
    """Start of the run, on the clock of `time.perf_counter`; None to omit the duration."""

    def lines(self, ending: RunEnding) -> Iterator[str]:
        """Yield the closing line, with the duration on a terminal only."""
        is_told = self.begun is not None and is_terminal(sys.stdout)
        seconds = time.perf_counter() - (self.begun or 0) if is_told else None
        return closing_lines(ending, layout_of(self.look), seconds)


def close(ending: RunEnding, *, on_stdout: bool, closing: SummaryStyle | None = None) -> None:
    """Write the closing line: to standard output after a view for people, else to stderr."""
    if closing is None and on_stdout and is_terminal(sys.stdout):
        closing = SummaryStyle(RenderOptions(width=shown_width(sys.stdout)))
    if closing is not None:
        write_out(closing.lines(ending))
    elif on_stdout:
        write_out((f"{ending_line(ending)}\n",))
    else:
        print_stderr(ending_line(ending))


def _remark_lines(remarks: Iterable[Diagnostic]) -> Iterator[str]:
    """Yield the lines of diagnostics, with those of their files if they still exist."""
    width = shown_width(sys.stderr)
    layout = layout_of(RenderOptions(colours=shows_colours(sys.stderr), width=width))
    for file, group in itertools.groupby(remarks, key=_file_of):
        lines = _lines_of(file)
        for remark in group:
            number = remark.location.line if remark.location else 0
            own = lines[number - 1] if 0 < number <= len(lines) else ""
            yield diagnostic_text(remark, width)
            yield from source_lines(remark, own, layout)


def _file_of(remark: Diagnostic) -> str:
    place = remark.location
    return place.file if place and place.line else ""


def _lines_of(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8-sig", errors="replace") as opened:
            return opened.read().split("\n")
    except (OSError, ValueError):
        return []


# Exit statuses of commands; that of a run follows from its verdict (`model/result.py`).


OK = 0
FAILED = 1
UNUSABLE = 2
"""Wrong usage, unusable input or output, or a bug."""
INTERRUPTED = 130
TERMINATED = 143


class Interrupted(SystemExit):
    """SIGINT or SIGTERM ended the command; `code` is the exit status for shells.

    Not a KeyboardInterrupt: after one inside `eval` or `exec`, as in declarations of named tuples,
    `python -m` ends by SIGINT whatever its status.
    """
