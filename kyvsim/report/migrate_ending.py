"""How converting policies ended."""

from kyvsim.model.ending import Ending, Fact, Verdict
from kyvsim.model.evidence import Answer
from kyvsim.model.migration import Migration, Outcome
from kyvsim.report.ending import error_fact, informing, left_out_fact, warning_fact, weighing
from kyvsim.report.style import counted


def ending_of(migration: Migration) -> Ending:
    """Return how it ended: rules that are not converted make it fail."""
    found = [rule.outcome for one in migration.conversions for rule in one.rules]
    refused, conditional = found.count(Outcome.REFUSED), found.count(Outcome.CONDITIONAL)
    told = f"{counted(len(found), 'rule')} in {counted(len(migration.conversions), 'policy')}"
    return Ending(
        (
            error_fact(migration.diagnostics),
            weighing("notConverted", refused, f"{counted(refused, 'rule')} not converted"),
            *_evidence_facts(migration),
            Fact("rules", len(found), told, Verdict.PASSED if found else Verdict.NOTHING),
            informing("conditional", conditional, f"{conditional} converted with conditions"),
            left_out_fact(len(frozenset(migration.left_out))),
            warning_fact(migration.diagnostics),
        )
    )


def _evidence_facts(migration: Migration) -> tuple[Fact, ...]:
    answers = [one.answer for one in migration.evidence if one is not None]
    others = answers.count(Answer.COUNTEREXAMPLE)
    uncovered = answers.count(Answer.NOT_COVERED)
    unchecked = sum(one.is_whole and found is None for one, found in migration.pairs)
    equal = answers.count(Answer.EQUAL)
    return (
        weighing("counterexamples", others, f"{counted(others, 'policy')} with a counterexample"),
        weighing("notCovered", uncovered, f"{counted(uncovered, 'policy')} not covered"),
        informing("equal", equal, f"{equal} equal"),
        informing("notChecked", unchecked, f"{counted(unchecked, 'policy')} not checked (--check)"),
    )
