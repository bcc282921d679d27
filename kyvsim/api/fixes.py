"""`lint --fix`: what puts remarks right, made and tried file by file; nothing is written.

A fix is taken where the file, read once more, has the remark no longer and no other in its place.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from kyvsim.light.named_tuple import NamedTuple
from kyvsim.load.edits import NoEditError, edits_of, with_edits
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic

Check = Callable[[Source], tuple[Diagnostic, ...]]
"""Returns the remarks on one text."""


class FixedFile(NamedTuple):
    """A file of which something was put right."""

    source: Source
    text: str
    """What it should hold."""
    fixed: tuple[Diagnostic, ...]
    """What was put right, in the order in which it was done."""


def with_edits_told(remark: Diagnostic, text: str) -> Diagnostic:
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
    text = source.text
    done: list[Diagnostic] = []
    said = check(source)
    while step := _step(source._replace(text=text), said, check):
        one, text, said = step
        done.append(one)
    return FixedFile(source, text, tuple(done))


def _step(
    source: Source, said: tuple[Diagnostic, ...], check: Check
) -> tuple[Diagnostic, str, tuple[Diagnostic, ...]] | None:
    """Return the first remark that can be put right, the text after it, and what is said then."""
    for one in said:
        found = tried(one, source, said, check)
        if found is not None:
            return one, *found
    return None


def tried(
    remark: Diagnostic, source: Source, said: Iterable[Diagnostic], check: Check
) -> tuple[str, tuple[Diagnostic, ...]] | None:
    """Return a text with the fix of a remark, and what is said then; None where it fixes nothing.

    `said` is what `check` says of the text as it is.
    """
    if remark.fix is None:
        return None
    text = with_edits(source.text, remark.fix.edits)
    then = check(source._replace(text=text))
    before, after = (Counter(one.code for one in some) for some in (said, then))
    return (text, then) if after <= before and after[remark.code] < before[remark.code] else None
