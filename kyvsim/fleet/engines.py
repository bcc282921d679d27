"""What works on items: this process, processes of this machine, or the workers of a scheduler.

Each is a `concurrent.futures.Executor` with what must be known besides: how much to have under
way at once, and what it looks like when a worker is lost, or all of them.
"""

import gc
import logging
import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from kyvsim.api.processes import active, begin_worker, kill_all_but
from kyvsim.fleet import FleetError

AHEAD: Final = 2
"""Items under way for each worker: one to work on, one to go on with."""


class Engine(NamedTuple):
    """A way to have items worked on."""

    begin: Callable[[int], Executor]
    """Returns an executor with at most so many workers, for instance after one has broken."""
    width: Callable[[], int]
    """How many items should be under way now; 0 while there is no worker."""
    lost: tuple[type[BaseException], ...] = ()
    """Errors that mean that the worker of an item was lost."""
    breaks: bool = False
    """Whether all that is under way is lost with one worker, and the executor, too."""
    is_there: Callable[[], bool] = lambda: True
    close: Callable[[Executor], None] = lambda executor: executor.shutdown(
        wait=False, cancel_futures=True
    )
    """Shuts an executor down; queued items are dropped."""
    name: str = "this process"


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


_PATIENCE: Final = 10  # seconds


@contextmanager
def dask(address: str) -> Iterator[Engine]:
    """Give the workers of the scheduler at an address; raises FleetError where there is none."""
    try:
        import distributed
        from distributed.scheduler import KilledWorker
    except ImportError:
        text = "--engine dask needs the package distributed: pip install 'kyvsim[dask]'"
        raise FleetError(text) from None
    # Their errors are reported here, once.
    for name in ("distributed", "distributed.client", "distributed.core", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions on workers, as long as they understand
        try:
            client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
        # Where its time is up while it tries, the client may find its own state asserted away.
        except (OSError, ValueError, TypeError, AssertionError) as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            text = f"--scheduler {address}: no scheduler responds there: {reason}"
            raise FleetError(text) from None
        try:
            yield _engine(client, address, KilledWorker)
        finally:
            client.close(timeout=1)


def _engine(client: Any, address: str, killed: type[BaseException]) -> Engine:
    def begin(most: int) -> Executor:
        del most  # the scheduler knows what its workers can do
        # Each attempt is a task of its own.
        executor: Executor = client.get_executor(pure=False)
        return executor

    def width() -> int:
        try:
            threads: int = sum(client.nthreads().values())
            return AHEAD * threads
        except (OSError, ValueError, RuntimeError):
            return 0  # it does not answer: whoever waits for it sees it go

    return Engine(
        begin=begin,
        width=width,
        lost=(killed,),
        close=lambda executor: executor.shutdown(wait=False),
        is_there=lambda: client.status == "running",
        name=f"the scheduler at {address}",
    )
