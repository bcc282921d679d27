"""The view of tests for people: each manifest on a line, what failed and why below it."""

from collections import Counter
from collections.abc import Iterator

from kyvsim.model.suite import ManifestOutcome, RowOutcome, SuiteOutcome
from kyvsim.report.style import Paint, counted, indented, painter, safe_line
from kyvsim.report.suite_diff import diff_lines
from kyvsim.report.suite_rows import reason
from kyvsim.report.suite_run import Sight, summary_line

_INDENT = " " * 8


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the view a manifest at a time; the last line counts."""
    paint = painter(colours=sight.colours)
    for one in outcome.manifests:
        if one.rows and (not sight.fail_only or any(row.failed for row in one.rows)):
            yield _manifest(one, sight, paint)
    yield f"\n{summary_line(outcome)}\n" if outcome.total else f"{summary_line(outcome)}\n"


def _manifest(one: ManifestOutcome, sight: Sight, paint: Paint) -> str:
    failed = sum(row.failed for row in one.rows)
    word = paint("fail", "FAIL") if failed else paint("pass", "pass")
    rows = counted(len(one.rows), "row")
    counts = f"{failed} of {rows} failed" if failed else rows
    lines = [f"{word}  {safe_line(one.file)}  {paint('dim', f'({counts}{_skips(one)})')}\n"]
    for row in one.rows:
        if row.failed or (sight.detailed and not sight.fail_only):
            lines += _row(row, paint)
    return "".join(lines)


def _row(row: RowOutcome, paint: Paint) -> Iterator[str]:
    name = safe_line(" / ".join(filter(None, (row.policy, row.rule))))
    word = paint(row.result.lower(), f"{row.result.lower():<4}")
    place = f" {paint('dim', f'({safe_line(str(row.location))})')}" if row.location else ""
    resource = f"  {safe_line(row.resource)}" if row.resource else ""
    yield f"  {word}  {name}{resource}{place}\n"
    yield f"{_INDENT}{safe_line(reason(row))}\n"
    if row.message and row.message != row.reason:
        yield f"{_INDENT}{indented(row.message, _INDENT)}\n"
    for line in diff_lines(row.difference, paint) if row.difference else ():
        yield f"{_INDENT}{line}\n"


def _skips(one: ManifestOutcome) -> str:
    """Return how many rows were skipped as expected, by the kind of skip."""
    kinds = Counter(row.skip for row in one.rows if row.skip)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"; skipped as expected: {listed}" if listed else ""
