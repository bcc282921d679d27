"""What a step read and wrote: two steps that do not meet in it may change places."""

from collections.abc import Iterable
from typing import NamedTuple

from kyvsim.kube.objects import ObjectKey


class Footprint(NamedTuple):
    """Keys by group in place of apiVersion; a read without a name is that of a list."""

    reads: frozenset[ObjectKey]
    writes: frozenset[ObjectKey]

    def meets(self, other: "Footprint") -> bool:
        """Return whether the order of two steps can matter."""
        return (
            not self.writes.isdisjoint(other.writes)
            or _sees(self.reads, other.writes)
            or _sees(other.reads, self.writes)
        )


NOTHING = Footprint(frozenset(), frozenset())


def _sees(reads: Iterable[ObjectKey], writes: frozenset[ObjectKey]) -> bool:
    return bool(writes) and any(
        read in writes if read.name else any(_lists(read, write) for write in writes)
        for read in reads
    )


def _lists(read: ObjectKey, write: ObjectKey) -> bool:
    same_kind = read[:2] == write[:2]
    return same_kind and (not read.namespace or read.namespace == write.namespace)
