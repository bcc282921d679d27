"""Partial reports as one run, which formats show as they show any.

Codes: KV082 a run that was not finished.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from kyvsim.api.refused_objects import RefusedObjects, warnings_of
from kyvsim.fleet.errors import FleetError
from kyvsim.fleet.merge import (
    Gap,
    Merged,
    Settled,
    merged,
    moved,
    refusals_of,
    remarks_of,
    settled,
)
from kyvsim.fleet.run_plan import RunEnd, RunPlan
from kyvsim.fleet.store import Store
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.partial import Key, ToldRow
from kyvsim.model.result import ToldReason
from kyvsim.model.source import Location
from kyvsim.report.result_groups import rule_title
from kyvsim.report.run import RenderedRun, ResultCounts, Run

TellRows: TypeAlias = Callable[[Iterable[ToldRow]], tuple[str, list[str]]]
"""Returns what a format says of rows, and its entries for what was not checked."""


class Reports(NamedTuple):
    """Partial reports of one or more folders, put together."""

    plan: RunPlan
    """The plan of the first folder; what all have in common."""
    merged: Merged
    run: Run
    """What they make up, without its rows."""
    homes: dict[Key, Store]

    def rows(self) -> Iterator[Iterator[ToldRow]]:
        """Yield the rows of each piece, with lines and columns of the file."""
        for piece in self.merged.pieces:
            yield _rows(self.homes[piece.head.key], piece)

    def told_by(self, tell: TellRows) -> Run:
        """Return the run with what a format says of its rows, read as it is asked for."""
        unchecked: list[str] = []

        def pieces() -> Iterator[str]:
            for rows in self.rows():
                text, entries = tell(rows)
                unchecked.extend(entries)
                yield text

        return self.run._replace(rendered=RenderedRun([pieces()], [{"unchecked": unchecked}]))


def reports_in(stores: Iterable[Store]) -> Reports:
    """Return what the reports in some folders make up, whatever their order.

    Raises FleetError where a folder has none, or where they do not belong together.
    """
    plans = [(store, _plan_in(store)) for store in stores]
    plans.sort(key=lambda pair: min(pair[1].files, default=""))
    plan = plans[0][1]
    found = [(store, store.heads(own)) for store, own in plans]
    heads = merged(*(own for _, own in found))
    homes = {key: store for store, own in found for key in own if heads[key] == own[key]}
    sizes = {name: size for _, own in plans for name, (size, _) in own.files.items()}
    parts = settled(heads, sizes)
    ends = [_end_of(store, own) for store, own in plans]
    return Reports(plan, parts, _run(plans, parts, ends), homes)


def _plan_in(store: Store) -> RunPlan:
    plan = store.plan()
    if plan is None:
        raise FleetError(f"{store.folder}: there are no partial reports of a run")
    return plan


def _end_of(store: Store, plan: RunPlan) -> RunEnd:
    """Return what a run said at its end, or that it has not come to it."""
    end = store.end()
    if end is not None and end.run == plan.run:
        return end
    text = "the run was not finished: `kyvsim apply … --resume` finishes it"
    unfinished = Diagnostic("KV082", Severity.ERROR, text, Location(store.folder))
    return RunEnd(plan.run, (unfinished,), ())


def _run(plans: list[tuple[Store, RunPlan]], parts: Merged, ends: list[RunEnd]) -> Run:
    result_counts = course_of(parts.pieces, audit_warn=plans[0][1].audit_warn)
    count = sum(one.head.resources for one in parts.pieces)
    before = _each(own.before for _, own in plans)
    after = _each(own.after for _, own in plans)
    missing = tuple(map(_missing, parts.gaps))
    last = _each(end.last for end in ends) if result_counts.unmatched == count else ()
    refused = RefusedObjects(is_final=True)
    refused.merge(refusals_of(parts.pieces))
    return Run(
        policies=(),
        resource_count=count,
        rule_count=plans[0][1].rules,
        exception_count=plans[0][1].exceptions,
        diagnostics=(
            *(*before, *remarks_of(parts.pieces), *missing, *after),
            *(*_common(ends), *warnings_of(refused.found)),
        ),
        responses=iter(()),
        result_counts=result_counts,
        audit_warn=plans[0][1].audit_warn,
        afterthoughts=lambda _: last,
        left_out=_each(own.left_out for _, own in plans),
    )


def _common(ends: list[RunEnd]) -> tuple[Diagnostic, ...]:
    """Return what ends say; that a kind is nowhere holds only where all say so."""
    errors = _each((one for one in end.remarks if one.severity is Severity.ERROR) for end in ends)
    others = [one for one in ends[0].remarks if all(one in end.remarks for end in ends)]
    return tuple(dict.fromkeys((*others, *errors)))


def _each(some: Iterable[Iterable[Diagnostic]]) -> tuple[Diagnostic, ...]:
    return tuple(dict.fromkeys(one for found in some for one in found))


def _missing(gap: Gap) -> Diagnostic:
    text = f"there is no report on its bytes {gap.first} to {gap.last}"
    return Diagnostic("KV082", Severity.ERROR, text, Location(gap.file))


def course_of(pieces: Iterable[Settled], *, audit_warn: bool) -> ResultCounts:
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


def _rows(store: Store, piece: Settled) -> Iterator[ToldRow]:
    for row in store.rows(piece.head.key):
        line, column = moved(piece, row.line, row.column)
        reasons = tuple(_moved(piece, one) for one in row.reasons)
        at = moved(piece, *row.at)
        yield row._replace(line=line, column=column, at=at, reasons=reasons)


def _moved(piece: Settled, reason: ToldReason) -> ToldReason:
    """Return a reason with its place in the file; without its line where nobody can tell that."""
    place = reason.seen_at
    if place is None:
        return reason
    line, column = moved(piece, place.line, place.column)
    seen_at = place._replace(line=line, column=column)
    return reason._replace(seen_at=seen_at, excerpt=reason.excerpt if line else None)
