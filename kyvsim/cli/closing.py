"""The end of a run: input errors once more where they have scrolled away, and the closing line."""

from collections.abc import Iterable, Iterator

from kyvsim.cli.streams import say, write_out
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.ending import Ending
from kyvsim.report.ending import ending_line, errors_again

_SCREEN = 24
"""Lines that a terminal is sure to show at once."""


class LineCount:
    """Counts the lines of a report while its pieces pass by."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def watching(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the pieces, counting."""
        for piece in pieces:
            self.count += piece.count("\n")
            yield piece


def remind(diagnostics: Iterable[Diagnostic], lines: LineCount) -> None:
    """Say input errors once more where the results have moved them off the screen."""
    if lines.count > _SCREEN:
        for line in errors_again(diagnostics):
            say(line)


def close(ending: Ending, *, on_stdout: bool) -> None:
    """Write the closing line.

    It goes where the counts went: to standard output below a view for people, to standard error
    beside a document for programs.
    """
    if on_stdout:
        write_out((f"{ending_line(ending)}\n",))
    else:
        say(ending_line(ending))
