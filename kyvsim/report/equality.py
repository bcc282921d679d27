"""What `equal` found, and how it ended."""

from typing import NamedTuple

from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.evidence import Answer, Evidence
from kyvsim.model.result import Ending, Fact
from kyvsim.report.ending import error_fact, informing, warning_fact, weighing
from kyvsim.report.style import counted


class Equality(NamedTuple):
    """The evidence, or why there is none."""

    evidence: Evidence | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ending(self) -> Ending:
        """How the run ended: what is not covered weighs as much as a counterexample."""
        remarks = (error_fact(self.diagnostics), warning_fact(self.diagnostics))
        return Ending((*remarks, *(_facts(self.evidence) if self.evidence else ())))


def _facts(evidence: Evidence) -> tuple[Fact, ...]:
    shown = len(evidence.counterexamples)
    uncovered = evidence.answer is Answer.NOT_COVERED
    return (
        weighing("counterexamples", shown, counted(shown, "counterexample")),
        weighing("notCovered", int(uncovered), "not covered"),
        Fact("equal", int(evidence.answer is Answer.EQUAL), _equal_text(evidence)),
        informing("cases", evidence.cases, counted(evidence.cases, "case")),
        informing("denied", evidence.denied, f"{evidence.denied} denied"),
    )


def _equal_text(evidence: Evidence) -> str:
    if evidence.identical:
        return "equal (identical policies)"
    return "equal" if evidence.answer is Answer.EQUAL else ""
