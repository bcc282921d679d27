"""The sources of loaded data: documents, and positions in them."""

from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kyvsim.kubernetes.objects import Json, JsonMap, Path

HELM = "helm"
KUSTOMIZE = "kustomize"
"""Rendered text is named after the renderer and the rendered file, `helm:FILE`."""


class Location(NamedTuple):
    """A position in an input file; line and column count from 1, 0 if unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"

    def in_repository(self) -> "Location":
        """Return the location in the repository, for services that show findings there.

        For rendered text, it is the source file without a line, since its lines differ.
        """
        renderer, sign, path = self.file.partition(":")
        return Location(path) if sign and renderer in {HELM, KUSTOMIZE} else self


class LineReader(Protocol):
    """Returns lines of a file by number."""

    def __call__(self, number: int, first: int = 0, last: int | None = None) -> str:
        """Return a line between two columns, which count from 0; "" for an unknown line."""


def _unknown(number: int, first: int = 0, last: int | None = None) -> str:
    del number, first, last
    return ""


class Document(NamedTuple):
    """One document of an input stream: plain data, and functions that locate its nodes."""

    data: Json
    file: str
    number: int
    """Its index in the stream, from 0."""
    locate: Callable[[Path], Location]
    """Returns the position of the node at a path, or of its nearest existing ancestor."""
    folder: str = ""
    """The given folder that contains the file; "" if the file was named."""
    has_no_null_maps: bool = False
    """Whether none of MAP_FIELDS is known to be null in it, so that no check is needed."""
    line: LineReader = _unknown
    """Returns a line of the file by number; "" for lines outside of the document."""
    review: JsonMap | None = None
    """The `request` of the AdmissionReview that contained it; None without a review."""

    def within(self, place: Path, data: object) -> "Document":
        """Return a part of this document as a separate one, with paths relative to `place`."""
        return self._replace(data=data, locate=partial(_located, self, place))


def _located(document: Document, place: Path, path: Path) -> Location:
    return document.locate((*place, *path))


# Positions of characters of a scalar in its file, for all scalar styles.

_ESCAPED = MappingProxyType({"n": "", "t": "", "r": "", " ": "", '"': '"', "\\": "\\", "/": "/"})
"""The meaning of characters after a backslash, without white space; others are not supported."""
_BEFORE_VALUES = ("&", "!")
"""The first characters of anchors and tags."""
_MOST_LINES = 1000
_MOST_COLUMNS = 20_000
"""Maximum length of lines that is read: a line may be as long as a file."""


def place_in_text(document: Document, path: Path, text: str, offset: int) -> Location:
    """Return the position in the file of the character at `offset` in the text at a path.

    A scalar's style only affects white space and escapes, so the other characters are counted. If
    they differ from the text, as after an alias, the start of the text is returned.
    """
    start = document.locate(path)
    if not start.line:
        return start
    wanted = "".join(text[: offset + 1].split())
    found = _written(document, _value(document, start, path))
    line, column = start.line, start.column
    for character in wanted:
        written, line, column = next(found, ("", 0, 0))
        if written != character:
            return start
    return start._replace(line=line, column=column)


def _value(document: Document, start: Location, path: Path) -> Location:
    """Return the start of a value, after its key, tag and anchor, or on the next line."""
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
    """Return the text after a key and its colon, or the text if it does not begin with them."""
    for quote in ("", "'", '"'):
        spelled = f"{quote}{key}{quote}"
        if text.startswith(spelled):
            behind = text[len(spelled) :].lstrip()
            if behind.startswith(":"):
                return behind[1:]
    return text


def _written(document: Document, start: Location) -> Iterator[tuple[str, int, int]]:
    """Yield the characters of a scalar with their lines and columns, without white space."""
    line = _line(document, start.line, start.column)
    style, number, column = line[:1], start.line, start.column
    if style in {"|", ">"}:
        number, column, line = number + 1, 1, _line(document, number + 1)
    elif style in {"'", '"'}:
        column, line = column + 1, line[1:]
    for last in range(number, number + _MOST_LINES):
        at = 0
        while at < len(line):
            here = column + at
            character, length = line[at], 1
            if style == "'" and character == "'":
                length = 2
            elif style == '"' and character == "\\":
                character, length = _ESCAPED.get(line[at + 1 : at + 2], "\0"), 2
            at += length
            if character.strip():
                yield character, last, here
        column, line = 1, _line(document, last + 1)
