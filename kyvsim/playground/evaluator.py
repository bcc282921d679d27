"""A process that evaluates what is typed, for so long and with so much memory, and no longer.

It begins before it is asked, and is replaced where it was ended.
"""

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final, NamedTuple

from kyvsim.model.ports import fault_text
from kyvsim.playground.answers import Asked, answer
from kyvsim.playground.confined import confine
from kyvsim.playground.pages import PageUpdate

try:
    import resource
except ImportError:  # Windows has none
    _CAN_LIMIT = False
else:
    _CAN_LIMIT = True

SECONDS: Final = 10.0
"""How long an answer may take."""
_PATIENCE: Final = 60.0
"""How long a process may take to begin."""
_MEMORY: Final = 2 << 30
"""How many bytes a process may have, where the system can be told."""


class NoAnswerError(Exception):
    """There is no answer; the text says why."""


class _Worker(NamedTuple):
    process: BaseProcess
    connection: Connection


class Evaluator:
    """Answers one question at a time."""

    __slots__ = ("_is_ready", "_seconds", "_worker")

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._is_ready = False
        self._worker = _begun()

    def ask(self, asked: Asked) -> PageUpdate:
        """Return the answer; raises NoAnswerError."""
        connection = self._worker.connection
        try:
            if not self._is_ready:
                self._is_ready = connection.poll(_PATIENCE) and connection.recv()
            connection.send(asked)
            if not connection.poll(self._seconds):
                self._renew()
                text = f"this takes longer than {self._seconds:g} seconds: it was given up"
                raise NoAnswerError(text)
            found: PageUpdate | str = connection.recv()
        except (EOFError, OSError):
            self._renew()
            text = "evaluation broke off: it may need more memory than there is for it"
            raise NoAnswerError(text) from None
        if isinstance(found, str):
            raise NoAnswerError(found)
        return found

    def close(self) -> None:
        """End the process."""
        _end(self._worker)

    def _renew(self) -> None:
        _end(self._worker)
        self._is_ready = False
        self._worker = _begun()


@contextmanager
def evaluator(seconds: float = SECONDS) -> Iterator[Evaluator]:
    """Give what answers; its process does not outlive this."""
    made = Evaluator(seconds)
    try:
        yield made
    finally:
        made.close()


def _begun() -> _Worker:
    # A fresh interpreter: it has nothing of this one, no connections above all.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, sys.getrecursionlimit()), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _end(worker: _Worker) -> None:
    worker.connection.close()
    worker.process.kill()
    worker.process.join()


def _work(connection: Connection, calls: int) -> None:
    """Answer what comes, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setrecursionlimit(calls)
    _limit_memory()
    confine()
    with contextlib.suppress(EOFError, OSError):
        connection.send(True)
        while True:
            asked = connection.recv()
            connection.send(_answered(asked))


def _answered(asked: Asked) -> PageUpdate | str:
    try:
        return answer(asked)
    except Exception as error:  # noqa: BLE001 — INVARIANT: what is typed ends no process
        return fault_text(error)


def _limit_memory() -> None:
    if not _CAN_LIMIT:
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
