"""Failed rows as workflow commands, which GitHub shows beside the lines of a manifest."""

from collections.abc import Iterator

from kyvsim.model.diagnostic import Severity
from kyvsim.model.suite import RowOutcome, SuiteOutcome
from kyvsim.report.annotations import annotation, remark
from kyvsim.report.mutants_text import advice_lines, change_text, score_line
from kyvsim.report.suite_rows import (
    Sight,
    diff_text,
    every_diagnostic,
    reason,
    shown_rows,
    summary_line,
)


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield a command for each remark and each failed row; the last line counts, for the log."""
    yield from map(remark, every_diagnostic(outcome))
    for _, row in shown_rows(outcome, sight._replace(fail_only=True)):
        yield annotation(Severity.ERROR, row.location, reason(row), _text(row))
    for hole in outcome.mutants.holes if outcome.mutants else ():
        text = "\n".join(advice_lines(hole))
        yield annotation(Severity.WARNING, hole.location, change_text(hole), text)
    yield f"{summary_line(outcome)}\n"
    if outcome.mutants is not None:
        yield f"{score_line(outcome.mutants)}\n"


def _text(row: RowOutcome) -> str:
    name = " / ".join(filter(None, (row.policy, row.rule)))
    lines = [f"{name}  {row.resource}" if row.resource else name, row.message]
    lines += [diff_text(row.difference)] if row.difference else []
    return "\n".join(filter(None, lines))
