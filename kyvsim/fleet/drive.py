"""Items to outcomes by an engine, in the order in which they come about.

A worker that is lost loses nothing: its items are tried again. An item that is lost with every
worker that takes it up is given up, and the rest goes on; which one it was shows when it is alone.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from typing import Final, NamedTuple, TypeAlias

from kyvsim.fleet.assignment import Assignment
from kyvsim.fleet.engines import Engine
from kyvsim.fleet.errors import FleetError, OtherVersionError
from kyvsim.fleet.item import Item
from kyvsim.fleet.work import Outcome, evaluate

_GLANCE: Final = 0.5
"""Seconds between two looks at who is still there."""
_PATIENCE: Final = 60.0
"""Seconds to wait for a worker where there is none."""
_ATTEMPTS: Final = 2
"""How often an item may break executors while it is alone."""


class Failure(NamedTuple):
    """Why nothing can be told of an item."""

    text: str


class Lost(NamedTuple):
    """An item went with its worker, by its own fault or not."""


class FleetWork(NamedTuple):
    """What there is to do besides the items that are known."""

    assignment: Assignment
    is_needed: Callable[[Item], bool]
    """Whether an item is still to be worked on, when its turn comes."""
    following: Callable[[Item, Outcome], Iterable[Item]]
    """The items that follow on what became of one."""


_End: TypeAlias = Outcome | Failure | Lost


def carried_out(
    engine: Engine, work: FleetWork, items: Iterable[Item]
) -> Iterator[tuple[Item, Outcome | Failure]]:
    """Yield items, and those that follow on them, with what became of them.

    Raises FleetError where the engine is gone.
    """
    waiting = deque(items)
    while waiting:
        suspects: list[Item] = []
        for item, end in _attempt(engine, work, waiting):
            if isinstance(end, Lost):
                suspects.append(item)
                continue
            yield item, end
            waiting.extend(work.following(item, end) if isinstance(end, Outcome) else ())
        for item in filter(work.is_needed, suspects):
            alone = _alone(engine, work, item)
            yield item, alone
            waiting.extend(work.following(item, alone) if isinstance(alone, Outcome) else ())


def _alone(engine: Engine, work: FleetWork, item: Item) -> Outcome | Failure:
    """Return what becomes of an item while nothing else is under way."""
    for _ in range(_ATTEMPTS if engine.breaks else 1):
        for _, end in _attempt(engine, work, deque([item])):
            if not isinstance(end, Lost):
                return end
    return Failure("it ends every process that works on it")


def _attempt(engine: Engine, work: FleetWork, waiting: deque[Item]) -> Iterator[tuple[Item, _End]]:
    """Yield items with what became of them, until there is none or the executor breaks.

    Items may be added while it goes on; those that are left over have not been begun.
    """
    executor = engine.begin(max(len(waiting), 1))
    under_way: dict[Future[Outcome], Item] = {}
    broken = False
    manned = time.monotonic()
    try:
        while under_way or (waiting and not broken):
            width = engine.width()
            manned = _still_there(engine, width, manned)
            broken = broken or not _filled(executor, engine, work, (waiting, under_way, width))
            for future in _done(under_way, idle=bool(waiting) and not broken):
                item, end = under_way.pop(future), _end_of(future, engine)
                broken |= engine.breaks and isinstance(end, Lost)
                yield item, end
    finally:
        engine.close(executor)


def _filled(
    executor: Executor,
    engine: Engine,
    work: FleetWork,
    books: tuple[deque[Item], dict[Future[Outcome], Item], int],
) -> bool:
    """Give the executor as many items as it is to have; return False where it has broken."""
    waiting, under_way, width = books
    while waiting and len(under_way) < width:
        item = waiting.popleft()
        if not work.is_needed(item):
            continue
        try:
            under_way[executor.submit(evaluate, work.assignment, item)] = item
        except engine.lost:
            waiting.appendleft(item)
            return False
    return True


def _done(under_way: Mapping[Future[Outcome], Item], *, idle: bool) -> set[Future[Outcome]]:
    """Return what is done after a while; `idle` says that there is work which nobody can take."""
    if not under_way:
        time.sleep(_GLANCE if idle else 0)
    return wait(under_way, _GLANCE, FIRST_COMPLETED).done


def _still_there(engine: Engine, width: int, manned: float) -> float:
    """Return when there was a worker last; raise FleetError where nobody can be waited for."""
    if not engine.is_there():
        raise FleetError(_gone(engine))
    now = time.monotonic()
    if not width and now - manned > _PATIENCE:
        raise FleetError(f"{engine.name} has had no worker for {_PATIENCE:.0f} seconds")
    return now if width else manned


def _end_of(future: Future[Outcome], engine: Engine) -> _End:
    """Return what became of an item; raise FleetError where it concerns all of them."""
    if future.cancelled():
        raise FleetError(_gone(engine))
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, engine.lost):
        return Lost()
    if isinstance(error, CancelledError):
        raise FleetError(_gone(engine))
    told = " ".join(str(error).split())
    if isinstance(error, FleetError | OtherVersionError):
        raise FleetError(told)
    if isinstance(error, ImportError):
        raise FleetError(f"workers of {engine.name} have not what they need: {told}")
    return Failure(f"it cannot be evaluated: {type(error).__name__}: {told}".rstrip(": "))


def _gone(engine: Engine) -> str:
    return f"{engine.name} is gone"
