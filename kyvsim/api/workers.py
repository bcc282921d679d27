"""Processes that end with the work, and with the process that began them."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from threading import Thread


@contextmanager
def workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Give so many processes. None outlives the work, however that ends, nor this process."""
    others = {*multiprocessing.active_children()}
    pool = ProcessPoolExecutor(count, initializer=begin_worker)
    done = False
    try:
        yield pool
        done = True
    finally:
        # What was begun is not waited for where nobody reads it any more.
        for one in () if done else {*multiprocessing.active_children()} - others:
            one.terminate()
        pool.shutdown(cancel_futures=True)


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
