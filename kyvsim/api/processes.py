"""The same work for many items, by several processes if there are enough of them."""

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from kyvsim.api.system import can_fork, processors

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_MOST_CHUNKS = 1000
"""With more chunks, the overhead is larger than the gain from an even distribution."""


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
        from kyvsim.api.process_pool import (  # noqa: PLC0415 — only if there is enough work
            ProcessLostError,
            ProcessPool,
        )

        size = max(chunk, -(-len(items) // _MOST_CHUNKS))
        starts = range(0, len(items), size)
        try:
            with ProcessPool(min(jobs, len(starts)), partial(_begin, work, items)) as pool:
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
