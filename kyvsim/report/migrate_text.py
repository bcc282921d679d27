"""What became of policies, for people: a line for each rule, and what it hangs on."""

from collections.abc import Iterator

from kyvsim.model.evidence import Answer, Evidence
from kyvsim.model.migration import Conversion, Migration, Outcome, RuleOutcome
from kyvsim.model.result import Ending, Fact, Verdict
from kyvsim.report.ending import error_fact, informing, left_out_fact, warning_fact, weighing
from kyvsim.report.equal_text import render as render_evidence
from kyvsim.report.equality import Equality
from kyvsim.report.style import counted, safe_line

# What became of policies, for people: a line for each rule, and what it hangs on.


def render(migration: Migration) -> Iterator[str]:
    """Yield the lines of each policy."""
    for conversion, evidence in migration.pairs:
        yield from _policy(conversion, _checked(evidence))
        if evidence is not None:
            shown = list(render_evidence(Equality(evidence, ())))
            if evidence.answer is Answer.EQUAL:
                # What was not tried is shown in any case: equal is no more than what was.
                shown = [
                    *shown[:1],
                    *(f"  not tried: {safe_line(one)}\n" for one in evidence.untried),
                ]
            yield from (f"  {line}".rstrip(" ") for line in shown)
        yield "\n"


def _checked(evidence: Evidence | None) -> str:
    """Return what is to be said of rules that are converted: whether that was checked."""
    if evidence is None:
        return " (not checked)"
    return " (see the counterexample)" if evidence.answer is Answer.COUNTEREXAMPLE else ""


def _policy(conversion: Conversion, checked: str) -> Iterator[str]:
    policy = conversion.policy
    yield f"{safe_line(f'{policy.kind} {policy.key} ({policy.document.file})')}\n"
    for one in conversion.rules:
        yield from _rule(one, "" if one.outcome is Outcome.REFUSED else checked)
    for made in conversion.made:
        data = made.data
        why = f" (`{made.wanted}` is no name for a policy)" if made.wanted else ""
        yield f"  -> {safe_line(str(data['kind']))} {safe_line(data['metadata']['name'] + why)}\n"


def _rule(one: RuleOutcome, checked: str) -> Iterator[str]:
    yield f"  {safe_line(one.rule)}: {one.outcome.value}{checked}\n"
    if one.outcome is Outcome.REFUSED:
        yield f"    {safe_line(f'{one.location}: {one.path}')}\n"
        yield f"    {safe_line(one.reason)}\n"
        yield f"    {safe_line(one.advice)}\n"
    for note in one.notes:
        yield f"    {safe_line(f'{note.condition.name}: {note.condition.text}')}\n"


# How converting policies ended.


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
