"""Parts told by several processes, which are forked when the policies are compiled.

Each writes what it tells of a part to a file without a name, so that nothing stays behind whichever
process is killed.
"""

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from contextvars import ContextVar
from threading import Thread

from kyvsim.api.apply_parts import Part, PartWork, TellPart, compile_tell_part
from kyvsim.api.part_text import PartText
from kyvsim.api.workers import ended
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.light.typed import IO
from kyvsim.report.run import Unparted


class _Inherited(NamedTuple):
    """What the processes inherit."""

    work: PartWork
    parts: Sequence[Part]
    texts: Sequence[PartText]
    """Where each part is told."""
    lifeline: tuple[IO[bytes], IO[bytes]]
    """A pipe of which the first process alone holds the end for writing: it ends with that."""


class _Own(NamedTuple):
    """What a process has for all parts that it tells."""

    tell_part: TellPart
    parts: Sequence[Part]
    texts: Sequence[PartText]


_OWN: ContextVar[_Own] = ContextVar("own")


def can_fork() -> bool:
    """Return whether processes can inherit what this one has; on macOS that is not safe."""
    return "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def told_by_processes(
    work: PartWork, parts: Sequence[Part], texts: Sequence[PartText], jobs: int
) -> Iterator[int]:
    """Have `jobs` processes tell parts; yield the number of each that is done, as they come.

    Raises Unparted, also where a process is lost, and OSError where the system grants none.
    """
    context = multiprocessing.get_context("fork")
    with ExitStack() as stack:
        reading, writing = os.pipe()
        lifeline = (
            stack.enter_context(open(reading, "rb", buffering=0)),
            stack.enter_context(open(writing, "wb", buffering=0)),
        )
        inherited = _Inherited(work, parts, texts, lifeline)
        pool = ProcessPoolExecutor(min(jobs, len(parts)), context, _begin, (inherited,))
        # Only the pool's own thread may cancel: it stumbles over what is cancelled under its hands.
        stack.enter_context(ended(pool))
        try:
            futures: dict[Future[None], int] = {
                pool.submit(_do, number): number for number in range(len(parts))
            }
            for one in as_completed(futures):
                one.result()
                yield futures[one]
        except BrokenProcessPool as error:
            raise Unparted from error


def _begin(inherited: _Inherited) -> None:
    """Make a forked process ready."""
    gc.freeze()
    # An interrupt reaches all processes of a terminal: the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    inherited.lifeline[1].close()
    Thread(target=_end_with, args=(inherited.lifeline[0],), daemon=True).start()
    work, parts, texts, _ = inherited
    _OWN.set(_Own(compile_tell_part(work), parts, texts))


def _end_with(lifeline: IO[bytes]) -> None:
    """End this process with the one that began it."""
    lifeline.read(1)
    os._exit(1)


def _do(number: int) -> None:
    """Tell of a part, of those of a process one after the other as they are numbered.

    What is long goes to its file: a process killed midway blocks nobody.
    """
    tell_part, parts, texts = _OWN.get()
    text = texts[number]
    text.end(tell_part(parts[number], text))
