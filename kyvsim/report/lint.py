"""Findings of `lint` as text and JSON."""

from collections.abc import Iterator
from typing import Final

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.report.diagnostics import diagnostic_json, remark_text, source_lines
from kyvsim.report.ending import closing_lines, ending_json
from kyvsim.report.finding import Findings
from kyvsim.report.object_text import to_json
from kyvsim.report.style import RenderOptions, TextLayout, layout_of, safe_line

# Findings for people: each with the line that it is about, how many of each code, the ending.
#
# A finding begins with a line `file:line:column: severity code: message`, which editors read.

_COUNTED: Final = (Severity.ERROR, Severity.WARNING)
_COLUMN: Final = 9


def render_text(findings: Findings, options: RenderOptions) -> Iterator[str]:
    """Yield each finding with the lines that show its place, then what sums them up."""
    layout = layout_of(options)
    shown = findings
    if options.quiet:
        errors = (one for one in findings.diagnostics if one.severity is Severity.ERROR)
        shown = findings._replace(diagnostics=tuple(errors))
    if shown.diagnostics and not options.statistics:
        yield from _findings(shown, options, layout)
        yield "\n"
    if shown.errors + shown.warnings > (not options.statistics):
        yield from _by_code(shown, options, layout)
    yield from closing_lines(findings.ending, layout)


def _findings(findings: Findings, options: RenderOptions, layout: TextLayout) -> Iterator[str]:
    """Yield each finding, and the lines that it is about."""
    for entry in findings.diagnostics:
        yield f"{remark_text(entry, options.width if options.on_terminal else 0)}\n"
        yield from (f"{one}\n" for one in source_lines(entry, findings.line_of(entry), layout))


def _by_code(findings: Findings, options: RenderOptions, layout: TextLayout) -> Iterator[str]:
    """Yield how many findings have each code, and where the first of them is.

    As statistics those that are most come first.
    """
    room = layout.width - _COLUMN * len(_COUNTED)
    head = "".join(f"{one.value:>{_COLUMN}}" for one in _COUNTED)
    yield layout.paint("title", f"{'By code':<{room}}{head}") + "\n"
    by_code: dict[str, list[Diagnostic]] = {}
    for entry in findings.diagnostics:
        if entry.severity in _COUNTED:
            by_code.setdefault(entry.code, []).append(entry)
    by_number = sorted(by_code.items(), key=lambda one: (-len(one[1]), one[0]))
    for code, entries in by_number if options.statistics else sorted(by_code.items()):
        counts = "".join(_cell(entries, one, layout) for one in _COUNTED)
        first = entries[0].location
        name = f"  {code}  first: {safe_line(str(first))}" if first else f"  {code}"
        if len(name) > room:
            yield f"{name}\n{'':<{room}}{counts}\n"
        else:
            yield f"{name:<{room}}{counts}\n"
    yield "\n"


def _cell(entries: list[Diagnostic], severity: Severity, layout: TextLayout) -> str:
    number = sum(one.severity is severity for one in entries)
    cell = f"{number or '-':>{_COLUMN}}"
    return layout.paint("error" if severity is Severity.ERROR else "warn", cell) if number else cell


def render_json(findings: Findings, _look: RenderOptions) -> Iterator[str]:
    """Yield the document: `diagnostics`, `ending`, then `summary` with the figures."""
    listed = ",\n  ".join(to_json(diagnostic_json(entry)) for entry in findings.diagnostics)
    yield '{"diagnostics": [' + (f"\n  {listed}" if listed else "") + "]"
    figures = {
        "errors": findings.errors,
        "warnings": findings.warnings,
        "policies": findings.policies,
    }
    yield f',\n"ending": {to_json(ending_json(findings.ending))}'
    yield f',\n"summary": {to_json(figures)}}}\n'
