"""The view of tests for people: each manifest on a line, what failed and why below it."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kyvsim.model.suite import ManifestOutcome, RowOutcome, SuiteOutcome
from kyvsim.report import mutants_text
from kyvsim.report.failure_reasons import reason_lines
from kyvsim.report.result_groups import headline
from kyvsim.report.style import INDENT, Look, Sheet, counted, safe_line, sheet_of, wrapped
from kyvsim.report.suite_rows import Sight, diff_lines, reason, summary_line

_COLUMN: Final = 7


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the view a manifest at a time; the last line counts."""
    sheet = sheet_of(Look(colours=sight.colours, width=sight.width))
    if sight.statistics:
        yield from _by_rule(outcome, sheet)
    for one in () if sight.statistics else outcome.manifests:
        if one.rows and (not sight.fail_only or any(row.failed for row in one.rows)):
            yield _manifest(one, sight, sheet)
    yield f"\n{summary_line(outcome)}\n" if outcome.total else f"{summary_line(outcome)}\n"
    if outcome.mutants is not None:
        yield "\n"
        yield from mutants_text.lines(outcome.mutants)


def _by_rule(outcome: SuiteOutcome, sheet: Sheet) -> Iterator[str]:
    """Yield how many rows of each rule failed and passed, those that failed most first."""
    counts: dict[str, list[int]] = {}
    for row in (row for one in outcome.manifests for row in one.rows):
        name = " / ".join(filter(None, (row.policy, row.rule)))
        counts.setdefault(name, [0, 0])[not row.failed] += 1
    room = sheet.width - _COLUMN * 2
    yield sheet.paint("title", f"{'By rule':<{room}}{'fail':>{_COLUMN}}{'pass':>{_COLUMN}}") + "\n"
    for name, numbers in sorted(counts.items(), key=lambda one: (-one[1][0], one[0])):
        cells = "".join(f"{number or '-':>{_COLUMN}}" for number in numbers)
        *lines, last = wrapped(safe_line(name), room, "    ", "  ")
        yield from (f"{line}\n" for line in (*lines, f"{last:<{room}}{cells}"))


def _manifest(one: ManifestOutcome, sight: Sight, sheet: Sheet) -> str:
    paint = sheet.paint
    failed = sum(row.failed for row in one.rows)
    word = paint("fail", "FAIL") if failed else paint("pass", "pass")
    rows = counted(len(one.rows), "row")
    counts = f"{failed} of {rows} failed" if failed else rows
    lines = [f"{word}  {safe_line(one.file)}  {paint('dim', f'({counts}{_skips(one)})')}\n"]
    for row in one.rows:
        if row.failed or (sight.detailed and not sight.fail_only):
            lines += _row(row, sheet)
    return "".join(lines)


def _row(row: RowOutcome, sheet: Sheet) -> Iterator[str]:
    name = " / ".join(filter(None, (row.policy, row.rule)))
    word = row.result.upper() if row.failed else row.result.lower()
    place = safe_line(str(row.location)) if row.location else ""
    about = f"{name}: {row.resource}" if row.resource else name
    yield headline(word, about, place, sheet)
    said = [reason(row)]
    if row.message and row.message != row.reason:
        said.append(row.message)
    yield from (f"{line}\n" for text in said for line in wrapped(text, sheet.width))
    yield from reason_lines(row.reasons, sheet)
    for line in diff_lines(row.difference, sheet.paint) if row.difference else ():
        yield f"{INDENT}{line}\n"


def _skips(one: ManifestOutcome) -> str:
    """Return how many rows were skipped as expected, by the kind of skip."""
    kinds = Counter(row.skip for row in one.rows if row.skip)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"; skipped as expected: {listed}" if listed else ""
