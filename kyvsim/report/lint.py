"""Findings of `lint` as text and JSON."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.release import NEWEST
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.report.diagnostics import diagnostic_json, diagnostic_text, excerpt_of, source_lines
from kyvsim.report.object_text import json_document
from kyvsim.report.run import (
    closing_lines,
    ending_json,
    error_fact,
    info_fact,
    left_out_fact,
    warning_fact,
)
from kyvsim.report.style import RenderOptions, TextLayout, counted, layout_of, safe_line


@lru_cache(maxsize=2)
def _lines_of(text: str) -> Sequence[str]:
    """Return the lines of a text; cached, since consecutive diagnostics need the same text."""
    return text.split("\n")


class Findings(NamedTuple):
    """The diagnostics in the order of the files, and the numbers of checked files."""

    diagnostics: tuple[Diagnostic, ...]
    policies: int
    left_out: tuple[Diagnostic, ...] = ()
    """Ignored documents in folders."""
    texts: Mapping[str, str] = MappingProxyType({})
    """The input texts by file name."""
    tests: int = 0
    """Number of test manifests that were checked."""
    objects: int = 0
    """Number of objects that were passed and checked."""
    further: tuple[Fact, ...] = ()
    """Further facts for the closing line."""
    release: str = NEWEST.name
    """The release of Kyverno that is emulated."""
    deprecated: int = 0
    """Number of policy documents whose kinds later releases remove."""

    @property
    def errors(self) -> int:
        """The number of errors."""
        return sum(one.severity is Severity.ERROR for one in self.diagnostics)

    @property
    def warnings(self) -> int:
        """The number of warnings."""
        return sum(one.severity is Severity.WARNING for one in self.diagnostics)

    @property
    def ending(self) -> RunEnding:
        """The result of the run."""
        tests = f" and {counted(self.tests, 'test manifest')}" if self.tests else ""
        objects = f" and {counted(self.objects, 'object')}" if self.objects else ""
        text = f"{counted(self.policies, 'policy document')}{tests}{objects} checked"
        some = self.policies or self.tests or self.objects
        verdict = RunVerdict.PASSED if some else RunVerdict.NOTHING
        checked = Fact("policies", self.policies, text, verdict)
        aside = left_out_fact(len(frozenset(self.left_out)))
        diagnostics = self.diagnostics
        errors = error_fact(diagnostics)
        fixable = sum(diagnostic.fix is not None for diagnostic in diagnostics)
        hint = info_fact("fixable", fixable, f"{fixable} fixable (--fix)")
        leaving = f"{self.deprecated} of deprecated kinds (kyvsim migrate)"
        old = info_fact("deprecated", self.deprecated, leaving)
        facts = errors, checked, aside, warning_fact(diagnostics), old
        return RunEnding((*facts, *(self.further or (hint,))), release=self.release)

    def end_of(self, diagnostic: Diagnostic) -> tuple[int, int]:
        """Return line and column after the excerpt of a diagnostic; (0, 0) without a position."""
        place = diagnostic.location
        excerpt = excerpt_of(self.line_of(diagnostic), place.column) if place else None
        if place is None or excerpt is None:
            return (place.line, place.column) if place else (0, 0)
        return place.line, place.column + len(excerpt[1])

    def line_of(self, diagnostic: Diagnostic) -> str:
        """Return the source line of a diagnostic; "" if its text is unknown."""
        place = diagnostic.location
        text = self.texts.get(place.file) if place and place.line else None
        if text is None or place is None:
            return ""
        lines = _lines_of(text)
        return lines[place.line - 1].removesuffix("\r") if len(lines) >= place.line else ""


_COUNTED: Final = (Severity.ERROR, Severity.WARNING)
_COLUMN: Final = 9


def render_text(findings: Findings, options: RenderOptions) -> Iterator[str]:
    """Yield each finding with its source lines, then the counts by code.

    A finding begins with a line `file:line:column: severity code: message`, which editors parse.
    """
    layout = layout_of(options)
    shown = findings
    if options.quiet:
        errors = (entry for entry in findings.diagnostics if entry.severity is Severity.ERROR)
        shown = findings._replace(diagnostics=tuple(errors))
    if shown.diagnostics and not options.statistics:
        for entry in shown.diagnostics:
            yield f"{diagnostic_text(entry, options.width if options.on_terminal else 0)}\n"
            yield from (f"{line}\n" for line in source_lines(entry, shown.line_of(entry), layout))
        yield "\n"
    if shown.errors + shown.warnings > (not options.statistics):
        yield from _by_code(shown, options, layout)
    yield from closing_lines(findings.ending, layout)


def _by_code(findings: Findings, options: RenderOptions, layout: TextLayout) -> Iterator[str]:
    room = layout.width - _COLUMN * len(_COUNTED)
    head = "".join(f"{severity.value:>{_COLUMN}}" for severity in _COUNTED)
    yield layout.paint("title", f"{'By code':<{room}}{head}") + "\n"
    by_code: dict[str, list[Diagnostic]] = {}
    for entry in findings.diagnostics:
        if entry.severity in _COUNTED:
            by_code.setdefault(entry.code, []).append(entry)
    by_number = sorted(by_code.items(), key=lambda item: (-len(item[1]), item[0]))
    for code, entries in by_number if options.statistics else sorted(by_code.items()):
        counts = ""
        for severity, look in zip(_COUNTED, ("error", "warn"), strict=True):
            number = sum(diagnostic.severity is severity for diagnostic in entries)
            cell = f"{number or '-':>{_COLUMN}}"
            counts += layout.paint(look, cell) if number else cell
        first = entries[0].location
        name = f"  {code}  first: {safe_line(str(first))}" if first else f"  {code}"
        gap = f"\n{'':<{room}}" if len(name) > room else " " * (room - len(name))
        yield f"{name}{gap}{counts}\n"
    yield "\n"


def render_json(findings: Findings, _look: RenderOptions) -> Iterator[str]:
    """Yield the document: `diagnostics`, `ending`, then `summary` with the counts."""
    names = ("errors", "warnings", "policies")
    yield from json_document(
        "lint",
        {
            "diagnostics": map(diagnostic_json, findings.diagnostics),
            "ending": ending_json(findings.ending),
            "summary": {name: getattr(findings, name) for name in names},
        },
    )
