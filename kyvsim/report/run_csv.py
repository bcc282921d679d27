"""Results as comma-separated values (RFC 4180, but with plain line ends), for spreadsheets."""

import csv
import io

from kyvsim.light.typed import Final
from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Location
from kyvsim.report.look import Look
from kyvsim.report.places import failed_place, resource_place, rule_place
from kyvsim.report.run import Run
from kyvsim.report.run_findings import compile_findings
from kyvsim.report.style import safe_text
from kyvsim.report.subject import category_of, identity, severity_of
from kyvsim.report.summary import Row
from kyvsim.report.writing import Writing

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
        row=lambda response: _lines([_cells(one, response) for one in rows_of(response)]),
        tail=lambda _: (),
    )


def _lines(rows: "list[tuple[str, ...]]") -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([map(_plain, cells) for cells in rows])
    return text.getvalue()


def _plain(text: str) -> str:
    shown = safe_text(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def _cells(row: Row, response: EngineResponse) -> tuple[str, ...]:
    found = row.result
    place = failed_place(response.document, found.path) if found.path else None
    return (
        *(row.status, row.policy.key, found.rule.name, found.phase.value),
        *(severity_of(row.policy), category_of(row.policy)),
        *identity(row.resource).values(),
        *_place(place or resource_place(response)),
        found.path,
        *_place(rule_place(row)),
        *(found.message, found.note),
    )


def _place(place: Location | None) -> tuple[str, str, str]:
    if place is None:
        return "", "", ""
    return place.file, str(place.line or ""), str(place.column or "")
