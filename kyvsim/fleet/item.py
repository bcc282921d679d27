"""What one task of a run works on."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple


class InputFile(NamedTuple):
    """A file with resources."""

    name: str
    """What reports call it."""
    address: str
    """Where workers find it: an absolute path or a URL."""
    size: int
    """Bytes."""
    stamp: str
    """Tells this content from any other, as far as the storage can tell without reading it."""


class Item(NamedTuple):
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
    """Whether there are other objects of the cluster elsewhere: rules must not ask for any then."""

    @property
    def size(self) -> int:
        """How many bytes there are to work on."""
        return self.last - self.first if self.alone else sum(one.size for one in self.files)


def stamp_of(facts: Iterable[str]) -> str:
    """Return what stands for some texts: equal ones have equal stamps, others do not."""
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:32]
