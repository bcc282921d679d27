"""What `lint` found, and its figures."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.light.named_tuple import NamedTuple
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.ending import Ending, Fact, Verdict
from kyvsim.report.ending import error_fact, left_out_fact, warning_fact
from kyvsim.report.style import counted


class Findings(NamedTuple):
    """Every remark in the order of the files, and how many policy documents were looked at."""

    diagnostics: tuple[Diagnostic, ...]
    policies: int
    left_out: tuple[Diagnostic, ...] = ()
    """What was left out of folders: where, and what it is."""
    texts: Mapping[str, str] = MappingProxyType({})
    """What was read, by the name of its file."""

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
        text = f"{counted(self.policies, 'policy document')} checked"
        verdict = Verdict.PASSED if self.policies else Verdict.NOTHING
        checked = Fact("policies", self.policies, text, verdict)
        aside = left_out_fact(len(frozenset(self.left_out)))
        remarks = self.diagnostics
        # The first error is not told once more: errors are what all of it is about.
        errors = error_fact(remarks)._replace(detail="")
        return Ending((errors, checked, aside, warning_fact(remarks)))

    def line_of(self, remark: Diagnostic) -> str:
        """Return the line that a remark is about; "" where no text has it."""
        place = remark.location
        text = self.texts.get(place.file) if place and place.line else None
        if text is None or place is None:
            return ""
        lines = text.split("\n", place.line)
        return lines[place.line - 1].removesuffix("\r") if len(lines) >= place.line else ""

    def _count(self, severity: Severity) -> int:
        return sum(one.severity is severity for one in self.diagnostics)
