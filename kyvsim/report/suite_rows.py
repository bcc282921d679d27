"""Rows of tests as cells of a table."""

from collections.abc import Callable

from kyvsim.model.suite import RowOutcome
from kyvsim.report.style import safe_line
from kyvsim.report.suite_run import Sight

_COLUMNS = ("ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON", "MESSAGE")
RESULT = _COLUMNS.index("RESULT")
"""The place of the cell that tells how a row ended."""


def columns(sight: Sight) -> tuple[str, ...]:
    """Return the names of the columns; messages have one when they are asked for."""
    return _COLUMNS if sight.detailed else _COLUMNS[:-1]


def cells(
    number: int, row: RowOutcome, sight: Sight, shown: Callable[[str], str] = safe_line
) -> tuple[str, ...]:
    """Return the cells of a row as a function shows them: each on one line and safe to show."""
    texts = [str(number), row.policy, row.rule, row.resource, row.result, reason(row)]
    if sight.detailed:
        texts.append(row.message)
    return tuple(map(shown, texts))


def reason(row: RowOutcome) -> str:
    """Return why the row ended as it did, and of a skip its kind."""
    return f"{row.reason} (skip: {row.skip})" if row.skip else row.reason
