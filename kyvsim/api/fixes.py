"""`lint --fix`: what puts remarks right, made and tried file by file; nothing is written.

A fix is taken where the file, read once more, has the remark no longer and no other in its place.
"""

from bisect import bisect, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kyvsim.load.edits import NoEditError, edits_of, with_edits
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Edit

Check = Callable[[Source], tuple[Diagnostic, ...]]
"""Returns the remarks on one text."""


class FixedFile(NamedTuple):
    """A file of which something was put right."""

    source: Source
    text: str
    """What it should hold."""
    fixed: tuple[Diagnostic, ...]
    """What was put right, in the order in which it was done."""


def with_reported_edits(remark: Diagnostic, text: str) -> Diagnostic:
    """Return a remark whose fix tells its edits of a file's text; it has none where there are none.

    Edits of other remarks may meet them: who makes several checks the text after each.
    """
    if remark.fix is None:
        return remark
    try:
        edits = edits_of(text, remark.fix.changes)
    except NoEditError:
        return remark._replace(fix=None)
    return remark._replace(fix=remark.fix._replace(edits=edits))


def fixed_files(
    remarks: Iterable[Diagnostic], sources: Iterable[Source], check: Check
) -> Iterator[FixedFile]:
    """Yield each file among `sources` of which a remark can be put right, with all that can be."""
    fixable = {one.location.file for one in remarks if one.fix and one.location}
    for source in sources:
        if source.name in fixable:
            found = _fixed(source, check)
            if found.fixed:
                yield found


def _fixed(source: Source, check: Check) -> FixedFile:
    """Return a file with all that can be put right, of which as much as fits is done at once.

    What a check refuses together is tried in halves; what it refuses by itself is passed over, and
    tried again where something behind it was put right.
    """
    done: list[Diagnostic] = []
    now, said = source, check(source)
    passed, size, ahead = 0, len(said), 0
    while True:
        open_ones = [one for one in said if one.fix is not None][passed:]
        some = _side_by_side(open_ones[:size])
        if not some:
            if len(done) == ahead:
                return FixedFile(source, now.text, tuple(done))
            passed, size, ahead = 0, len(said), len(done)
            continue
        found = tried(some, now, said, check)
        if found is not None:
            done += some
            now, said = found
            size *= 2
        elif len(some) > 1:
            size = len(some) // 2
        else:
            passed += 1


def _side_by_side(remarks: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return those of some remarks that are fixed in places apart from the fixes before them."""
    found: list[Diagnostic] = []
    taken: list[Edit] = []
    for one in remarks:
        edits = _edits(one)
        if all(map(_are_apart, edits, edits[1:])) and all(
            _finds_room(each, taken) for each in edits
        ):
            found.append(one)
            for each in edits:
                insort(taken, each)
    return found


def _finds_room(edit: Edit, taken: Sequence[Edit]) -> bool:
    """Return whether an edit is apart from those that are taken, which are in their order."""
    place = bisect(taken, edit)
    around = (*taken[max(place - 1, 0) : place], edit, *taken[place : place + 1])
    return all(map(_are_apart, around, around[1:]))


def _are_apart(one: Edit, other: Edit) -> bool:
    end, start = (one.end_line, one.end_column), (other.line, other.column)
    return end <= start and (one.line, one.column) < start


def _edits(remark: Diagnostic) -> tuple[Edit, ...]:
    return remark.fix.edits if remark.fix else ()


def tried(
    remarks: Sequence[Diagnostic], source: Source, said: Iterable[Diagnostic], check: Check
) -> tuple[Source, tuple[Diagnostic, ...]] | None:
    """Return a text with the fixes of remarks, and what is said then; None where one fixes nothing.

    `said` is what `check` says of the text as it is.
    """
    edits = sorted(each for one in remarks for each in _edits(one))
    fixed = source._replace(text=with_edits(source.text, edits))
    then = check(fixed)
    before, gone, after = (Counter(one.code for one in some) for some in (said, remarks, then))
    return (fixed, then) if after <= before - gone else None
