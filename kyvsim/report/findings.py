"""What `lint` found, and its figures."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.ending import Ending, Fact, Verdict
from kyvsim.report.ending import error_fact, informing, left_out_fact, warning_fact
from kyvsim.report.source_excerpt import excerpt_of
from kyvsim.report.style import counted


@lru_cache(maxsize=2)
def _lines_of(text: str) -> Sequence[str]:
    """Return the lines of a text, of which many may be asked for one after the other."""
    return text.split("\n")


class Findings(NamedTuple):
    """Every remark in the order of the files, and how many policy documents were looked at."""

    diagnostics: tuple[Diagnostic, ...]
    policies: int
    left_out: tuple[Diagnostic, ...] = ()
    """What was left out of folders: where, and what it is."""
    texts: Mapping[str, str] = MappingProxyType({})
    """What was read, by the name of its file."""
    tests: int = 0
    """How many test manifests were looked at."""
    further: tuple[Fact, ...] = ()
    """What else was done, as the ending tells it."""

    @property
    def errors(self) -> int:
        """How many remarks say that something could not be used."""
        return self._count(Severity.ERROR)

    @property
    def warnings(self) -> int:
        """How many remarks are advice."""
        return self._count(Severity.WARNING)

    @property
    def ending(self) -> Ending:
        """How the run ended."""
        tests = f" and {counted(self.tests, 'test manifest')}" if self.tests else ""
        text = f"{counted(self.policies, 'policy document')}{tests} checked"
        verdict = Verdict.PASSED if self.policies or self.tests else Verdict.NOTHING
        checked = Fact("policies", self.policies, text, verdict)
        aside = left_out_fact(len(frozenset(self.left_out)))
        remarks = self.diagnostics
        errors = error_fact(remarks)
        fixable = sum(one.fix is not None for one in remarks)
        hint = informing("fixable", fixable, f"{fixable} fixable (--fix)")
        facts = errors, checked, aside, warning_fact(remarks)
        return Ending((*facts, *(self.further or (hint,))))

    def end_of(self, remark: Diagnostic) -> tuple[int, int]:
        """Return line and column after what a remark is about; (0, 0) where it has no place."""
        place = remark.location
        excerpt = excerpt_of(self.line_of(remark), place.column) if place else None
        if place is None or excerpt is None:
            return (place.line, place.column) if place else (0, 0)
        return place.line, place.column + len(excerpt[1])

    def line_of(self, remark: Diagnostic) -> str:
        """Return the line that a remark is about; "" where no text has it."""
        place = remark.location
        text = self.texts.get(place.file) if place and place.line else None
        if text is None or place is None:
            return ""
        lines = _lines_of(text)
        return lines[place.line - 1].removesuffix("\r") if len(lines) >= place.line else ""

    def _count(self, severity: Severity) -> int:
        return sum(one.severity is severity for one in self.diagnostics)
