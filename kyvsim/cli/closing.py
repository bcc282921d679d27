"""What is said around results: remarks about inputs, and the last line."""

import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.cli.streams import is_terminal, print_stderr, shown_width, shows_colours, write_out
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import RunEnding
from kyvsim.report.diagnostics import remark_text, source_lines
from kyvsim.report.ending import closing_lines, ending_line
from kyvsim.report.style import RenderOptions, layout_of


def print_diagnostics(remarks: Iterable[Diagnostic]) -> None:
    """Say what is wrong with inputs, one remark after the other."""
    lines = _remark_lines(remarks) if is_terminal(sys.stderr) else map(remark_text, remarks)
    for line in lines:
        print_stderr(line)


class SummaryStyle(NamedTuple):
    """How the closing line looks below a view that is wrapped."""

    look: RenderOptions
    begun: float | None = None
    """When the run began, in seconds of `time.perf_counter`; None where that is not told."""

    def lines(self, ending: RunEnding) -> Iterator[str]:
        """Yield it, on a terminal with the time: elsewhere the same input gives the same bytes."""
        is_told = self.begun is not None and is_terminal(sys.stdout)
        seconds = time.perf_counter() - (self.begun or 0) if is_told else None
        return closing_lines(ending, layout_of(self.look), seconds)


def close(ending: RunEnding, *, on_stdout: bool, closing: SummaryStyle | None = None) -> None:
    """Write the closing line.

    It goes where the counts went: to standard output below a view for people, to standard error
    beside a document for programs. On a terminal it is wrapped.
    """
    if closing is None and on_stdout and is_terminal(sys.stdout):
        closing = SummaryStyle(RenderOptions(width=shown_width(sys.stdout)))
    if closing is not None:
        write_out(closing.lines(ending))
    elif on_stdout:
        write_out((f"{ending_line(ending)}\n",))
    else:
        print_stderr(ending_line(ending))


def _remark_lines(remarks: Iterable[Diagnostic]) -> Iterator[str]:
    """Yield the lines of remarks; a file that has changed or gone since has none of its own."""
    width = shown_width(sys.stderr)
    sheet = layout_of(RenderOptions(colours=shows_colours(sys.stderr), width=width))
    for file, some in itertools.groupby(remarks, key=_file_of):
        lines = _lines_of(file)
        for one in some:
            number = one.location.line if one.location else 0
            own = lines[number - 1] if 0 < number <= len(lines) else ""
            yield remark_text(one, width)
            yield from source_lines(one, own, sheet)


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
"""A rule failed or ended in error."""
UNUSABLE = 2
"""Usage, an input that could not be used, an output that could not be written, a defect."""
INTERRUPTED = 130
TERMINATED = 143


class Interrupted(SystemExit):
    """SIGINT or SIGTERM ended the command; `code` is the exit status that shells give for it.

    No KeyboardInterrupt: after one that came while `eval` or `exec` ran, as in declarations of
    named tuples, `python -m` ends by SIGINT whatever status it is given.
    """
