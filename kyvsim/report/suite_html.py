"""Tests of policies as one page for a browser: how they ended, by rule and manifest, each row."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.model.source import Location
from kyvsim.model.suite import Difference, ManifestOutcome, RowOutcome, SuiteOutcome
from kyvsim.report.hole_cases import hole_cases, score_of
from kyvsim.report.object_text import Marked, hunks, marked_yaml
from kyvsim.report.page import Counted, ending_of, page, table_of
from kyvsim.report.style import counted
from kyvsim.report.suite_rows import Sight, every_diagnostic, reason, suite_ending, summary_line

_LOOKS: Mapping[str, str] = MappingProxyType({"Fail": "bad", "Skip": "warn", "Pass": "good"})
"""How results look, those that weigh most first."""
_STATUSES: Final = tuple(map(str.lower, _LOOKS))


class _Row(NamedTuple):
    """A row of a manifest."""

    status: str
    looks: str
    policy: str
    rule: str
    resource: str
    reason: str
    said: str
    place: Location | None
    file: str
    """The file whose object is not as expected."""
    lines: tuple[Marked, ...]


class _Manifest(NamedTuple):
    """A manifest: its rows that failed, and all others."""

    file: str
    counts: str
    failed: tuple[_Row, ...]
    others: tuple[_Row, ...]


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the page in pieces: manifests with rows that failed come first."""
    manifests = [_manifest(one, sight) for one in outcome.manifests if one.rows]
    manifests.sort(key=lambda one: not one.failed)
    rows = [(one.file, row) for one in outcome.manifests for row in one.rows]
    by_rule = (Counted(_name(row), row.result.lower()) for _, row in rows)
    by_manifest = (Counted(file, row.result.lower()) for file, row in rows)
    return page(
        "suite.html",
        ending=ending_of(suite_ending(outcome)),
        summary=summary_line(outcome),
        remarks=tuple(every_diagnostic(outcome)),
        tables=(
            table_of("rule", by_rule, _STATUSES),
            table_of("manifest", by_manifest, _STATUSES),
        ),
        manifests=[one for one in manifests if one.failed or one.others],
        score=score_of(outcome.mutants),
        holes=hole_cases(outcome.mutants),
    )


def _manifest(one: ManifestOutcome, sight: Sight) -> _Manifest:
    failed = [_row(row, sight) for row in one.rows if row.failed]
    others = [] if sight.fail_only else [_row(row, sight) for row in one.rows if not row.failed]
    rows = counted(len(one.rows), "row")
    counts = f"{len(failed)} of {rows} failed" if failed else rows
    return _Manifest(one.file, counts, tuple(failed), tuple(others))


def _row(row: RowOutcome, sight: Sight) -> _Row:
    shown = row.failed or sight.detailed
    difference = row.difference
    return _Row(
        status=row.result.lower(),
        looks=_LOOKS.get(row.result, ""),
        policy=row.policy,
        rule=_name(row),
        resource=row.resource,
        reason=reason(row),
        said=row.message if shown and row.message != row.reason else "",
        place=row.location,
        file=difference.file if difference else "",
        lines=_lines(difference) if difference else (),
    )


def _lines(difference: Difference) -> tuple[Marked, ...]:
    return tuple(hunks(marked_yaml(difference.expected, difference.actual)))


def _name(row: RowOutcome) -> str:
    return " / ".join(filter(None, (row.policy, row.rule)))
