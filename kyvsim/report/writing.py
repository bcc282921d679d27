"""A document while it is written: what a format of `apply` makes of a run, response by response.

Several formats look at the same responses, which can be read once, so a format does not ask for
them: it is given each as it comes. Parts of a run can be told apart, in other processes, and put
together here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.model.result import EngineResponse
from kyvsim.report.run import Run, Tell, Telling, Told
from kyvsim.report.style import Look

Lists: TypeAlias = Mapping[str, Iterable[str]]
"""What follows on the responses, in lists by name."""


def _as_they_are(pieces: Iterable[str]) -> Iterable[str]:
    return pieces


def _nothing() -> str:
    return ""


class Writing(NamedTuple):
    """One document: its head, the text of each response, its tail; asked for in that order."""

    head: Callable[[], Iterable[str]]
    row: Callable[[EngineResponse], str]
    """Takes a response in; gives what the document says of it at its place, "" for nothing.

    Of a part of a run it raises Unparted where that depends on responses of other parts.
    """
    tail: Callable[[Lists], Iterable[str]]
    """What follows when all responses have been read, and the run has all its counts.

    It is given `lists`, or those of all parts of a run: of these the ones that have entries.
    """
    lists: Mapping[str, list[str]] = MappingProxyType({})
    """What a tail needs of the responses, by name: texts of one line, added while they are read."""
    lead: str = ""
    """What stands before the first text that is not empty."""
    skipped: int = 0
    """How many characters of that first text are left out: what stands between two of them."""
    joined: Callable[[Iterable[str]], Iterable[str]] = _as_they_are
    """Returns the text of all responses, of what parts of a run say of them, in order."""
    counted: Callable[[], str] = _nothing
    """Returns what a part says of the responses that it has only counted so far, for `joined`."""


Begin: TypeAlias = Callable[[Run, Look], Writing]
"""Begins a document. Nothing is read of the responses yet."""


def written(run: Run, writings: Sequence[Writing]) -> Iterator[tuple[int, str]]:
    """Yield the pieces of several documents as they come, each with the index of its document."""
    for index, one in enumerate(writings):
        for piece in one.head():
            yield index, piece
    begun = [False] * len(writings)
    texts = _put_together(run.told, writings) if run.told else _texts(run.responses, writings)
    for index, text in texts:
        if begun[index]:
            yield index, text
        elif text:
            begun[index] = True
            yield index, writings[index].lead + text[writings[index].skipped :]
    for index, one in enumerate(writings):
        for piece in one.tail(run.told.lists[index] if run.told else one.lists):
            yield index, piece


def _texts(
    responses: Iterable[EngineResponse], writings: Sequence[Writing]
) -> Iterator[tuple[int, str]]:
    """Yield what documents say of each response."""
    rows = [*enumerate(one.row for one in writings)]
    for response in responses:
        for index, row in rows:
            yield index, row(response)


def _put_together(told: Told, writings: Sequence[Writing]) -> Iterator[tuple[int, str]]:
    """Yield the same of responses that are told already."""
    for index, (pieces, one) in enumerate(zip(told.pieces, writings, strict=True)):
        for piece in one.joined(pieces):
            yield index, piece


def compile_tell(writings: Sequence[Writing]) -> Tell:
    """Return a function that gives what several documents say of the responses of a part."""
    lists = [one.lists for one in writings]

    def told(responses: Iterable[EngineResponse]) -> Iterator[tuple[int, str]]:
        yield from _texts(responses, writings)
        for index, one in enumerate(writings):
            yield index, one.counted()

    return lambda responses: Telling(told(responses), lists)


def render(begin: Begin, run: Run, look: Look) -> Iterator[str]:
    """Yield one document as a whole, a piece at a time."""
    for _, piece in written(run, (begin(run, look),)):
        yield piece
