"""Parts told by several processes, which are forked when the policies are compiled.

Each writes what it tells of a part to a file without a name, so that nothing stays behind whichever
process is killed.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from contextvars import ContextVar

from kyvsim.api.apply_parts import Part, PartWork, TellPart, compile_tell_part
from kyvsim.api.forked import Lifeline, begin_copy, lifeline
from kyvsim.api.part_text import PartText
from kyvsim.api.workers import ended
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.report.run import Unparted


class _Inherited(NamedTuple):
    """What the processes inherit."""

    work: PartWork
    parts: Sequence[Part]
    texts: Sequence[PartText]
    """Where each part is told."""
    line: Lifeline


class _Own(NamedTuple):
    """What a process has for all parts that it tells."""

    tell_part: TellPart
    parts: Sequence[Part]
    texts: Sequence[PartText]


_OWN: ContextVar[_Own] = ContextVar("own")


def told_by_processes(
    work: PartWork, parts: Sequence[Part], texts: Sequence[PartText], jobs: int
) -> Iterator[int]:
    """Have `jobs` processes tell parts; yield the number of each that is done, as they come.

    Raises Unparted, also where a process is lost, and OSError where the system grants none.
    """
    context = multiprocessing.get_context("fork")
    with ExitStack() as stack:
        inherited = _Inherited(work, parts, texts, stack.enter_context(lifeline()))
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
    begin_copy(inherited.line)
    work, parts, texts, _ = inherited
    _OWN.set(_Own(compile_tell_part(work), parts, texts))


def _do(number: int) -> None:
    """Tell of a part, of those of a process one after the other as they are numbered.

    What is long goes to its file: a process killed midway blocks nobody.
    """
    tell_part, parts, texts = _OWN.get()
    text = texts[number]
    text.end(tell_part(parts[number], text))
