"""Files to items: which pieces can be worked on by themselves, and which files belong together."""

import posixpath
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from kyvsim.fleet.files import InputFile, is_packed

PIECE_BYTES: Final = 8 << 20
"""Bytes of a piece, for which a worker has work of about a second."""


class WorkItem(NamedTuple):
    """A piece of one file, or all files of a cluster.

    A piece has the documents that begin in its bytes: that of a later byte is in a later piece,
    however far it reaches.
    """

    cluster: str
    files: tuple[InputFile, ...]
    first: int
    last: int
    """The first byte that is none of the piece's; for whole files the size of the last one."""
    alone: bool
    """Whether the cluster has objects in other pieces: rules must not read any then."""

    @property
    def size(self) -> int:
        """How many bytes there are to work on."""
        return self.last - self.first if self.alone else sum(one.size for one in self.files)


class ClusterGrouping(StrEnum):
    """What files are dumps of one cluster, so that rules may look at objects of all of them."""

    FILE = "file"
    FOLDER = "folder"
    ALL = "all"


def planned(
    files: Iterable[InputFile], per: ClusterGrouping, *, parted: bool, size: int
) -> list[WorkItem]:
    """Return the items of a run; with `parted` rules see one object at a time.

    A cluster of up to `size` bytes is one item, and so it is where rules are not `parted`. Of
    larger ones each file is cut every `size` bytes; packed files cannot be.
    """
    clusters: dict[str, list[InputFile]] = {}
    for one in files:
        folder = posixpath.dirname(one.name.replace("\\", "/")) or "."
        names = {ClusterGrouping.FILE: one.name, ClusterGrouping.FOLDER: folder}
        clusters.setdefault(names.get(per, "all"), []).append(one)
    found: list[WorkItem] = []
    for cluster, together in clusters.items():
        some = tuple(together)
        if not parted or sum(one.size for one in some) <= size:
            found.append(whole(cluster, some))
        else:
            found += [item for one in some for item in _pieces(cluster, one, some, size)]
    return found


def whole(cluster: str, files: tuple[InputFile, ...]) -> WorkItem:
    """Return the item of a cluster with all of its objects."""
    return WorkItem(cluster, files, 0, files[-1].size, alone=False)


def _pieces(
    cluster: str, file: InputFile, files: tuple[InputFile, ...], size: int
) -> Iterator[WorkItem]:
    if is_packed(file.name) or file.size <= size:
        yield WorkItem(cluster, (file,), 0, file.size, alone=len(files) > 1)
        return
    for first in range(0, file.size, size):
        yield WorkItem(cluster, (file,), first, min(first + size, file.size), alone=True)


def clusters_of(items: Iterable[WorkItem]) -> dict[str, tuple[InputFile, ...]]:
    """Return the files of each cluster, in order."""
    found: dict[str, dict[InputFile, None]] = {}
    for item in items:
        found.setdefault(item.cluster, {}).update(dict.fromkeys(item.files))
    return {cluster: tuple(files) for cluster, files in found.items()}
