"""Results as comma-separated values (RFC 4180, but with plain line ends), for spreadsheets."""

import csv
import io
from typing import Final

from kyvsim.model.source import Location
from kyvsim.report.finding import Finding, compile_findings
from kyvsim.report.run import Run, Writing
from kyvsim.report.style import Look, safe_text

_COLUMNS: Final = (
    *("result", "policy", "rule", "type", "severity", "category"),
    *("apiVersion", "kind", "namespace", "name"),
    *("file", "line", "column", "path"),
    *("ruleFile", "ruleLine", "ruleColumn", "message", "note"),
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def begin(run: Run, look: Look) -> Writing:
    """Begin the table: a line of names, then one for each row.

    Cells that a spreadsheet would take for formulas begin with an apostrophe; characters that
    control a terminal are written as visible escapes.
    """
    rows_of = compile_findings(run, look._replace(detailed=True))
    return Writing(
        head=lambda: (_lines([_COLUMNS]),),
        row=lambda response: _lines([_cells(one) for one in rows_of(response)]),
        tail=lambda _: (),
    )


def _lines(rows: "list[tuple[str, ...]]") -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([map(_plain, cells) for cells in rows])
    return text.getvalue()


def _plain(text: str) -> str:
    shown = safe_text(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def _cells(one: Finding) -> tuple[str, ...]:
    return (
        *(one.result, one.policy, one.rule, one.row.result.phase.value),
        *(one.severity, one.category),
        *one.resource.values(),
        *_place(one.location),
        one.path,
        *_place(one.rule_location),
        *(one.message, one.note),
    )


def _place(place: Location | None) -> tuple[str, str, str]:
    if place is None:
        return "", "", ""
    return place.file, str(place.line or ""), str(place.column or "")
