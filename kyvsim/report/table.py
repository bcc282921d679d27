"""Results as a table with a column for each of policy, rule, resource and result."""

from collections.abc import Iterator

from kyvsim.report.run import Look, Run
from kyvsim.report.run_ending import counts_line
from kyvsim.report.style import CODES, painter, safe_line
from kyvsim.report.subject import title
from kyvsim.report.summary import compile_rows, silent_rows

_COLUMNS = ("ID", "POLICY", "RULE", "RESOURCE", "RESULT", "MESSAGE")
_RESULT = _COLUMNS.index("RESULT")


def render(run: Run, look: Look) -> Iterator[str]:
    """Yield the table a line at a time, the notes on its rows, then the counts.

    Columns are as wide as their widest text, so all rows are gathered before the first is shown.
    Messages stand last and are never wrapped: a row is a line.
    """
    notes: list[str] = []
    rows = _rows(run, notes, detailed=look.detailed)
    columns = _COLUMNS if look.detailed else _COLUMNS[:-1]
    widths = [
        max(len(name), *(len(row[index]) for row in rows)) if rows else len(name)
        for index, name in enumerate(columns)
    ]
    paint = painter(colours=look.colours)
    yield paint("title", _line(columns, widths)) + "\n"
    yield "  ".join("-" * width for width in widths) + "\n"
    form = "  ".join(f"{{:<{width}}}" for width in widths[:_RESULT])
    width = widths[_RESULT]
    for row in rows:
        said = row[_RESULT]
        status = said.lower()
        result = f"{said:<{width}}" if look.detailed else said
        result = paint(status, result) if status in CODES else result
        yield "  ".join((form.format(*row[:_RESULT]), result, *row[_RESULT + 1 :])).rstrip() + "\n"
    if notes:
        yield f"\n{paint('title', 'Notes')}\n"
        yield from notes
    yield f"\n{counts_line(run)}\n"


def _rows(run: Run, notes: list[str], *, detailed: bool) -> list[tuple[str, ...]]:
    """Return the cells of all rows; what a user should know besides goes to `notes`."""
    rows_of = compile_rows(audit_warn=run.audit_warn)
    rows: list[tuple[str, ...]] = []
    for response in run.responses:
        for row in rows_of(response):
            cells = (
                str(len(rows) + 1),
                safe_line(row.policy.key),
                safe_line(row.result.rule.name),
                safe_line(title(row.resource)),
                row.status.capitalize(),
            )
            rows.append((*cells, safe_line(row.result.message)) if detailed else cells)
            if row.result.note:
                notes.append(f"{len(rows)}: {safe_line(row.result.note)}\n")
        for row in silent_rows(response):
            what = f"{row.policy.key} / {row.result.rule.name}, {title(row.resource)}"
            notes.append(f"{safe_line(what)}: no result, {safe_line(row.result.note)}\n")
    return rows


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()
