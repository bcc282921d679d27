"""Engines that evaluate items: this process, several processes, or the workers of a scheduler.

Each is a `concurrent.futures.Executor` with further properties: how many items to submit at
once, and which errors mean that one worker, or all of them, were lost.
"""

import gc
import logging
import multiprocessing  # noqa: TID253 — all of the module needs it
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor  # noqa: TID253 — as above
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from kyvsim.api.process_pool import ProcessLostError, ProcessPool
from kyvsim.fleet import FleetError

AHEAD: Final = 2
"""Submitted items for each worker: a running one and a queued one."""


class Engine(NamedTuple):
    """A way to evaluate items."""

    begin: Callable[[int], Executor]
    """Returns an executor with at most so many workers; called again if one has broken."""
    width: Callable[[], int]
    """How many items should be submitted now; 0 if there is no worker."""
    lost: tuple[type[BaseException], ...] = ()
    """Errors that mean that the worker of an item was lost."""
    breaks: bool = False
    """Whether a lost worker breaks the executor, and all submitted items are lost."""
    is_there: Callable[[], bool] = lambda: True
    close: Callable[[Executor], None] = lambda executor: executor.shutdown(
        wait=False, cancel_futures=True
    )
    """Shuts an executor down; queued items are dropped."""
    name: str = "this process"


@contextmanager
def here() -> Iterator[Engine]:
    """Yield an engine for this process: one item at a time."""
    yield Engine(lambda _: ThreadPoolExecutor(1), lambda: 1)


@contextmanager
def processes(jobs: int) -> Iterator[Engine]:
    """Yield an engine for several local processes.

    They are spawned, not forked: libraries of storages have threads, which do not survive forks.
    """
    context = multiprocessing.get_context("spawn")
    yield Engine(
        begin=lambda most: ProcessPool(min(jobs, most), _begin, context),
        width=lambda: jobs * AHEAD,
        lost=(ProcessLostError,),
        breaks=True,
        close=lambda executor: executor.shutdown(),
        name=f"{jobs} processes of this machine",
    )


def _begin() -> None:
    """Initialise a process like those of one command, with the program's settings for memory."""
    gc.set_threshold(100_000, 20, 100)  # as in the program itself: reference cycles are rare


_PATIENCE: Final = 10  # seconds


@contextmanager
def dask(address: str) -> Iterator[Engine]:
    """Yield an engine for the workers of a scheduler; raises FleetError if there is none."""
    try:
        import distributed
    except ImportError:
        text = "--engine dask needs the package distributed: pip install 'kyvsim[dask]'"
        raise FleetError(text) from None
    # Their errors are reported here, once.
    for name in ("distributed", "distributed.client", "distributed.core", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other versions on workers, which usually work
        try:
            client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
        # On timeout while connecting, the client may fail an assertion about its own state.
        except (OSError, ValueError, TypeError, AssertionError) as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            text = f"--scheduler {address}: no scheduler responds there: {reason}"
            raise FleetError(text) from None
        try:
            yield _engine(client, address, distributed.KilledWorker)
        finally:
            client.close(timeout=1)


def _engine(client: Any, address: str, killed: type[BaseException]) -> Engine:
    def begin(most: int) -> Executor:
        del most  # the scheduler knows what its workers can do
        # Each attempt is a separate task.
        executor: Executor = client.get_executor(pure=False)
        return executor

    def width() -> int:
        try:
            threads: int = sum(client.nthreads().values())
            return AHEAD * threads
        except (OSError, ValueError, RuntimeError):
            return 0  # it does not respond: the caller checks the status

    return Engine(
        begin=begin,
        width=width,
        lost=(killed,),
        close=lambda executor: executor.shutdown(wait=False),
        is_there=lambda: client.status == "running",
        name=f"the scheduler at {address}",
    )
