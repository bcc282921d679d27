"""Rows of tests as one aligned table, manifest by manifest."""

from collections.abc import Iterator

from kyvsim.model.suite import SuiteOutcome
from kyvsim.report import mutants_text
from kyvsim.report.style import painter
from kyvsim.report.suite_rows import RESULT, Sight, cells, columns, shown_rows, summary_line

_PAINTS = (("Pass", "pass"), ("Fail", "fail"), ("Skip", "skip"))


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the table a line at a time, then the counts; rows are never wrapped."""
    names = columns(sight)
    shown = shown_rows(outcome, sight)
    rows = [cells(number, row, sight) for number, (_, row) in enumerate(shown, 1)]
    widths = [max(map(len, texts)) for texts in zip(names, *rows, strict=True)]
    paint = painter(colours=sight.colours)
    yield f"{paint('title', _line(names, widths))}\n"
    yield f"{'  '.join('-' * width for width in widths)}\n"
    paints = dict(_PAINTS)
    for row in rows:
        padded = [f"{text:<{width}}" for text, width in zip(row, widths, strict=True)]
        padded[RESULT] = paint(paints[row[RESULT]], padded[RESULT])
        yield f"{'  '.join(padded).rstrip()}\n"
    yield f"\n{summary_line(outcome)}\n"
    if outcome.mutants is not None:
        yield "\n"
        yield from mutants_text.lines(outcome.mutants)


def _line(texts: tuple[str, ...], widths: list[int]) -> str:
    padded = (f"{text:<{width}}" for text, width in zip(texts, widths, strict=True))
    return "  ".join(padded).rstrip()
