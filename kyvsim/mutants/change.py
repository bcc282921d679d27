"""A change of a policy, and a kind of changes."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.model.source import Path
from kyvsim.mutants.site import Part, Site


class Change(NamedTuple):
    """A policy's document with one place changed."""

    path: Path
    """Where it is changed."""
    was: str
    """What stood there, in words."""
    now: str
    """What stands there then, in words; "" where it is left out."""
    data: Json
    """The document as it is then."""
    offset: int = -1
    """Which character of the text at the path it begins with; -1 for the whole."""


class Kind(NamedTuple):
    """A kind of changes."""

    name: str
    """What is changed, in words: `operator of a condition`."""
    parts: frozenset[Part]
    """Which parts of policies it changes."""
    changes: Callable[[Site, Json], Iterator[Change]]
    """Yields the changes at a part of a document."""
