"""Partial reports put together, whatever order they come in.

`merged` joins what several runs have, and is associative and commutative; `settled` says what of
it counts. Where pieces of a file were told twice, by one run or by two, they count once.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.fleet.errors import FleetError
from kyvsim.load.documents import empty_file
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.partial import Head, Key, Refusal

Heads: TypeAlias = Mapping[Key, Head]


class Settled(NamedTuple):
    """A piece that counts."""

    head: Head
    lines_before: int
    """Lines of the file before the piece; -1 where a piece before it is missing."""


class Gap(NamedTuple):
    """Bytes of a file of which there is no report."""

    file: str
    first: int
    last: int


class Merged(NamedTuple):
    """What counts, by file and position, and what is missing."""

    pieces: tuple[Settled, ...]
    gaps: tuple[Gap, ...]


def merged(*some: Heads) -> Heads:
    """Return all pieces of some; raise FleetError where they do not belong together."""
    found: dict[Key, Head] = {}
    stamps: dict[str, str] = {}
    for heads in some:
        for key, head in heads.items():
            _check(found, stamps, head)
            known = found.get(key)
            found[key] = min(known, head, key=_preference) if known else head
    return found


def _preference(head: Head) -> tuple[bool, str]:
    """Return what is smaller for the report that counts: one that could be made, and any other."""
    return head.failed, repr(head.remarks)


def _check(found: Mapping[Key, Head], stamps: dict[str, str], head: Head) -> None:
    other = next(iter(found.values()), head)
    if other.assignment != head.assignment:
        text = "are of other policies, options or versions: reports of one run go together"
        raise FleetError(f"the partial reports on {other.file} and {head.file} {text}")
    if stamps.setdefault(head.file, head.stamp) != head.stamp:
        text = "there are partial reports on two contents of this file"
        raise FleetError(f"{head.file}: {text}: evaluate it again with --resume")


def settled(heads: Heads, sizes: Mapping[str, int]) -> Merged:
    """Return what counts of some pieces of files of some sizes.

    A piece within a larger one does not. Of a file that is no text, only that is told; of one that
    ends early, nothing behind the end.
    """
    by_file: dict[str, list[Head]] = {name: [] for name in sorted(sizes)}
    for head in sorted(heads.values(), key=lambda one: (one.file, one.first, -one.last)):
        by_file.setdefault(head.file, []).append(head)
    pieces: list[Settled] = []
    gaps: list[Gap] = []
    for file, some in by_file.items():
        own, missing = _in_order(file, some, sizes.get(file, -1))
        refusal = next((one for one in own if one.head.refused), None)
        pieces += [refusal] if refusal else own
        gaps += missing
    return Merged(tuple(pieces), tuple(gaps))


def _in_order(file: str, heads: Iterable[Head], size: int) -> tuple[list[Settled], list[Gap]]:
    """Return the pieces of a file that count, and what is missing between and behind them."""
    found: list[Settled] = []
    gaps: list[Gap] = []
    end, lines = 0, 0
    for head in heads:
        if head.last <= end and (head.first, head.last) != (0, 0):
            continue
        if head.first < end:
            text = "pieces of it overlap: they were cut by two sizes"
            raise FleetError(f"{file}: {text}; give the same --piece-size, or another folder")
        if head.first > end:
            gaps.append(Gap(file, end, head.first))
            lines = -1
        found.append(Settled(head, lines))
        end = head.last
        if head.ended:
            return found, gaps
        lines = -1 if head.failed or lines < 0 else lines + head.lines
    if end < size or (size == 0 and not found):
        gaps.append(Gap(file, end, size))
    return found, gaps


def remarks_of(pieces: Iterable[Settled]) -> tuple[Diagnostic, ...]:
    """Return what is to be said of the files, in the order in which one process says it."""
    some = tuple(pieces)
    said = [_moved(piece, one) for piece in some for one in piece.head.remarks]
    said += [empty_file(file) for file in _empty_files(some)]
    return (*said, *(_moved(piece, one) for piece in some for one in piece.head.problems))


def refusals_of(pieces: Iterable[Settled]) -> Iterator[Refusal]:
    """Yield why an API server refuses objects, with the places in the files."""
    for piece in pieces:
        for one in piece.head.refusals:
            place = one.location
            line, column = moved(piece, place.line, place.column)
            yield one._replace(location=place._replace(line=line, column=column))


def _empty_files(pieces: Iterable[Settled]) -> list[str]:
    """Return the files in which there is no document."""
    filled: dict[str, bool] = {}
    for head, _ in pieces:
        has_some = bool(head.objects or head.remarks or head.problems)
        filled[head.file] = filled.get(head.file, False) or has_some
    return [file for file, has_some in filled.items() if not has_some]


def _moved(piece: Settled, remark: Diagnostic) -> Diagnostic:
    """Return a remark on a piece as one on its file."""
    place = remark.location
    if place is None or not place.line or place.file != piece.head.file:
        return remark
    line, column = moved(piece, place.line, place.column)
    return remark._replace(location=place._replace(line=line, column=column))


def moved(piece: Settled, line: int, column: int) -> tuple[int, int]:
    """Return line and column in the file of a place in a piece; 0 where nobody can tell."""
    known = piece.lines_before >= 0 and line > 0
    return (line + piece.lines_before, column) if known else (0, 0)
