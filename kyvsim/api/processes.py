"""Parallel work with `concurrent.futures`: the only module that starts processes.

Processes are forked if that is safe, so that they inherit compiled policies. They end with the work
and with the process that started them.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from kyvsim.api.system import processors

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.process import BaseProcess

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_MOST_CHUNKS = 1000
"""With more chunks, the overhead is larger than the gain from an even distribution."""


class ProcessLostError(Exception):
    """A process of a pool was killed, so the pool accepts no more work."""


def can_fork() -> bool:
    """Return whether processes can inherit the state of this one; not on macOS."""
    return hasattr(os, "fork") and sys.platform != "darwin"


@contextmanager
def process_pool(
    count: int, initializer: Callable[..., None] | None = None, arguments: tuple[object, ...] = ()
) -> "Iterator[ProcessPoolExecutor]":
    """Provide a pool of `count` processes, each of which calls `initializer` first.

    All processes end with the block, which ends with ProcessLostError if one was killed.
    """
    import multiprocessing
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    others = active()
    context = multiprocessing.get_context("fork") if can_fork() else None
    pool = ProcessPoolExecutor(count, context, _start, (initializer, arguments))
    try:
        yield pool
    except BrokenProcessPool as error:
        raise ProcessLostError("a process was lost") from error
    finally:
        kill_all_but(others)
        pool.shutdown(cancel_futures=True)


def shared_by_processes(
    work: Callable[[_Item], _Result], items: Sequence[_Item], jobs: int, *, few: int, first: int
) -> Iterator[_Result]:
    """Yield the results of `work` for the items, in their order, by `jobs` processes.

    0 is one process per processor, or this one for up to `few` items. It also does the `first`
    items: processes inherit what these load.
    """
    if jobs == 1 or (jobs == 0 and len(items) <= few):
        return map(work, items)
    return each_in_processes(
        work, items, (jobs or processors()) if can_fork() else 1, chunk=1, first=first
    )


def each_in_processes(
    work: Callable[[_Item], _Result],
    items: Sequence[_Item],
    jobs: int,
    *,
    chunk: int = 1,
    first: int = 0,
) -> Iterator[_Result]:
    """Yield the results of `work` for the items, in their order.

    With one process or item, and for the `first` items, the work is done here: forked processes
    inherit what is loaded. If a process is killed or cannot be started, the rest is done here.
    """
    yield from map(work, items[:first])
    items = items[first:]
    done = 0
    if jobs > 1 and len(items) > 1:
        size = max(chunk, -(-len(items) // _MOST_CHUNKS))
        starts = range(0, len(items), size)
        try:
            with process_pool(min(jobs, len(starts)), _begin, (work, items)) as pool:
                for results in pool.map(_results, starts, [size] * len(starts)):
                    yield from results
                    done += len(results)
        except (ProcessLostError, OSError):
            pass
    yield from map(work, items[done:])


_TASK: ContextVar[tuple[Callable[[Any], Any], Sequence[Any]]] = ContextVar("task")


def _begin(work: Callable[[Any], Any], items: Sequence[object]) -> None:
    _TASK.set((work, items))


def _results(start: int, size: int) -> list[Any]:
    work, items = _TASK.get()
    return [*map(work, items[start : start + size])]


def active() -> "frozenset[BaseProcess]":
    """Return the child processes that have not ended."""
    import multiprocessing

    return frozenset(multiprocessing.active_children())


def kill_all_but(others: "frozenset[BaseProcess]") -> None:
    """Kill the child processes, except for some.

    `ProcessPoolExecutor.shutdown` alone would wait forever for processes that stopped reading its
    queue because one was killed while it held the lock.
    """
    for process in active() - others:
        process.kill()


def begin_worker() -> None:
    """Make a process end with its parent, which alone handles interrupts."""
    from multiprocessing import connection, parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def end_with_parent() -> None:
        connection.wait([sentinel])
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _start(initializer: Callable[..., None] | None, arguments: tuple[object, ...]) -> None:
    begin_worker()
    if initializer is not None:
        initializer(*arguments)
