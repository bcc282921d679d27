"""What works on items: this process, processes of this machine, or the workers of a scheduler.

Each is a `concurrent.futures.Executor` with what must be known besides: how much to have under
way at once, and what it looks like when a worker is lost, or all of them.
"""

import gc
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from kyvsim.api.processes import active, begin_worker, kill_all_but

AHEAD: Final = 2
"""Items under way for each worker: one to work on, one to go on with."""


class Engine(NamedTuple):
    """A way to have items worked on."""

    begin: Callable[[int], Executor]
    """Returns an executor with at most so many workers, for instance after one has broken."""
    width: Callable[[], int]
    """How many items should be under way now; 0 while there is no worker."""
    lost: tuple[type[BaseException], ...] = ()
    """Errors that say that the worker on an item was lost."""
    breaks: bool = False
    """Whether all that is under way is lost with one worker, and the executor, too."""
    is_there: Callable[[], bool] = lambda: True
    """Whether it can still be asked for anything."""
    close: Callable[[Executor], None] = lambda executor: executor.shutdown(
        wait=False, cancel_futures=True
    )
    """Ends an executor; what is not begun is never begun."""
    name: str = "this process"
    """What messages call it."""


@contextmanager
def here() -> Iterator[Engine]:
    """Give this process as an engine: one item at a time."""
    yield Engine(lambda _: ThreadPoolExecutor(1), lambda: 1)


@contextmanager
def processes(jobs: int) -> Iterator[Engine]:
    """Give so many processes of this machine as an engine.

    They are begun anew, not forked: libraries of storages have threads, which forks do not survive.
    """
    context = multiprocessing.get_context("spawn")
    begin = partial(ProcessPoolExecutor, mp_context=context, initializer=_begin)
    others = active()

    def close(executor: Executor) -> None:
        # None has anything to do any more, unless the run was interrupted.
        kill_all_but(others)
        # The interpreter stumbles at its end over an executor that is ending beside it.
        executor.shutdown(cancel_futures=True)

    try:
        yield Engine(
            begin=lambda most: begin(min(jobs, most)),
            width=lambda: jobs * AHEAD,
            lost=(BrokenProcessPool,),
            breaks=True,
            close=close,
            name=f"{jobs} processes of this machine",
        )
    finally:
        kill_all_but(others)


def _begin() -> None:
    """Make a process ready, as those of one command are, with the program's own care for memory."""
    gc.set_threshold(100_000, 20, 100)  # as the program itself has it: cycles are few
    begin_worker()
