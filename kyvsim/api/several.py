"""Work on many items by several processes, in the order of the items."""

from collections.abc import Callable, Iterator, Sequence

from kyvsim.light.typed import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def each_in_processes(
    work: Callable[[_Item], _Result], items: Sequence[_Item], jobs: int, chunk: int = 1
) -> Iterator[_Result]:
    """Yield what `work` makes of each item, in their order, whatever the number of processes.

    With one process, or one item, all is done here; `work` and items cross processes otherwise.
    Where one of these is killed, what is left is done here, too.
    """
    if jobs == 1 or len(items) < 2:
        yield from map(work, items)
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
