"""What reports of tests share: which rows they show, the counts, the columns."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.test_suite import RowOutcome, SuiteOutcome


class Sight(NamedTuple):
    """What a report of tests shows, where there is a choice."""

    detailed: bool = False
    """Show messages too."""
    fail_only: bool = False
    """Show failed rows only."""
    colours: bool = False


class SuiteTally(NamedTuple):
    """Counts over all rows."""

    total: int
    passed: int
    failed: int
    skipped: int
    """Rows of invalid policies, which the reference program skips."""
    manifests: int


def tally_of(outcome: SuiteOutcome) -> SuiteTally:
    """Return the counts of an outcome."""
    results = [row.result for one in outcome.manifests for row in one.rows]
    ran = sum(bool(one.rows) for one in outcome.manifests)
    passed, failed, skipped = (results.count(one) for one in ("Pass", "Fail", "Skip"))
    return SuiteTally(len(results), passed, failed, skipped, ran)


def shown_rows(outcome: SuiteOutcome, sight: Sight) -> Iterator[tuple[str, RowOutcome]]:
    """Yield the manifest and each row that is to be shown, in order."""
    for one in outcome.manifests:
        for row in one.rows:
            if row.failed or not sight.fail_only:
                yield one.file, row


def every_diagnostic(outcome: SuiteOutcome) -> Iterator[Diagnostic]:
    """Yield all remarks, each once: on the paths first, then manifest by manifest."""
    found = (one for manifest in outcome.manifests for one in manifest.diagnostics)
    yield from dict.fromkeys((*outcome.diagnostics, *found))


def is_unusable(outcome: SuiteOutcome) -> bool:
    """Return whether some input could not be used."""
    return any(one.severity is Severity.ERROR for one in every_diagnostic(outcome))


def unusable_manifests(outcome: SuiteOutcome) -> int:
    """Return how many files of manifests have an input that could not be used."""
    files = {
        manifest.file
        for manifest in outcome.manifests
        if any(one.severity is Severity.ERROR for one in manifest.diagnostics)
    }
    return len(files)


def summary_line(outcome: SuiteOutcome) -> str:
    """Return the counts as one line."""
    tally = tally_of(outcome)
    skipped = f", {tally.skipped} skipped" if tally.skipped else ""
    manifests = "manifest" if tally.manifests == 1 else "manifests"
    return (
        f"{tally.total} rows in {tally.manifests} {manifests}: "
        f"{tally.passed} passed, {tally.failed} failed{skipped}"
    )
