"""Merge partial reports to one run, which every format can render.

Codes: KV082 a run that was not finished.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.api.refused_objects import RefusedObjects, warnings_of
from kyvsim.fleet import FleetError
from kyvsim.fleet.store import Heads, ReportStore, RunEnd, RunPlan
from kyvsim.load.documents import empty_file
from kyvsim.model.diagnostic import Diagnostic, Severity, error_about
from kyvsim.model.partial import Head, Key, ReportRow
from kyvsim.model.result import RefusalCount
from kyvsim.model.source import Location
from kyvsim.report.results import rule_title
from kyvsim.report.run import RenderedRun, ResultCounts, Run

# Merging of partial reports, in any order.
#
# `merged` joins the reports of several runs, and is associative and commutative; `settled` decides
# which of them count. Pieces of a file that were reported twice, by one run or by two, count once.


class MergedPiece(NamedTuple):
    """A piece that counts."""

    head: Head
    lines_before: int
    """Lines of the file before the piece; -1 if an earlier piece is missing."""


class Gap(NamedTuple):
    """Bytes of a file without a report."""

    file: str
    first: int
    last: int


class Merged(NamedTuple):
    """The pieces that count, by file and position, and the gaps."""

    pieces: tuple[MergedPiece, ...]
    gaps: tuple[Gap, ...]


def merged(*some: Heads) -> Heads:
    """Return all pieces; raise FleetError if they do not belong to the same run."""
    found: dict[Key, Head] = {}
    stamps: dict[str, str] = {}
    for heads in some:
        for key, head in heads.items():
            other = next(iter(found.values()), head)
            if other.assignment != head.assignment:
                text = "have different policies, options or versions: they are not of one run"
                raise FleetError(f"the partial reports on {other.file} and {head.file} {text}")
            if stamps.setdefault(head.file, head.stamp) != head.stamp:
                text = "there are partial reports of two versions of this file"
                raise FleetError(f"{head.file}: {text}: evaluate it again with --resume")
            # Of two reports on a piece, prefer a successful one, then choose deterministically.
            known = found.get(key)
            found[key] = min(known or head, head, key=lambda one: (one.failed, repr(one.remarks)))
    return found


def settled(heads: Heads, sizes: Mapping[str, int]) -> Merged:
    """Return the pieces that count, for files of some sizes.

    A piece inside a larger one does not count. For a file that is not text, only that error counts;
    for one that ends early, nothing after the end.
    """
    by_file: dict[str, list[Head]] = {name: [] for name in sorted(sizes)}
    for head in sorted(heads.values(), key=lambda one: (one.file, one.first, -one.last)):
        by_file.setdefault(head.file, []).append(head)
    pieces: list[MergedPiece] = []
    gaps: list[Gap] = []
    for file, some in by_file.items():
        own, missing = _in_order(file, some, sizes.get(file, -1))
        refusal = next((one for one in own if one.head.refused), None)
        pieces += [refusal] if refusal else own
        gaps += missing
    return Merged(tuple(pieces), tuple(gaps))


def _in_order(file: str, heads: Iterable[Head], size: int) -> tuple[list[MergedPiece], list[Gap]]:
    """Return the pieces of a file that count, and the gaps between and after them."""
    found: list[MergedPiece] = []
    gaps: list[Gap] = []
    end, lines = 0, 0
    for head in heads:
        if head.last <= end and (head.first, head.last) != (0, 0):
            continue
        if head.first < end:
            text = "its pieces overlap: they have two sizes"
            raise FleetError(f"{file}: {text}; give the same --piece-size, or another folder")
        if head.first > end:
            gaps.append(Gap(file, end, head.first))
            lines = -1
        found.append(MergedPiece(head, lines))
        end = head.last
        if head.ended:
            return found, gaps
        lines = -1 if head.failed or lines < 0 else lines + head.lines
    if end < size or (size == 0 and not found):
        gaps.append(Gap(file, end, size))
    return found, gaps


def remarks_of(pieces: Iterable[MergedPiece]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of the files, in the order of a run in one process."""
    some = tuple(pieces)
    diagnostics = [_moved(piece, one) for piece in some for one in piece.head.remarks]
    filled: dict[str, bool] = {}
    for head, _ in some:
        has_some = bool(head.objects or head.remarks or head.problems)
        filled[head.file] = filled.get(head.file, False) or has_some
    diagnostics += [empty_file(file) for file, has_some in filled.items() if not has_some]
    return (*diagnostics, *(_moved(piece, one) for piece in some for one in piece.head.problems))


def refusals_of(pieces: Iterable[MergedPiece]) -> Iterator[RefusalCount]:
    """Yield why an API server would reject objects, with locations in the files."""
    for piece in pieces:
        for one in piece.head.refusals:
            yield one._replace(location=_in_file(piece, one.location))


def _moved(piece: MergedPiece, one: Diagnostic) -> Diagnostic:
    place = one.location
    if place is None or not place.line or place.file != piece.head.file:
        return one
    return one._replace(location=_in_file(piece, place))


def moved(piece: MergedPiece, line: int, column: int) -> tuple[int, int]:
    """Return line and column in the file of a location in a piece; 0 if unknown."""
    known = piece.lines_before >= 0 and line > 0
    return (line + piece.lines_before, column) if known else (0, 0)


def _in_file(piece: MergedPiece, place: Location) -> Location:
    return Location(place.file, *moved(piece, place.line, place.column))


RenderRows: TypeAlias = Callable[[Iterable[ReportRow]], tuple[str, list[str]]]
"""Returns rows as rendered by a format, and its entries for unchecked ones."""


class Reports(NamedTuple):
    """Merged partial reports of one or more folders."""

    plan: RunPlan
    """The plan of the first folder; it has the common settings."""
    merged: Merged
    run: Run
    """The merged run, without its rows."""
    homes: dict[Key, ReportStore]

    def rows(self) -> Iterator[Iterator[ReportRow]]:
        """Yield the rows of each piece, with lines and columns of the file."""
        for piece in self.merged.pieces:
            yield (
                _row_in_file(piece, row) for row in self.homes[piece.head.key].rows(piece.head.key)
            )

    def rendered_by(self, render: RenderRows) -> Run:
        """Return the run with its rows as rendered by a format, read lazily."""
        unchecked: list[str] = []

        def pieces() -> Iterator[str]:
            for rows in self.rows():
                text, entries = render(rows)
                unchecked.extend(entries)
                yield text

        return self.run._replace(rendered=RenderedRun([pieces()], [{"unchecked": unchecked}]))


def _row_in_file(piece: MergedPiece, row: ReportRow) -> ReportRow:
    """Return a row of a piece with locations in the file; without excerpts if they are unknown."""
    reasons = []
    for one in row.reasons:
        seen_at = one.seen_at and _in_file(piece, one.seen_at)
        excerpt = None if seen_at and not seen_at.line else one.excerpt
        reasons.append(one._replace(seen_at=seen_at, excerpt=excerpt))
    line, column = moved(piece, row.line, row.column)
    at = moved(piece, *row.at)
    return row._replace(line=line, column=column, at=at, reasons=tuple(reasons))


def reports_in(stores: Iterable[ReportStore]) -> Reports:
    """Return the merged reports of some folders, in any order.

    Raises FleetError if a folder has none, or if they do not belong together.
    """
    plans: list[tuple[ReportStore, RunPlan]] = []
    for store in stores:
        own_plan = store.plan()
        if own_plan is None:
            raise FleetError(f"{store.folder}: no partial reports found")
        plans.append((store, own_plan))
    plans.sort(key=lambda pair: min(pair[1].files, default=""))
    plan = plans[0][1]
    found = [(store, store.heads(own)) for store, own in plans]
    heads = merged(*(own for _, own in found))
    homes = {key: store for store, own in found for key in own if heads[key] == own[key]}
    sizes = {name: size for _, own in plans for name, (size, _) in own.files.items()}
    parts = settled(heads, sizes)
    ends = [_end_of(store, own) for store, own in plans]
    result_counts = counts_of(parts.pieces, audit_warn=plan.audit_warn)
    count = sum(one.head.resources for one in parts.pieces)
    before = _each(own.before for _, own in plans)
    after = _each(own.after for _, own in plans)
    missing = []
    for gap in parts.gaps:
        text = f"no report on its bytes {gap.first} to {gap.last}"
        missing.append(error_about(gap.file, "KV082", text))
    last = _each(end.last for end in ends) if result_counts.unmatched == count else ()
    refused = RefusedObjects(is_final=True)
    refused.merge(refusals_of(parts.pieces))
    errors = _each((one for one in end.remarks if one.severity is Severity.ERROR) for end in ends)
    others = [one for one in ends[0].remarks if all(one in end.remarks for end in ends)]
    common = tuple(dict.fromkeys((*others, *errors)))
    run = Run(
        policies=(),
        resource_count=count,
        rule_count=plan.rules,
        exception_count=plan.exceptions,
        diagnostics=(
            *(*before, *remarks_of(parts.pieces), *missing, *after),
            *(*common, *warnings_of(refused.found)),
        ),
        responses=iter(()),
        result_counts=result_counts,
        audit_warn=plan.audit_warn,
        final_checks=lambda _: last,
        left_out=_each(own.left_out for _, own in plans),
        release=plan.release,
        deprecated=tuple(dict.fromkeys(line for _, own in plans for line in own.deprecated)),
    )
    return Reports(plan, parts, run, homes)


def _end_of(store: ReportStore, plan: RunPlan) -> RunEnd:
    """Return the end of a run, or an error that it was not finished."""
    end = store.end()
    if end is not None and end.run == plan.run:
        return end
    text = "the run was not finished: `kyvsim apply … --resume` finishes it"
    return RunEnd(plan.run, (error_about(store.folder, "KV082", text),), ())


def _each(some: Iterable[Iterable[Diagnostic]]) -> tuple[Diagnostic, ...]:
    return tuple(dict.fromkeys(one for found in some for one in found))


def counts_of(pieces: Iterable[MergedPiece], *, audit_warn: bool) -> ResultCounts:
    """Return the counts of some pieces."""
    result_counts = ResultCounts(audit_warn=audit_warn)
    for head, _ in pieces:
        result_counts.unmatched += head.unmatched
        result_counts.unchecked += head.unchecked
        for one in head.counts:
            result_counts.count(
                ("", "", one.title or rule_title(one.policy, one.rule), ()), one.result, one.number
            )
            if one.result == "fail":
                failed = result_counts.severities.get(one.severity, 0)
                result_counts.severities[one.severity] = failed + one.number
    return result_counts
