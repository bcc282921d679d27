"""Shapes: what has to hold of a value, as a tree that can be joined with others.

A shape is a claim with one side only: where it holds, it holds. What it cannot say it leaves to
whoever asks more slowly, so nothing here has a message or a reason.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kube.objects import Json


class DoubtError(Exception):
    """A value of which shapes say nothing, so that nothing is shown of the whole object."""


class Value(NamedTuple):
    """A value that fits; the predicate looks at nothing else, and never changes its mind.

    It says False where who asks more slowly learns no more of the value than that it does not fit,
    and None where that may be otherwise. It may raise `DoubtError`.
    """

    fits: Callable[[Json], bool | None]


class Entry(NamedTuple):
    """One key of a map."""

    key: str
    shape: "Shape | None"
    """What its value has to look like; None where the key must not be there."""
    absent: bool
    """Whether the map may lack the key."""


class Fields(NamedTuple):
    """A map with such entries, and any others."""

    entries: tuple[Entry, ...]


class Keys(NamedTuple):
    """A map all of whose keys fit, as values do."""

    fits: Callable[[str], bool | None]


class Each(NamedTuple):
    """A list all of whose elements have a shape."""

    shape: "Shape"
    counted: bool = False
    """Whether one such list of those in the whole shape has to have an element."""


class Both(NamedTuple):
    """A value that has all of some shapes."""

    shapes: tuple["Shape", ...]


Shape: TypeAlias = Value | Fields | Keys | Each | Both


_SCALARS: Final = frozenset({str, bool, float, type(None)})


def is_scalar(value: Json) -> bool:
    """Return whether a value is compared as it is: whole numbers become floats before."""
    return value.__class__ in _SCALARS


def fits_null(shape: Shape) -> bool:
    """Return whether null has a shape."""
    if isinstance(shape, Both):
        return all(map(fits_null, shape.shapes))
    return isinstance(shape, Value) and bool(shape.fits(None))


def together(shapes: Iterable[Shape]) -> Shape:
    """Return the shape of what has all of some shapes."""
    every = tuple(shapes)
    return every[0] if len(every) == 1 else Both(every)
