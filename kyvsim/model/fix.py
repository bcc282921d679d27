"""What would put right what a remark is about: changes of a document, by the places in it."""

from enum import StrEnum
from typing import NamedTuple

from kyvsim.model.source import Document, Location, Path


class Way(StrEnum):
    """What a change does."""

    VALUE = "value"
    """Gives an entry of a map another scalar as its value; quotes stay."""
    KEY = "key"
    """Gives an entry another key."""
    ENTRY = "entry"
    """Puts a text in place of an entry, key and value."""
    REMOVE = "remove"
    """Removes an entry with its lines."""
    ADD = "add"
    """Puts a text before the first entry of the map that is the value of an entry."""
    ITEM = "item"
    """Makes the map that is the value of an entry the only item of a list in it."""


class Change(NamedTuple):
    """One change of the text of a file."""

    way: Way
    place: Location
    """Where the key of the entry stands."""
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
    changes: tuple[Change, ...]
    edits: tuple[Edit, ...] = ()
    """The same as edits of the file, in its order; told by `lint`, () before."""


def change(document: Document, way: Way, path: Path, text: str = "") -> Change:
    """Return a change of the entry of a document to which a path leads."""
    key = str(path[-1]) if path else ""
    return Change(way, document.locate(path), key, text)
