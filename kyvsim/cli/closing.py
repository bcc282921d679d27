"""What is said around results: remarks about inputs, and the last line."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.cli.remark_lines import remark_lines
from kyvsim.cli.streams import is_terminal, say, shown_width, write_out
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.ending import Ending
from kyvsim.report.ending import closing_lines, ending_line
from kyvsim.report.look import Look, sheet_of
from kyvsim.report.ending import ending_line
from kyvsim.report.look import Look


def say_remarks(remarks: Iterable[Diagnostic]) -> None:
    """Say what is wrong with inputs, one remark after the other."""
    told = tuple(remarks)
    if told and is_terminal(sys.stderr):
        for line in remark_lines(told):
            say(line)
    elif told:
        from kyvsim.report.diagnostic_json import remark_text  # noqa: PLC0415 — where there are some

        for one in told:
            say(remark_text(one))


class ClosingLook(NamedTuple):
    """How the closing line looks below a view that is wrapped."""

    look: Look
    begun: float | None = None
    """When the run began, in seconds of `time.perf_counter`; None where that is not told."""

    def lines(self, ending: Ending) -> Iterator[str]:
        """Yield it, on a terminal with the time: elsewhere the same input gives the same bytes."""
        is_told = self.begun is not None and is_terminal(sys.stdout)
        seconds = time.perf_counter() - (self.begun or 0) if is_told else None
        return closing_lines(ending, sheet_of(self.look), seconds)


def close(ending: Ending, *, on_stdout: bool, closing: ClosingLook | None = None) -> None:
    """Write the closing line.

    It goes where the counts went: to standard output below a view for people, to standard error
    beside a document for programs. On a terminal it is wrapped.
    """
    if closing is None and on_stdout and is_terminal(sys.stdout):
        closing = ClosingLook(Look(width=shown_width(sys.stdout)))
    if closing is not None:
        write_out(closing.lines(ending))
    elif on_stdout:
        write_out((f"{ending_line(ending)}\n",))
    else:
        say(ending_line(ending))
