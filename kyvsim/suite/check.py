"""The rows of one manifest, checked in one of the two readings."""

from collections.abc import Iterator

from kyvsim.model.suite import ExpectedRow, RowOutcome
from kyvsim.suite.judge import judge_row
from kyvsim.suite.meaning import known_of
from kyvsim.suite.run import SuiteInputs
from kyvsim.suite.select import Bench, select_rows


def check_rows(
    rows: tuple[ExpectedRow, ...], inputs: SuiteInputs, bench: Bench, *, lenient: bool
) -> Iterator[tuple[ExpectedRow, RowOutcome]]:
    """Yield each expected row with each of its outcomes, in order."""
    known = known_of(inputs)
    for row in rows:
        found = select_rows(row, bench) if lenient else judge_row(row, known, bench)
        for one in found:
            yield row, one
