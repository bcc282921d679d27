"""Work on many items by this process and copies of it.

A pool of `concurrent.futures` takes as long to load and to start as ten manifests take, and its
first process only hands work out. Here that process works too, and nobody hands anything out: the
numbers of pieces wait in a pipe from which each process takes the next, so whoever is killed holds
nobody up. What a copy has done comes back through a pipe of its own.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress

from kyvsim.api.forked import Lifeline, begin_copy, can_fork, lifeline
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.light.threads import has_one_thread
from kyvsim.light.typed import Any, NoReturn, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_NUMBER = 4
"""Bytes of a number in a pipe."""
_HEAD = 2 * _NUMBER
"""Bytes before what has become of a piece: the number of that, and how many bytes follow."""
_MOST_PIECES = 1000
"""The numbers of so many pieces find room in a pipe, of which none has less than 4096 bytes."""
_READ = 1 << 16


def can_copy() -> bool:
    """Return whether copies of this process can go on with its work: no other thread does."""
    return can_fork() and has_one_thread()


def each_in_copies(
    work: Callable[[_Item], _Result], items: Sequence[_Item], jobs: int
) -> Iterator[_Result]:
    """Yield what `work` makes of each item, in their order, by this process and `jobs` - 1 copies.

    What comes of an item has to be fit for `pickle`. What a copy was at when it was killed, or
    when `work` raised there, is done here, and raises here.
    """
    size = -(-len(items) // _MOST_PIECES)
    pieces = [items[at : at + size] for at in range(0, len(items), size)]
    with ExitStack() as stack:
        turns = _turns(len(pieces), stack)
        share = _Share(work, pieces, turns, stack.enter_context(lifeline()))
        copies = _copies(jobs - 1, share, stack)
        done: dict[int, list[_Result]] = {}
        for number in range(len(pieces)):
            while number not in done:
                done.update(_more(number, share, copies))
            yield from done.pop(number)


def _more(number: int, share: "_Share", copies: list["_Copy"]) -> dict[int, list[Any]]:
    """Return what has become of some pieces: of this one at the latest when nobody is at any."""
    own = _turn(share.turns)
    if own is None and copies:
        return copies.pop().done(wait=True)
    found = share.done(number if own is None else own)
    for copy in copies:
        found.update(copy.done())
    return found


class _Share(NamedTuple):
    """What copies inherit."""

    work: Callable[[Any], Any]
    pieces: Sequence[Sequence[Any]]
    turns: int
    """The descriptor of the pipe in which the numbers of pieces wait."""
    line: Lifeline

    def done(self, number: int) -> dict[int, list[Any]]:
        """Do a piece here; return what has become of it, by its number."""
        return {number: [*map(self.work, self.pieces[number])]}


class _Copy:
    """A copy of this process, and what it has done and nobody has read yet."""

    def __init__(self, process: int, reading: int) -> None:
        self._process = process
        self._reading = reading
        self._bytes = b""

    def done(self, *, wait: bool = False) -> dict[int, list[Any]]:
        """Return what has come since of pieces, by their numbers; wait for all to come if asked."""
        from pickle import loads  # noqa: PLC0415 — slow, for many items only

        os.set_blocking(self._reading, wait)
        with suppress(BlockingIOError):
            while some := os.read(self._reading, _READ):
                self._bytes += some
        found: dict[int, list[Any]] = {}
        while len(self._bytes) >= _HEAD:
            end = _HEAD + _number(self._bytes[_NUMBER:_HEAD])
            if len(self._bytes) < end:
                break
            done = loads(self._bytes[_HEAD:end])  # noqa: S301 — a copy of this process wrote it
            found[_number(self._bytes[:_NUMBER])] = done
            self._bytes = self._bytes[end:]
        return found

    def end(self) -> None:
        """End the copy, whatever it is at, and wait until it has."""
        os.close(self._reading)
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with suppress(ChildProcessError):  # where nobody waits for processes, none is kept
            os.waitpid(self._process, 0)


def _copies(count: int, share: _Share, stack: ExitStack) -> list[_Copy]:
    """Begin copies that work; fewer where the system grants no more."""
    copies: list[_Copy] = []
    with suppress(OSError):
        for _ in range(min(count, len(share.pieces) - 1)):
            reading, writing = os.pipe()
            process = os.fork()
            if not process:
                _be_copy(share, writing)
            os.close(writing)
            copies.append(_Copy(process, reading))
            stack.callback(copies[-1].end)
    return copies


def _be_copy(share: _Share, writing: int) -> NoReturn:
    """Take turns until none is left, and end; where anything goes wrong, too."""
    try:
        from pickle import dumps  # noqa: PLC0415 — slow, for many items only

        begin_copy(share.line)
        while (number := _turn(share.turns)) is not None:
            done = dumps(share.done(number)[number], -1)
            _write(writing, _bytes(number) + _bytes(len(done)) + done)
    finally:
        os._exit(0)


def _turns(count: int, stack: ExitStack) -> int:
    """Return the descriptor of a pipe in which the numbers of so many pieces wait."""
    reading, writing = os.pipe()
    stack.callback(os.close, reading)
    _write(writing, b"".join(map(_bytes, range(count))))
    os.close(writing)
    return reading


def _turn(turns: int) -> int | None:
    """Return the number of the next piece that nobody has taken; None where all are."""
    taken = os.read(turns, _NUMBER)
    return _number(taken) if taken else None


def _bytes(number: int) -> bytes:
    return number.to_bytes(_NUMBER, "big")


def _number(text: bytes) -> int:
    return int.from_bytes(text, "big")


def _write(writing: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(writing, rest) :]
