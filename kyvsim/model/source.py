"""Where loaded data came from: documents, and positions inside them."""

from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kyvsim.kubernetes.objects import Json, JsonMap, Path

HELM = "helm"
KUSTOMIZE = "kustomize"
"""Rendered text is called after what renders it and the file of which it is made, `helm:FILE`."""


class Location(NamedTuple):
    """A place in an input file; line and column count from 1, 0 where unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"

    def in_repository(self) -> "Location":
        """Return the place that a repository has, for what shows remarks beside its files.

        For rendered text that is the file of which it is made, without a line: it has others.
        """
        renderer, sign, path = self.file.partition(":")
        return Location(path) if sign and renderer in {HELM, KUSTOMIZE} else self


class LineReader(Protocol):
    """Gives lines of a file by their numbers."""

    def __call__(self, number: int, first: int = 0, last: int | None = None) -> str:
        """Return what a line has between two columns, which count from 0; "" for an unknown one."""


def _unknown(number: int, first: int = 0, last: int | None = None) -> str:
    del number, first, last
    return ""


class Document(NamedTuple):
    """One document of an input stream: plain data, and a way to find any node's position."""

    data: Json
    file: str
    number: int
    """Its place in the stream, from 0."""
    locate: Callable[[Path], Location]
    """Position of the node at a path, or of its nearest ancestor that exists; found when asked."""
    folder: str = ""
    """The folder, as it was given, in which its file was found; "" where the file was named."""
    has_no_null_maps: bool = False
    """Whether it is known that none of MAP_FIELDS is null in it: then nobody needs to look."""
    line: LineReader = _unknown
    """The line of its file with a number, as it is written; "" for one that is not of it."""
    review: JsonMap | None = None
    """The `request` of the AdmissionReview in which it came, None where it came as it is."""

    def within(self, place: Path, data: object) -> "Document":
        """Return a part of this document as one of its own, whose paths begin at that place."""
        return self._replace(data=data, locate=partial(_located, self, place))


def _located(document: Document, place: Path, path: Path) -> Location:
    return document.locate((*place, *path))


# Where a part of a text stands in the file that it was read from, whatever its style there.


_ESCAPED = MappingProxyType({"n": "", "t": "", "r": "", " ": "", '"': '"', "\\": "\\", "/": "/"})
"""What is read of a character behind a backslash, apart from white space; others are not known."""
_BEFORE_VALUES = ("&", "!")
"""Anchors and tags begin with these."""
_MOST_LINES = 1000
_MOST_COLUMNS = 20_000
"""Of a line so many characters are looked at: one may be as long as a file."""


def place_in_text(document: Document, path: Path, text: str, offset: int) -> Location:
    """Return where the character at `offset` of the text at a path stands in the document's file.

    A scalar's style changes its white space and escapes only, so the other characters are counted.
    Where they are not those of the text, as behind an alias, it is where the whole text begins.
    """
    start = document.locate(path)
    if not start.line:
        return start
    wanted = "".join(text[: offset + 1].split())
    found = _written(document, _value(document, start, path))
    place = start
    for character in wanted:
        written, place = next(found, ("", start))
        if written != character:
            return start
    return place


def _value(document: Document, start: Location, path: Path) -> Location:
    """Return where a value begins, be it behind its key, tag and anchor, or on the next line."""
    rest = _line(document, start.line, start.column)
    behind = _behind_key(rest, str(path[-1])) if path and path[-1].__class__ is str else rest
    value = behind.lstrip()
    while value[:1] in _BEFORE_VALUES:
        value = "".join(value.split(None, 1)[1:])
    column = start.column + len(rest) - len(value)
    if not value.strip():
        following = _line(document, start.line + 1)
        indent = len(following) - len(following.lstrip())
        return start._replace(line=start.line + 1, column=indent + 1)
    return start._replace(column=column)


def _line(document: Document, number: int, column: int = 1) -> str:
    """Return a line from a column on."""
    return document.line(number, column - 1, column - 1 + _MOST_COLUMNS)


def _behind_key(text: str, key: str) -> str:
    """Return what stands behind a key and its colon where a text begins with these, or the text."""
    for quote in ("", "'", '"'):
        spelled = f"{quote}{key}{quote}"
        if text.startswith(spelled):
            behind = text[len(spelled) :].lstrip()
            if behind.startswith(":"):
                return behind[1:]
    return text


def _written(document: Document, start: Location) -> Iterator[tuple[str, Location]]:
    """Yield the characters of a scalar that are no white space, each with its place."""
    line = _line(document, start.line, start.column)
    style, number, column = line[:1], start.line, start.column
    if style in {"|", ">"}:
        number, column, line = number + 1, 1, _line(document, number + 1)
    elif style in {"'", '"'}:
        column, line = column + 1, line[1:]
    for last in range(number, number + _MOST_LINES):
        first = Location(start.file, last, column)
        at = 0
        while at < len(line):
            place = first._replace(column=first.column + at)
            character, length = line[at], 1
            if style == "'" and character == "'":
                length = 2
            elif style == '"' and character == "\\":
                character, length = _ESCAPED.get(line[at + 1 : at + 2], "\0"), 2
            at += length
            if character.strip():
                yield character, place
        column, line = 1, _line(document, last + 1)
