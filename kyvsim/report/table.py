"""Results as a table with a column for each of policy, rule, resource and result."""

from collections.abc import Iterable, Iterator

from kyvsim.model.result import EngineResponse
from kyvsim.report.ending import counts_line
from kyvsim.report.results import Row, compile_rows, silent_rows, title
from kyvsim.report.run import Lists, Run, Writing
from kyvsim.report.style import LOOKS, Look, painter, safe_line

_COLUMNS = ("ID", "POLICY", "RULE", "RESOURCE", "RESULT", "MESSAGE")
_RESULT = _COLUMNS.index("RESULT")
_ROWS = "rows"
_BETWEEN = "\x1f"
"""Stands between the cells of a row, and before its note: texts that are safe to show have none."""


def begin(run: Run, look: Look) -> Writing:
    """Begin the table: a line for each row, the notes on its rows, then the counts.

    Columns are as wide as their widest text, so all rows are gathered before the first is shown.
    Messages stand last and are never wrapped: a row is a line.
    """
    rows: list[str] = []
    rows_of = compile_rows(audit_warn=run.audit_warn)

    def row(response: EngineResponse) -> str:
        rows.extend(_rows(response, rows_of(response), detailed=look.detailed))
        return ""

    def tail(lists: Lists) -> Iterator[str]:
        yield from _lines(lists.get(_ROWS, ()), look)
        yield f"\n{counts_line(run)}\n"

    return Writing(head=lambda: (), row=row, tail=tail, lists={_ROWS: rows})


def _lines(rows: Iterable[str], look: Look) -> Iterator[str]:
    """Yield the table of rows, which are read twice, and the notes on them."""
    columns = _COLUMNS if look.detailed else _COLUMNS[:-1]
    widths = _widths(columns, rows)
    paint = painter(colours=look.colours)
    yield paint("title", _line(columns, widths)) + "\n"
    yield "  ".join("-" * width for width in widths) + "\n"
    form = "  ".join(f"{{:<{width}}}" for width in widths[:_RESULT])
    width = widths[_RESULT]
    notes: list[str] = []
    number = 0
    for row in rows:
        *cells, note = row.split(_BETWEEN)
        if cells:
            number += 1
            said = cells[_RESULT - 1]
            status = said.lower()
            result = f"{said:<{width}}" if look.detailed else said
            result = paint(status, result) if status in LOOKS else result
            before, after = form.format(number, *cells[: _RESULT - 1]), cells[_RESULT:]
            yield "  ".join((before, result, *after)).rstrip() + "\n"
        if note:
            notes.append(f"{number}: {note}\n" if cells else f"{note}\n")
    if notes:
        yield f"\n{paint('title', 'Notes')}\n"
        yield from notes


def _rows(response: EngineResponse, rows: Iterable[Row], *, detailed: bool) -> Iterator[str]:
    """Yield all rows of a response: their cells without a number, and a note or "".

    What a user should know of a rule without a result is a row that has a note only.
    """
    for row in rows:
        cells = [row.policy.key, row.result.rule.name, title(row.resource)]
        cells.append(row.status.capitalize())
        if detailed:
            cells.append(row.result.message or row.result.own)
        yield _BETWEEN.join(map(safe_line, (*cells, row.result.note)))
    for row in silent_rows(response):
        what = f"{row.policy.key} / {row.result.rule.name}, {title(row.resource)}"
        yield f"{safe_line(what)}: no result, {safe_line(row.result.note)}"


def _widths(columns: tuple[str, ...], rows: Iterable[str]) -> list[int]:
    widths = [len(name) for name in columns[1:]]
    count = 0
    for row in rows:
        *cells, _ = row.split(_BETWEEN)
        if cells:
            count += 1
            widths = list(map(max, widths, map(len, cells)))
    return [max(len(columns[0]), len(str(count))), *widths]


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()
