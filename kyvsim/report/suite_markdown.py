"""Rows of tests as a Markdown table."""

from collections.abc import Iterable, Iterator

from kyvsim.model.suite import SuiteOutcome
from kyvsim.report.suite_rows import cells, columns
from kyvsim.report.suite_run import Sight, shown_rows, summary_line


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the table a line at a time, then the counts."""
    names = columns(sight)
    yield _line(names)
    yield _line("---" for _ in names)
    for number, (_, row) in enumerate(shown_rows(outcome, sight), 1):
        yield _line(cells(number, row, sight))
    yield f"\n{summary_line(outcome)}\n"


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(map(_plain, texts))} |\n"


def _plain(text: str) -> str:
    """Return text that a table of Markdown shows as it is."""
    for mark in ("\\", "|", "<", "*", "_", "`"):
        text = text.replace(mark, f"\\{mark}")
    return text
