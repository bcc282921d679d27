"""Processes that end with the work, and with the process that began them."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from threading import Thread


@contextmanager
def workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Give so many processes. None outlives the work, however that ends, nor this process."""
    with ended(ProcessPoolExecutor(count, initializer=begin_worker)) as pool:
        yield pool


@contextmanager
def ended(pool: ProcessPoolExecutor) -> Iterator[ProcessPoolExecutor]:
    """Give a pool that has begun no process yet, and end all of them with the work.

    What they are still at is lost: nobody reads it any more.
    """
    others = active()
    try:
        yield pool
    finally:
        kill_all_but(others)
        pool.shutdown(cancel_futures=True)


def active() -> frozenset[BaseProcess]:
    """Return the processes of this one that have not ended."""
    return frozenset(multiprocessing.active_children())


def kill_all_but(others: frozenset[BaseProcess]) -> None:
    """End the processes of this one, except for some.

    A pool asks its processes to end, and they listen in turn: the one whose turn it is has a lock.
    If it was killed, or stopped, just then, the pool would wait for the others without end.
    """
    for one in active() - others:
        one.kill()


def begin_worker() -> None:
    """Make a process ready: it ends with the one that began it, and leaves interrupts to that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
