"""Results of `apply` as a table: aligned text, CSV, Markdown."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final

from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Location
from kyvsim.report.finding import Finding, compile_findings
from kyvsim.report.results import (
    category_of,
    compile_rows,
    identity,
    severity_of,
    silent_rows,
    title,
)
from kyvsim.report.run import Lists, Run, StreamingDocument, counts_line, ending_line, run_ending
from kyvsim.report.style import (
    STYLES,
    RenderOptions,
    aligned,
    markdown_lines,
    markdown_text,
    painter,
    safe_line,
    safe_text,
    table_line,
)

_COLUMNS = ("ID", "POLICY", "RULE", "RESOURCE", "RESULT", "MESSAGE")
_RESULT = _COLUMNS.index("RESULT")
_ROWS = "rows"
_BETWEEN = "\x1f"
"""Separates the cells of a row and its note; escaped texts never contain it."""


def begin_table(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin the table: a line for each row, the notes on rows, then the counts.

    Columns are as wide as their widest text, so all rows are collected before the first is shown.
    Messages are last and never wrapped. A rule without a result is a row with only a note.
    """
    gathered: list[str] = []
    rows_of = compile_rows(audit_warn=run.audit_warn)
    columns = _COLUMNS if options.detailed else _COLUMNS[:-1]

    def row(response: EngineResponse) -> str:
        for result_row in rows_of(response):
            cells = [result_row.policy.key, result_row.result.rule.name, title(result_row.resource)]
            cells.append(result_row.status.capitalize())
            if options.detailed:
                cells.append(result_row.result.message or result_row.result.own)
            gathered.append(_BETWEEN.join(map(safe_line, (*cells, result_row.result.note))))
        for result_row in silent_rows(response):
            rule = f"{result_row.policy.key} / {result_row.result.rule.name}"
            text = f"{rule}, {title(result_row.resource)}: no result, {result_row.result.note}"
            gathered.append(safe_line(text))
        return ""

    def tail(lists: Lists) -> Iterator[str]:
        yield from _table(lists.get(_ROWS, ()), columns, options)
        yield f"\n{counts_line(run)}\n"

    return StreamingDocument(row=row, tail=tail, lists={_ROWS: gathered})


def _table(rows: Iterable[str], columns: tuple[str, ...], options: RenderOptions) -> Iterator[str]:
    """Yield the table of rows, which are read twice, and the notes on them."""
    widths = [len(name) for name in columns[1:]]
    count = 0
    for row in rows:
        *cells, _ = row.split(_BETWEEN)
        if cells:
            count += 1
            widths = list(map(max, widths, map(len, cells)))
    widths.insert(0, max(len(columns[0]), len(str(count))))
    paint = painter(colours=options.colours)
    yield paint("title", aligned(columns, widths)) + "\n"
    yield "  ".join("-" * width for width in widths) + "\n"
    form = "  ".join(f"{{:<{width}}}" for width in widths[:_RESULT])
    notes: list[str] = []
    number = 0
    for row in rows:
        *cells, note = row.split(_BETWEEN)
        if cells:
            number += 1
            status = cells[_RESULT - 1]
            result = f"{status:<{widths[_RESULT]}}" if options.detailed else status
            result = paint(status.lower(), result) if status.lower() in STYLES else result
            before, after = form.format(number, *cells[: _RESULT - 1]), cells[_RESULT:]
            yield "  ".join((before, result, *after)).rstrip() + "\n"
        if note:
            notes.append(f"{number}: {note}\n" if cells else f"{note}\n")
    if notes:
        yield f"\n{paint('title', 'Notes')}\n"
        yield from notes


_CSV_COLUMNS: Final = (
    *("result", "policy", "rule", "type", "severity", "category"),
    *("apiVersion", "kind", "namespace", "name"),
    *("file", "line", "column", "path"),
    *("ruleFile", "ruleLine", "ruleColumn", "message", "note", "kyverno"),
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def begin_csv(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin the table: a line of names, then one for each row.

    Cells that a spreadsheet would parse as formulas begin with an apostrophe; control characters
    are escaped.
    """
    rows_of = compile_findings(run, options._replace(detailed=True))

    def row(response: EngineResponse) -> str:
        return _csv_lines(
            (
                *(status, policy.key, result.rule.name, result.phase.value),
                *(severity_of(policy), category_of(policy)),
                *identity(resource).values(),
                *_place(finding.location),
                result.path,
                *_place(finding.rule_location),
                *(result.message, result.note, run.release),
            )
            for finding in rows_of(response)
            for policy, result, status, resource in (finding.row,)
        )

    return StreamingDocument(head=lambda: (_csv_lines([_CSV_COLUMNS]),), row=row, tail=lambda _: ())


def _csv_lines(rows: Iterable[Iterable[str]]) -> str:
    shown = (map(safe_text, cells) for cells in rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells] for cells in shown
    )
    return text.getvalue()


def _place(place: Location | None) -> tuple[str, str, str]:
    if place is None:
        return "", "", ""
    return place.file, str(place.line or ""), str(place.column or "")


_MARKDOWN_COLUMNS = ("result", "object", "rule", "message")


def begin_markdown(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin the table, with all rows if `options.detailed`. Diagnostics and counts follow."""
    findings = compile_findings(run, options)
    head = table_line(_MARKDOWN_COLUMNS) + table_line(("---",) * len(_MARKDOWN_COLUMNS))

    def line(finding: Finding) -> str:
        texts = finding.shown_title, finding.place, finding.shown_name, finding.rule_location
        name, place, rule, rule_at = (markdown_text(str(text)) for text in texts)
        message = markdown_lines(finding.shown_text)
        cells = finding.row.status, f"{name}<br>{place}", f"{rule}<br>{rule_at}", message
        return table_line(cells)

    def tail(_: Lists) -> Iterator[str]:
        diagnostics = run.all_diagnostics()
        yield "\n" if diagnostics else ""
        yield from (f"- {markdown_text(str(diagnostic))}\n" for diagnostic in diagnostics)
        yield f"\n{counts_line(run)}\n\n{markdown_text(ending_line(run_ending(run)))}\n"

    return StreamingDocument(
        row=lambda response: "".join(map(line, findings(response))), tail=tail, lead=head
    )
