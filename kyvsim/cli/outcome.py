"""The exit status that a run of policies ends with."""

from collections.abc import Iterable

from kyvsim.cli.exit_status import FAILED, OK, UNUSABLE
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.report.summary import Summary


def exit_status(
    summary: Summary,
    diagnostics: Iterable[Diagnostic],
    *,
    warn_exit_code: int,
    warn_no_pass: bool,
) -> int:
    """Return the exit status of a run; unusable input wins over failures, those over warnings.

    upstream: cmd/cli/kubectl-kyverno/commands/apply/command.go `exit`
    """
    if any(entry.severity is Severity.ERROR for entry in diagnostics):
        return UNUSABLE
    if summary.failed or summary.errors:
        return FAILED
    if summary.warned and warn_exit_code:
        return warn_exit_code
    if warn_no_pass and not summary.passed:
        return warn_exit_code
    return OK
