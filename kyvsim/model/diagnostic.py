"""Diagnostics of input files, their fixes, and lists of names in messages.

Codes: KV028 an ignored document in a folder.
"""

import re
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.model.source import Document, Location

# Fixes of diagnostics: changes of a document, with their positions.


class ChangeKind(StrEnum):
    """The kind of a change."""

    VALUE = "value"
    """Replaces a scalar, which is the value of a map entry or in a list; its style is kept."""
    QUOTE = "quote"
    """Puts quotes around a scalar."""
    UNQUOTE = "unquote"
    """Removes the quotes around a scalar."""
    KEY = "key"
    ENTRY = "entry"
    """Replaces an entry, key and value, with a text."""
    REMOVE = "remove"
    ADD = "add"
    """Inserts a text before the first entry of the map that is the value of an entry."""
    ITEM = "item"
    """Nests the map that is the value of an entry as the only item of a list."""


class TextChange(NamedTuple):
    """One change of the text of a file."""

    way: ChangeKind
    place: Location
    key: str
    """The key; "" for the root of a document, whose position is that of its first key, and for
    items of lists.
    """
    text: str = ""
    """The new text, with lines that begin at the first column; for ITEM, the key of the list."""


class Edit(NamedTuple):
    """A part of a text and its replacement; lines and columns count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int
    """The exclusive end."""
    text: str


class Fix(NamedTuple):
    """Changes that are made together and keep the meaning."""

    title: str
    """A short imperative title: `use AnyIn`."""
    changes: tuple[TextChange, ...]
    edits: tuple[Edit, ...] = ()
    """The same as sorted edits of the file, computed by `lint`; () before that."""


def change(document: Document, way: ChangeKind, path: Path, text: str = "") -> TextChange:
    """Return a change of the entry at a path of a document."""
    key = path[-1] if path else ""
    return TextChange(way, document.locate(path), key if isinstance(key, str) else "", text)


Instead = tuple[str, str]
"""A part of a text, and the part that is certainly meant."""


def string_at(document: Document, path: Path) -> str:
    """Return the string at a path of a document; "" if there is none, as for a key of a map."""
    value: Json = document.data
    for step in path:
        is_item = isinstance(step, int) and isinstance(value, list) and step < len(value)
        if not is_item and not (isinstance(value, dict) and step in value):
            return ""
        value = value[step]
    return value if isinstance(value, str) else ""


def respelled(document: Document, path: Path, instead: Instead) -> Fix | None:
    """Return the fix of a part of the string at a path; None if it is not once in it."""
    value, (old, new) = string_at(document, path), instead
    # A part of a longer name is something else.
    ends = [r"\b" if one.isalnum() else "" for one in (old[:1], old[-1:])]
    once = re.compile(re.escape(old).join(ends))
    if len(once.findall(value)) != 1:
        return None
    changed = once.sub(lambda _: new, value)
    shown = new or '""'
    return Fix(f"use {shown}", (change(document, ChangeKind.VALUE, path, changed),))


# Diagnostics of input files.
# Codes: KV028 an ignored document in a folder.


class Severity(StrEnum):
    """The severity of a diagnostic; errors make the exit status 2."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    """A note on something that is probably correct; --strict does not make it an error."""


class Diagnostic(NamedTuple):
    """A diagnostic of an input file, with a stable code such as `KV012`."""

    code: str
    severity: Severity
    message: str
    location: Location | None = None
    excerpt: tuple[str, ...] = ()
    """Lines that show the position inside a text of the file, with a mark below it."""
    fix: Fix | None = None
    """A safe fix that keeps the meaning of the file; None if there is none."""
    folded: str = ""
    """The noun for such diagnostics, such as `chart`, if only the first one is reported with their
    number; "" to report each.
    """

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.severity.value} {self.code}: {self.message}"


def error_in(document: Document, code: str, message: str, path: Path = ()) -> Diagnostic:
    """Return an error at a path of a document."""
    return Diagnostic(code, Severity.ERROR, message, document.locate(path))


def error_about(file: str, code: str, message: str) -> Diagnostic:
    """Return an error about a whole file, a folder or a pattern."""
    return Diagnostic(code, Severity.ERROR, message, Location(file))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether one of the diagnostics is an error."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def strictly(remarks: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics with every warning as an error, as for `--strict`."""
    return tuple(
        one._replace(severity=Severity.ERROR) if one.severity is Severity.WARNING else one
        for one in remarks
    )


_LEFT_OUT = "KV028"


def left_out(what: str, location: Location) -> Diagnostic:
    """Return the diagnostic for an ignored document in a folder."""
    return Diagnostic(_LEFT_OUT, Severity.INFO, what, location)


def without_left_out(
    said: Iterable[Diagnostic],
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """Return the diagnostics about problems, and those about ignored documents.

    Of folded diagnostics, only the first is kept, with the number of the others.
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


# Lists of names in messages, and suggestions for unknown names.

_MOST = 5


def listed(names: Iterable[str], most: int = _MOST) -> str:
    """Return names in backticks, sorted and without duplicates, up to `most`."""
    known = sorted(set(names))
    shown = ", ".join(f"`{name}`" for name in known[:most])
    return f"{shown} and {len(known) - most} more" if len(known) > most else shown


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the known name that is most similar to a word, ignoring case; "" if there is none.

    `likeness` is the minimum similarity, from 0 to 1.
    """
    spelled = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), spelled, n=1, cutoff=likeness)
    return spelled[near[0]] if near else ""


def likely(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return `: did you mean …?` with the most similar known name, or "".

    If a slip of the pen may be meant for another name as well, that is named, too.
    """
    names = tuple(known)
    near = nearest(word, names, likeness)
    other = next((one for one in slips_for(word, names) if one != near), "") if near else ""
    return f": did you mean `{near}`{f' or `{other}`' if other else ''}?" if near else ""


def slips_for(word: str, known: Iterable[str]) -> list[str]:
    """Return the names that a slip of the pen may mean: those in other capitals, if any."""
    found = [one for one in known if is_slip(word, one)]
    return [one for one in found if one.lower() == word.lower()] or found


_SHORTEST = 4


def is_slip(word: str, meant: str) -> bool:
    """Return whether a word is certainly a name that is near it, with a slip of the pen.

    It has other capitals, or one letter more or less, or two letters in the other order. Names
    that differ in one letter for another, or in their last letter, may be different ones; a final
    s is only the other number. Digits and signs, such as those of anchors, have a meaning.
    """
    one, other = word.lower(), meant.lower()
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) == 1 and len(short) >= _SHORTEST:
        last = len(long) - 1
        return any(
            long[:at] + long[at + 1 :] == short
            for at, letter in enumerate(long)
            if letter.isalpha() and (at < last or letter == "s")
        )
    turned = (one[:at] + one[at : at + 2][::-1] + one[at + 2 :] for at in range(len(one) - 1))
    return one == other or (len(one) >= _SHORTEST and other in turned)
