"""A distributed run: plan it, evaluate its items, store partial reports, and merge them.

Codes: KV081 a piece that cannot be evaluated, KV083 files that count as separate clusters,
KV084 objects that are not part of reports.
"""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import AbstractContextManager, ExitStack
from typing import Final, NamedTuple, TypeAlias

from kyvsim.api.apply import Sample, run_of
from kyvsim.api.inputs import ApplyInputs
from kyvsim.fleet import FleetError, OtherVersionError
from kyvsim.fleet.engines import Engine
from kyvsim.fleet.files import InputFile, found_files
from kyvsim.fleet.reports import counts_of, remarks_of, settled
from kyvsim.fleet.store import Heads, ReportStore, RunEnd, RunPlan
from kyvsim.fleet.work import (
    PIECE_BYTES,
    Assignment,
    ClusterGrouping,
    ItemOutcome,
    Ready,
    WorkItem,
    are_shared,
    assigned,
    clusters_of,
    evaluate,
    plan_items,
    prepare,
    whole,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, error_about
from kyvsim.model.partial import Head, Key, Partial
from kyvsim.model.result import Phase

# Evaluate items with an engine, and yield the outcomes as they are completed.
#
# The items of a lost worker are retried. An item that loses every worker is given up, and the
# others are evaluated; to find it, suspected items are evaluated alone.

_GLANCE: Final = 0.5
"""Seconds between two checks of the workers."""
_PATIENCE: Final = 60.0
"""Seconds to wait for a worker if there is none."""
_ATTEMPTS: Final = 2
"""How often an item that is evaluated alone may break executors."""


class ItemFailure(NamedTuple):
    """Why an item has no result."""

    text: str


class Lost(NamedTuple):
    """An item whose worker was lost, because of the item or not."""


class FleetWork(NamedTuple):
    """The context for the evaluation of items."""

    assignment: Assignment
    is_needed: Callable[[WorkItem], bool]
    """Whether an item must still be evaluated, when it is next."""
    following: Callable[[WorkItem, ItemOutcome], Iterable[WorkItem]]
    """The items that must be evaluated because of an outcome."""


_End: TypeAlias = ItemOutcome | ItemFailure | Lost


def evaluated_items(
    engine: Engine, work: FleetWork, items: Iterable[WorkItem]
) -> Iterator[tuple[WorkItem, ItemOutcome | ItemFailure]]:
    """Yield items, and those that follow from them, with their outcomes.

    Raises FleetError if the engine is lost.
    """
    waiting = deque(items)
    while waiting:
        suspects: list[WorkItem] = []
        for item, end in _attempt(engine, work, waiting):
            if isinstance(end, Lost):
                suspects.append(item)
                continue
            yield item, end
            waiting.extend(work.following(item, end) if isinstance(end, ItemOutcome) else ())
        for item in filter(work.is_needed, suspects):
            alone = _alone(engine, work, item)
            yield item, alone
            waiting.extend(work.following(item, alone) if isinstance(alone, ItemOutcome) else ())


def _alone(engine: Engine, work: FleetWork, item: WorkItem) -> ItemOutcome | ItemFailure:
    """Evaluate an item while no other one is evaluated."""
    for _ in range(_ATTEMPTS if engine.breaks else 1):
        for _, end in _attempt(engine, work, deque([item])):
            if not isinstance(end, Lost):
                return end
    return ItemFailure("every process that works on it ends")


def _attempt(
    engine: Engine, work: FleetWork, waiting: deque[WorkItem]
) -> Iterator[tuple[WorkItem, _End]]:
    """Yield items with their outcomes, until there is none or the executor breaks.

    Items can be added in the meantime; the remaining ones have not been started.
    """
    executor = engine.begin(max(len(waiting), 1))
    under_way: dict[Future[ItemOutcome], WorkItem] = {}
    broken = False
    manned = time.monotonic()
    try:
        while under_way or (waiting and not broken):
            width = engine.width()
            if not engine.is_there():
                raise FleetError(_gone(engine))
            now = time.monotonic()
            if not width and now - manned > _PATIENCE:
                raise FleetError(f"{engine.name} has had no worker for {_PATIENCE:.0f} seconds")
            manned = now if width else manned
            while waiting and len(under_way) < width and not broken:
                item = waiting.popleft()
                if not work.is_needed(item):
                    continue
                try:
                    under_way[executor.submit(evaluate, work.assignment, item)] = item
                except engine.lost:
                    waiting.appendleft(item)
                    broken = True
            if not under_way:
                time.sleep(_GLANCE if waiting and not broken else 0)
            for future in wait(under_way, _GLANCE, FIRST_COMPLETED).done:
                item, end = under_way.pop(future), _end_of(future, engine)
                broken |= engine.breaks and isinstance(end, Lost)
                yield item, end
    finally:
        engine.close(executor)


def _end_of(future: Future[ItemOutcome], engine: Engine) -> _End:
    """Return the outcome of an item; raise FleetError for errors that affect all items."""
    if future.cancelled():
        raise FleetError(_gone(engine))
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, engine.lost):
        return Lost()
    if isinstance(error, CancelledError):
        raise FleetError(_gone(engine))
    reason = " ".join(str(error).split())
    if isinstance(error, FleetError | OtherVersionError):
        raise FleetError(reason)
    if isinstance(error, ImportError):
        raise FleetError(f"workers of {engine.name} lack a requirement: {reason}")
    return ItemFailure(f"it cannot be evaluated: {type(error).__name__}: {reason}".rstrip(": "))


def _gone(engine: Engine) -> str:
    return f"{engine.name} no longer responds"


class Fleet(NamedTuple):
    """The settings of a distributed run."""

    engine: AbstractContextManager[Engine]
    store: ReportStore
    resume: bool = False
    """Whether the store can have reports already, which are not created again."""
    per: ClusterGrouping | None = None
    """Which files are dumps of one cluster; None: each is one, with a warning if it matters."""
    piece_size: int = 0
    """Bytes of a piece; 0: as in the resumed run, or `PIECE_BYTES`."""
    everything: bool = False
    """Whether all rows are reported."""


class Progress(NamedTuple):
    """The progress of a run; items can be added later."""

    done: int
    total: int


def run_fleet(inputs: ApplyInputs, stdin: bytes | None, fleet: Fleet) -> Iterator[Progress]:
    """Evaluate the resources of `inputs` with an engine, and yield the progress.

    At the end the store has the complete results. Raises FleetError if a run cannot start or
    continue; a resumed run uses what the store has by then.
    """
    ready = prepare(inputs, stdin)
    if ready.read.unusable:
        first = next(one for one in ready.read.diagnostics if one.severity is Severity.ERROR)
        raise FleetError(f"a file that all results depend on was rejected: {first}")
    files = found_files(map(str, inputs.resources))
    per = fleet.per or ClusterGrouping.FILE
    assignment = assigned(inputs, stdin, everything=fleet.everything, per=per)
    with ExitStack() as stack:
        stack.enter_context(fleet.store.locked())
        plan, heads = _begun(ready, files, assignment, fleet)
        items = plan_items(
            files,
            per,
            # Rules read one object at a time, unless they look up others.
            parted=not ready.read.targets,
            size=plan.piece_size,
        )
        state = _RunState(fleet.store, plan, clusters_of(items), dict(heads), set())
        todo = [one for one in items if not state.has(one)]
        yield Progress(len(items) - len(todo), len(items))
        if todo:
            engine = stack.enter_context(fleet.engine)
            work = FleetWork(assignment, state.needs, state.following)
            evaluated = evaluated_items(engine, work, todo)
            for done, (item, outcome) in enumerate(evaluated, len(items) - len(todo) + 1):
                state.note(item, outcome)
                yield Progress(done, len(items) + len(state.joined))
        sizes = {name: size for name, (size, _) in plan.files.items()}
        pieces = settled(state.heads, sizes).pieces
        result_counts = counts_of(pieces, audit_warn=plan.audit_warn)
        count = sum(one.head.resources for one in pieces)
        kinds = {json.dumps(kind): kind for one in pieces for kind in one.head.objects}
        sample = Sample(tuple(kinds.values()), count)
        # Names in exceptions and values may refer to objects in any file: they are not checked.
        read = ready.read._replace(
            diagnostics=(*plan.before, *remarks_of(pieces), *plan.after),
            exceptions=ready.read.exceptions._replace(rules=()),
            values=None,
        )
        run = run_of(ready.compiled, ready.inputs, read, sample)
        diagnostics = run.diagnostics[len(read.diagnostics) :]
        policies = ready.compiled.policies.policies
        rules = (rule for policy in policies for rule in (*policy.plain, *policy.written))
        if any(rule.stage.phase is not Phase.VALIDATE for rule in rules):
            text = "objects that policies change or create are not part of partial reports"
            shown = Diagnostic("KV084", Severity.WARNING, f"{text}: only their results are")
            diagnostics = (*diagnostics, shown)
        end = RunEnd(plan.run, diagnostics, run.final_checks(count - result_counts.unmatched))
        some = state.heads.values()
        if (
            not fleet.per
            and len(state.clusters) > 1
            and any(one.asked or are_shared(one.objects) for one in some)
        ):
            text = "each file is treated as a separate cluster, so lookups do not see objects in"
            text += " other files: use --cluster-per to group files"
            apart = Diagnostic("KV083", Severity.WARNING, text)
            end = end._replace(remarks=(*end.remarks, apart))
        fleet.store.finish(end)


def _begun(
    ready: Ready, files: tuple[InputFile, ...], assignment: Assignment, fleet: Fleet
) -> tuple[RunPlan, Heads]:
    """Write the plan and return it, with the existing reports."""
    store = fleet.store
    older = store.plan()
    if not fleet.resume and store.is_used():
        text = "there already are partial reports: --resume continues them"
        raise FleetError(f"{store.folder}: {text}, another folder starts a new run")
    kept = older.piece_size if older else 0
    if kept and fleet.piece_size not in {0, kept}:
        text = f"its pieces are of {kept} bytes: omit --piece-size, or use another folder"
        raise FleetError(f"{store.folder}: {text}")
    run = run_of(ready.compiled, ready.inputs, ready.read, Sample((), 0))
    before = ready.read.before_resources
    plan = RunPlan(
        run=os.urandom(8).hex(),
        assignment=assignment.digest,
        everything=fleet.everything,
        audit_warn=ready.inputs.audit_warn,
        piece_size=fleet.piece_size or kept or PIECE_BYTES,
        rules=run.rule_count,
        exceptions=run.exception_count,
        before=ready.read.diagnostics[:before],
        after=ready.read.diagnostics[before:],
        left_out=ready.read.left_out,
        files={one.name: (one.size, one.stamp) for one in files},
        release=ready.inputs.release.name,
        deprecated=ready.read.deprecated,
    )
    heads = store.heads(plan)
    store.begin(plan)
    return plan, {key: head for key, head in heads.items() if not head.failed}


class _RunState(NamedTuple):
    store: ReportStore
    plan: RunPlan
    clusters: Mapping[str, tuple[InputFile, ...]]
    heads: dict[Key, Head]
    joined: set[str]
    """Clusters whose objects are needed all at once."""

    def has(self, item: WorkItem) -> bool:
        """Return whether there are reports on all of an item."""
        keys = ((one.name, item.first, item.last) for one in item.files)
        return all(
            (item.alone and key in self.heads) or (one.name, 0, one.size) in self.heads
            for key, one in zip(keys, item.files, strict=True)
        )

    def needs(self, item: WorkItem) -> bool:
        """Return whether an item must still be evaluated."""
        return not (item.alone and item.cluster in self.joined)

    def following(self, item: WorkItem, outcome: ItemOutcome) -> Iterator[WorkItem]:
        """Yield the cluster of an item whose rules read other objects, once."""
        if outcome.needs_others and item.cluster not in self.joined:
            self.joined.add(item.cluster)
            yield whole(item.cluster, self.clusters[item.cluster])

    def note(self, item: WorkItem, end: ItemOutcome | ItemFailure) -> None:
        """Store the outcome of an item."""
        partials = end.partials if isinstance(end, ItemOutcome) else self._failed(item, end)
        for one in partials if self.needs(item) else ():
            self.store.write(one)
            self.heads[one.head.key] = one.head

    def _failed(self, item: WorkItem, failure: ItemFailure) -> Iterator[Partial]:
        part = f"bytes {item.first} to {item.last}: " if item.alone else ""
        for file in item.files:
            problem = error_about(file.name, "KV081", f"{part}{failure.text}")
            head = item.head(file, self.plan.assignment)
            yield Partial(head._replace(remarks=(problem,), failed=True))
