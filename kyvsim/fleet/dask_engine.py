"""The workers of a dask scheduler as an engine."""

import logging
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, Final

from kyvsim.fleet.engines import AHEAD, Engine
from kyvsim.fleet.errors import FleetError

_PATIENCE: Final = 10
"""Seconds to wait for a scheduler's answer."""


@contextmanager
def dask(address: str) -> Iterator[Engine]:
    """Give the workers of the scheduler at an address; raises FleetError where there is none."""
    try:
        import distributed
        from distributed.scheduler import KilledWorker
    except ImportError:
        text = "--engine dask needs the package distributed: pip install 'kyvsim[dask]'"
        raise FleetError(text) from None
    # What they have to say is said here, once, in our words.
    for name in ("distributed", "distributed.client", "distributed.core", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions on workers, as long as they understand
        try:
            client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
        # Where its time is up while it tries, the client may find its own state asserted away.
        except (OSError, ValueError, TypeError, AssertionError) as error:
            text = f"--scheduler {address}: no scheduler answers there: {_reason(error)}"
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


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
