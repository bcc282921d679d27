"""What processes that are copies of another have in common: they are forked, and end with it."""

import gc
import os
import signal
import sys
from _thread import start_new_thread
from collections.abc import Iterator
from contextlib import contextmanager

from kyvsim.light.named_tuple import NamedTuple


class Lifeline(NamedTuple):
    """A pipe of which the first process alone holds the end for writing: copies end with that."""

    reading: int
    writing: int
    """The descriptors of both ends."""


@contextmanager
def lifeline() -> Iterator[Lifeline]:
    """Give a lifeline for copies of this process that are forked until it is taken back."""
    line = Lifeline(*os.pipe())
    try:
        yield line
    finally:
        os.close(line.reading)
        os.close(line.writing)


def can_fork() -> bool:
    """Return whether processes can inherit what this one has; on macOS that is not safe."""
    return hasattr(os, "fork") and sys.platform != "darwin"


def begin_copy(line: Lifeline) -> None:
    """Make a process ready that has just been forked: it ends with the one that it is a copy of."""
    gc.freeze()
    # An interrupt reaches all processes of a terminal: the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.close(line.writing)
    # One that `threading` does not know of: it only waits, and is in nobody's way.
    start_new_thread(_end_with, (line.reading,))


def _end_with(reading: int) -> None:
    os.read(reading, 1)
    os._exit(1)
