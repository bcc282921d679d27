"""Work on many items by several processes, in the order of the items."""

from collections.abc import Callable, Iterator, Sequence

from kyvsim.api.copies import can_copy, each_in_copies
from kyvsim.light.typed import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def each_in_processes(
    work: Callable[[_Item], _Result],
    items: Sequence[_Item],
    jobs: int,
    *,
    chunk: int = 1,
    first: int = 0,
) -> Iterator[_Result]:
    """Yield what `work` makes of each item, in their order, whatever the number of processes.

    With one process, or one item, all is done here. So many `first` items are done here in any
    case: what they load all processes have that begin as copies of this one. Where it may not be
    copied, a pool is given up to `chunk` items at once, and they cross processes as `work` does.
    Where a process is killed, what is left is done here, too.
    """
    if jobs == 1 or len(items) < first + 2:
        yield from map(work, items)
        return
    yield from map(work, items[:first])
    items = items[first:]
    if can_copy():
        yield from each_in_copies(work, items, jobs)
        return
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 — slow, for many items

    from kyvsim.api.workers import workers  # noqa: PLC0415 — likewise

    done = 0
    try:
        with workers(min(jobs, len(items))) as pool:
            for one in pool.map(work, items, chunksize=chunk):
                yield one
                done += 1
    except BrokenProcessPool:
        yield from map(work, items[done:])
