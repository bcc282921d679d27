"""What `lint` found, and its figures."""

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
        return Ending((error_fact(remarks), checked, aside, warning_fact(remarks)))

    def __str__(self) -> str:
        """Return the figures as one line."""
        found = f"{counted(self.errors, 'error')}, {counted(self.warnings, 'warning')}"
        return f"{found} in {counted(self.policies, 'policy document')}"

    def _count(self, severity: Severity) -> int:
        return sum(one.severity is severity for one in self.diagnostics)
