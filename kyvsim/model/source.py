"""Where loaded data came from: documents, and positions inside them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from kyvsim.kube.objects import Json

Path: TypeAlias = tuple[str | int, ...]
"""The way from a document's root to a node: mapping keys and list indices."""


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


class Mark(NamedTuple):
    """A file as it was found, as far as it can be told without reading it."""

    path: str
    changed_at: int
    """Nanoseconds since 1970, 0 for a folder."""
    size: int
    inode: int
    mode: int


class Stamp(NamedTuple):
    """What was found at a path: a file, the files of a folder or of a pattern, or nothing."""

    path: str
    marks: tuple[Mark, ...]


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
    review: Json = None
    """The `request` of the AdmissionReview in which it came, None where it came as it is."""

    def within(self, place: Path, data: Json) -> "Document":
        """Return a part of this document as one of its own, whose paths begin at that place."""
        return self._replace(data=data, locate=partial(_located, self, place))


def _located(document: Document, place: Path, path: Path) -> Location:
    return document.locate((*place, *path))
