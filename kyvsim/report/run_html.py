"""What rules found as one page for a browser; it needs nothing beside it and asks nobody.

It has no script, and its policy forbids all but its own style.
"""

import base64
import hashlib
from collections.abc import Iterator
from typing import Final

from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import EngineResponse
from kyvsim.report.ending import ending_line
from kyvsim.report.html_text import html_text
from kyvsim.report.places import resource_place, rule_place
from kyvsim.report.run import Look, Run
from kyvsim.report.run_ending import counts_line, run_ending
from kyvsim.report.run_findings import compile_findings, name_of, place_of, said_of
from kyvsim.report.subject import severity_of, title
from kyvsim.report.summary import Row
from kyvsim.report.writing import Writing

_CSS: Final = (
    ":root{color-scheme:light dark;--line:#8884;--soft:#7a7a7a;--bad:#c62828;--warn:#b26a00;"
    "--good:#2e7d32}"
    "body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:70rem;padding:1rem}"
    "h1{font-size:1.4rem}h2{font-size:1.05rem;margin:1.5rem 0 .3rem;overflow-wrap:anywhere}"
    "ul{list-style:none;padding:0;margin:0}"
    "li{border:1px solid var(--line);border-left-width:4px;border-radius:4px;margin:.4rem 0;"
    "padding:.4rem .7rem;overflow-wrap:anywhere}"
    "p{margin:.15rem 0;white-space:pre-wrap}"
    ".fail,.error{border-left-color:var(--bad)}.warn,.none{border-left-color:var(--warn)}"
    ".pass{border-left-color:var(--good)}"
    "b{text-transform:uppercase;font-size:.8rem}.fail b,.error b{color:var(--bad)}"
    ".warn b,.none b{color:var(--warn)}.pass b{color:var(--good)}"
    ".place{font:13px/1.4 ui-monospace,monospace;color:var(--soft)}"
    "footer{border-top:1px solid var(--line);margin-top:1.5rem;padding-top:.5rem}"
    "@media print{li,h2{break-inside:avoid}body{max-width:none}}"
)


def begin(run: Run, look: Look) -> Writing:
    """Begin the page: findings by object, with `look.detailed` all rows; remarks, then the end."""
    findings = compile_findings(run, look)

    def row(response: EngineResponse) -> str:
        items = [_item(one, response) for one in findings(response)]
        if not items:
            return ""
        place = resource_place(response)
        where = f' <span class="place">{html_text(str(place))}</span>' if place else ""
        heading = f"<h2>{html_text(title(response.trigger))}{where}</h2>"
        return f"<section>{heading}\n<ul>\n{''.join(items)}</ul></section>\n"

    return Writing(head=lambda: (_head(),), row=row, tail=lambda _: _tail(run))


def _head() -> str:
    digest = base64.b64encode(hashlib.sha256(_CSS.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>kyvsim apply</title>\n<style>{_CSS}</style></head>\n"
        "<body>\n<header><h1>kyvsim apply</h1></header>\n<main>\n"
    )


def _item(row: Row, response: EngineResponse) -> str:
    severity = severity_of(row.policy)
    weight = f" · {severity}" if severity else ""
    said = said_of(row)
    return (
        f'<li class="{row.status}"><p><b>{row.status}</b> {html_text(name_of(row))}{weight}</p>\n'
        f"{f'<p>{html_text(said)}</p>' if said else ''}"
        f'<p class="place">{html_text(str(place_of(row, response)))}</p>'
        f'<p class="place">rule: {html_text(str(rule_place(row)))}</p></li>\n'
    )


def _tail(run: Run) -> Iterator[str]:
    remarks = run.remarks()
    if remarks:
        yield "<section><h2>Input</h2>\n<ul>\n"
        yield from map(_remark, remarks)
        yield "</ul></section>\n"
    yield f"</main>\n<footer><p>{counts_line(run)}</p>\n"
    yield f"<p>{html_text(ending_line(run_ending(run)))}</p></footer>\n</body></html>\n"


def _remark(entry: Diagnostic) -> str:
    looks = "error" if entry.severity == "error" else "warn"
    return f'<li class="{looks}"><p>{html_text(str(entry))}</p></li>\n'
