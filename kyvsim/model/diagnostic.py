"""Diagnostics of input files, what would fix what they are about, and lists of names in them.

Codes: KV028 left out of a folder: what it is.
"""

from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import NamedTuple

from kyvsim.kubernetes.objects import Path
from kyvsim.model.source import Document, Location

# What would put right what a remark is about: changes of a document, by the places in it.


class ChangeKind(StrEnum):
    """What a change does."""

    VALUE = "value"
    """Gives an entry of a map another scalar as its value; quotes stay."""
    KEY = "key"
    ENTRY = "entry"
    """Puts a text in place of an entry, key and value."""
    REMOVE = "remove"
    ADD = "add"
    """Puts a text before the first entry of the map that is the value of an entry."""
    ITEM = "item"
    """Makes the map that is the value of an entry the only item of a list in it."""


class TextChange(NamedTuple):
    """One change of the text of a file."""

    way: ChangeKind
    place: Location
    key: str
    """The key; "" for the root of a document, whose place is that of its first key."""
    text: str = ""
    """What is written, in lines that begin at the first column; the key of the list for ITEM."""


class Edit(NamedTuple):
    """A part of a text, and what takes its place; lines and columns count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int
    """The column after the last character of the part."""
    text: str


class Fix(NamedTuple):
    """Changes that are made together, and mean what was meant before."""

    title: str
    """What they do, as a short order: `use AnyIn`."""
    changes: tuple[TextChange, ...]
    edits: tuple[Edit, ...] = ()
    """The same as edits of the file, in its order; made by `lint`, () before."""


def change(document: Document, way: ChangeKind, path: Path, text: str = "") -> TextChange:
    """Return a change of the entry of a document to which a path leads."""
    key = str(path[-1]) if path else ""
    return TextChange(way, document.locate(path), key, text)


# Remarks about input files.
#
# Codes: KV028 left out of a folder: what it is.


class Severity(StrEnum):
    """How much a remark weighs: an error makes the exit status 2."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    """A note on what is probably right; --strict does not make an error of it."""


class Diagnostic(NamedTuple):
    """One remark about an input file, with a stable code such as `KV012`."""

    code: str
    severity: Severity
    message: str
    location: Location | None = None
    excerpt: tuple[str, ...] = ()
    """Lines that show the place inside a text of the file, with a mark below it."""
    fix: Fix | None = None
    """What puts it right without changing what the file means; None where nothing surely does."""
    folded: str = ""
    """What such remarks are about, such as `chart`, if a run reports one of them with their number;
    "" where each is reported."""

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.severity.value} {self.code}: {self.message}"


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether one of some diagnostics is an error."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def strictly(remarks: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return remarks with every warning made an error, as `--strict` asks."""
    return tuple(
        one._replace(severity=Severity.ERROR) if one.severity is Severity.WARNING else one
        for one in remarks
    )


_LEFT_OUT = "KV028"


def left_out(what: str, location: Location) -> Diagnostic:
    """Return that something in a folder was left out, because it is none of what is wanted."""
    return Diagnostic(_LEFT_OUT, Severity.INFO, what, location)


def without_left_out(
    said: Iterable[Diagnostic],
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """Return the diagnostics of what is wrong, and those of what was left out of folders.

    Of remarks that are folded the first is kept, with the number of the others.
    """
    kept: list[Diagnostic] = []
    aside: list[Diagnostic] = []
    for one in said:
        (aside if one.code == _LEFT_OUT else kept).append(one)
    numbers = Counter((one.code, one.folded) for one in kept if one.folded)
    found: list[Diagnostic] = []
    for one in kept:
        number = numbers.pop((one.code, one.folded), 0) if one.folded else 1
        if number > 1:
            more = f"{number - 1} more {one.folded}{'s' if number > 2 else ''}"
            found.append(one._replace(message=f"{one.message} (and {more})"))
        elif number:
            found.append(one)
    return tuple(found), tuple(aside)


# How remarks write lists of names, and names that are not there.


_MOST = 5


def listed(names: Iterable[str], most: int = _MOST) -> str:
    """Return names in backticks, each once and in order, no more than a few of them."""
    known = sorted(set(names))
    shown = ", ".join(f"`{name}`" for name in known[:most])
    return f"{shown} and {len(known) - most} more" if len(known) > most else shown


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the known name that is most like a word, whatever its case, or "" where none is.

    `likeness` is how like it must be, from 0 to 1.
    """
    spelled = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), spelled, n=1, cutoff=likeness)
    return spelled[near[0]] if near else ""


def likely(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` with the nearest of the known names, or ""."""
    near = nearest(word, known)
    return f": did you mean `{near}`?" if near else ""
