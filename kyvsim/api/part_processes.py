"""Parts told by several processes, which are forked when the policies are compiled.

Each writes what it tells of a part to a file without a name, so that nothing stays behind whichever
process is killed.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextvars import ContextVar
from typing import NamedTuple

from kyvsim.api.apply_parts import Part, PartWork, RenderPart, compile_render_part
from kyvsim.api.part_text import PartText
from kyvsim.api.processes import process_pool
from kyvsim.report.run import NotStreamable


class _Own(NamedTuple):
    """What a process has for all parts that it tells."""

    render_part: RenderPart
    parts: Sequence[Part]
    texts: Sequence[PartText]


_OWN: ContextVar[_Own] = ContextVar("own")


def rendered_by_processes(
    work: PartWork, parts: Sequence[Part], texts: Sequence[PartText], jobs: int
) -> Iterator[int]:
    """Have `jobs` processes tell parts; yield the number of each that is done, as they come.

    Raises NotStreamable, also where a process is lost, and OSError where the system grants none.
    """
    with process_pool(min(jobs, len(parts)), _begin, (work, parts, texts)) as pool:
        try:
            futures: dict[Future[None], int] = {
                pool.submit(_do, number): number for number in range(len(parts))
            }
            for one in as_completed(futures):
                one.result()
                yield futures[one]
        except BrokenProcessPool as error:
            raise NotStreamable from error


def _begin(work: PartWork, parts: Sequence[Part], texts: Sequence[PartText]) -> None:
    """Make a forked process ready."""
    _OWN.set(_Own(compile_render_part(work), parts, texts))


def _do(number: int) -> None:
    """Tell of a part, of those of a process one after the other as they are numbered.

    What is long goes to its file: a process killed midway blocks nobody.
    """
    render_part, parts, texts = _OWN.get()
    text = texts[number]
    text.end(render_part(parts[number], text))
