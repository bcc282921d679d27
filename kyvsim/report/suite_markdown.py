"""Rows of tests as a Markdown table."""

from collections.abc import Iterator

from kyvsim.model.suite import Mutants, SuiteOutcome
from kyvsim.report.mutants_text import change_text, score_line
from kyvsim.report.style import markdown_lines, markdown_text, table_line
from kyvsim.report.suite_rows import Sight, cells, columns, shown_rows, summary_line


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the table a line at a time, then the counts."""
    names = columns(sight)
    yield table_line(names)
    yield table_line(("---",) * len(names))
    for number, (_, row) in enumerate(shown_rows(outcome, sight), 1):
        yield table_line(cells(number, row, sight, markdown_lines))
    yield f"\n{summary_line(outcome)}\n"
    if outcome.mutants is not None:
        yield from _mutants(outcome.mutants)


def _mutants(mutants: Mutants) -> Iterator[str]:
    yield f"\n{score_line(mutants)}\n\n"
    for hole in mutants.holes:
        told = f"{hole.location}: {change_text(hole)}"
        yield f"- {markdown_text(told)}\n"
