"""Shapes of objects, and a traversal of an object that tests many shapes at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Final, NamedTuple, TypeAlias, TypeVar

# Shapes: requirements on a value, as a tree that can be combined with others.
#
# A shape is one-sided: if it holds, the result is known; if not, the full evaluation decides. So
# there are no messages and no reasons here.


class UndecidableError(Exception):
    """A value that shapes do not support, so that nothing is proved about the whole object."""


class ValueShape(NamedTuple):
    """A value that matches a pure predicate.

    It is False if the full evaluation would find that the value does not match,
    and None if that is uncertain. It may raise `UndecidableError`.
    """

    fits: Callable[[object], bool | None]


class FieldShape(NamedTuple):
    """One key of a map."""

    key: str
    shape: "Shape | None"
    """The shape of its value; None if the map must not have the key."""
    absent: bool
    """Whether the map may lack the key."""


class MapShape(NamedTuple):
    """A map with these entries, and any others."""

    entries: tuple[FieldShape, ...]


class KeysShape(NamedTuple):
    """A map all of whose keys match a predicate, like that of values."""

    fits: Callable[[str], bool | None]


class ItemShape(NamedTuple):
    """A list all of whose elements have a shape."""

    shape: "Shape"
    counted: bool = False
    """Whether at least one of these lists in the whole shape must have an element."""


class BothShapes(NamedTuple):
    """A value that has all of these shapes."""

    shapes: tuple["Shape", ...]


Shape: TypeAlias = ValueShape | MapShape | KeysShape | ItemShape | BothShapes

_SCALARS: Final = frozenset({str, bool, float, type(None)})


def is_scalar(value: object) -> bool:
    """Return whether a value is compared as it is: whole numbers are converted to floats first."""
    return value.__class__ in _SCALARS


def fits_null(shape: Shape) -> bool:
    """Return whether null has a shape."""
    if isinstance(shape, BothShapes):
        return all(map(fits_null, shape.shapes))
    return isinstance(shape, ValueShape) and bool(shape.fits(None))


def together(shapes: Iterable[Shape]) -> Shape:
    """Return a shape that combines all shapes."""
    every = tuple(shapes)
    return every[0] if len(every) == 1 else BothShapes(every)


# One traversal of an object that checks many shapes at once, and reads each key once.
#
# The result is a set of bits. One means that a shape was not proved; each missing key, and each
# value that does not match, also has its own bit. So code that reads only what a shape reads has
# the same outcome for all objects with the same bits of that shape.

Trace: TypeAlias = list[int]
"""The found bits: one number for each element of the lists in shapes, in order of the traversal
(those of lists in an element precede it), and one for everything else."""
_Walk: TypeAlias = Callable[[object, Trace], int]
"""Returns the bits of a value, except those in lists, which it appends to the trace."""

_REMEMBERED: Final = 2048
"""The number of strings whose results are cached for each path."""
_ABSENT: Final = object()
_Value = TypeVar("_Value")


class BitMask(NamedTuple):
    """The bits of one shape, by meaning."""

    lacking: int
    """The shape was not proved."""
    places: int
    """The paths where it was not proved, and whether one of its lists has an element."""
    unsure: int
    """The bits do not represent the whole value, since there are values of unusual types."""
    counted: int
    """Bits of elements in lists of which one must have an element; 0 without such lists."""

    def is_shown(self, found: int) -> bool:
        """Return whether the shape was proved, given the found bits."""
        return not found & self.lacking and (not self.counted or bool(found & self.counted))


class _MarkBuilder:
    __slots__ = ("_bits", "_lacking", "_unsure", "counted", "places")

    def __init__(self, bits: Iterator[int]) -> None:
        self._bits = bits
        self._lacking = next(bits)
        self._unsure = next(bits)
        self.places = self.counted = 0

    def lack(self) -> int:
        """Return the bits for a missing key or a value that does not match."""
        place = next(self._bits)
        self.places |= place
        return self._lacking | place

    @property
    def unsure(self) -> int:
        """The bits for a value that may or may not match."""
        return self._lacking | self._unsure

    def mark(self) -> BitMask:
        return BitMask(self._lacking, self.places, self._unsure, self.counted)


_Claim: TypeAlias = tuple[_MarkBuilder, Shape]


def compile_walk(
    shapes: Sequence[Shape],
) -> tuple[Callable[[object], Trace | None], tuple[BitMask, ...]]:
    """Return the traversal that tests all shapes, and the bits of each of them.

    The traversal returns the bits of an object; None if it is undecidable.
    """
    bits = (1 << place for place in count())
    builder = tuple(_MarkBuilder(bits) for _ in shapes)
    walk = _merged(zip(builder, shapes, strict=True), bits)

    def trace(value: object) -> Trace | None:
        found: Trace = []
        try:
            found.append(walk(value, found))
        except (UndecidableError, RecursionError):
            return None
        return found

    return trace, tuple(one.mark() for one in builder)


def _merged(claims: Iterable[_Claim], bits: Iterator[int]) -> _Walk:
    parts = list(_parts([single for claim in claims for single in _singles(*claim)], bits))
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        first, second = parts
        return lambda value, found: first(value, found) | second(value, found)

    def walk(value: object, found: Trace) -> int:
        bad = 0
        for part in parts:
            bad |= part(value, found)
        return bad

    return walk


def _singles(builder: _MarkBuilder, shape: Shape) -> Iterator[_Claim]:
    if isinstance(shape, BothShapes):
        for one in shape.shapes:
            yield from _singles(builder, one)
    else:
        yield builder, shape


def _parts(claims: list[_Claim], bits: Iterator[int]) -> Iterable[_Walk]:
    maps = [(builder, shape) for builder, shape in claims if isinstance(shape, MapShape)]
    if maps:
        yield _map_walk(maps, bits)
    lists = [(builder, shape) for builder, shape in claims if isinstance(shape, ItemShape)]
    if lists:
        yield _list_walk(lists, bits)
    values = [(builder, shape.fits) for builder, shape in claims if isinstance(shape, ValueShape)]
    if values:
        yield _value_walk(values)
    keys = [(builder, shape.fits) for builder, shape in claims if isinstance(shape, KeysShape)]
    if keys:
        yield _key_walk(keys)


def _map_walk(claims: list[tuple[_MarkBuilder, MapShape]], bits: Iterator[int]) -> _Walk:
    odd = _joined(builder.unsure for builder, _ in claims)
    absent: dict[str, int] = {}
    present: dict[str, int] = {}
    inside: dict[str, list[_Claim]] = {}
    for builder, shape in claims:
        for key, wanted, may_lack in shape.entries:
            absent[key] = absent.get(key, 0) | (0 if may_lack else builder.lack())
            present[key] = present.get(key, 0) | (builder.lack() if wanted is None else 0)
            if wanted is not None:
                inside.setdefault(key, []).append((builder, wanted))
    rows = tuple(
        (key, absent[key], _present_walk(present[key], inside.get(key, ()), bits)) for key in absent
    )

    def walk(value: object, found: Trace) -> int:
        if value.__class__ is not dict:
            return odd
        bad = 0
        for key, lacking, within in rows:
            item = value.get(key, _ABSENT)
            bad |= lacking if item is _ABSENT else within(item, found)
        return bad

    return walk


def _present_walk(forbidden: int, claims: Sequence[_Claim], bits: Iterator[int]) -> _Walk:
    if not claims:
        return lambda _value, _found: forbidden
    walk = _merged(claims, bits)
    return (lambda value, found: walk(value, found) | forbidden) if forbidden else walk


def _list_walk(claims: list[tuple[_MarkBuilder, ItemShape]], bits: Iterator[int]) -> _Walk:
    odd, is_there = _joined(builder.unsure for builder, _ in claims), next(bits)
    for builder, shape in claims:
        builder.places |= is_there
        builder.counted |= is_there if shape.counted else 0
    element = _merged([(builder, shape.shape) for builder, shape in claims], bits)

    def walk(value: object, found: Trace) -> int:
        if value.__class__ is not list:
            return odd
        start = len(found) + 1
        for item in value:
            found.append(element(item, found) | is_there)
        # Results are the same with any number of elements at the end for which all is proved.
        while len(found) > start and found[-1] == is_there == found[-2]:
            found.pop()
        return 0

    return walk


def _value_walk(claims: list[tuple[_MarkBuilder, Callable[[object], bool | None]]]) -> _Walk:
    """Return the traversal of a value without further structure; results of strings are cached."""
    test_all = _all_of(claims)
    known: dict[str, int] = {}
    true, false = test_all(True), test_all(False)

    def walk(value: object, _: Trace) -> int:
        if value.__class__ is str:
            bad = known.get(value)
            if bad is None:
                bad = test_all(value)
                if len(known) < _REMEMBERED:
                    known[value] = bad
            return bad
        if value is True:
            return true
        return false if value is False else test_all(value)

    return walk


def _key_walk(claims: list[tuple[_MarkBuilder, Callable[[str], bool | None]]]) -> _Walk:
    odd, test_all = _joined(builder.unsure for builder, _ in claims), _all_of(claims)
    known: dict[str, int] = {}

    def walk(value: object, _: Trace) -> int:
        if value.__class__ is not dict:
            return odd
        bad = 0
        for key in value:
            own = known.get(key)
            if own is None:
                own = test_all(key)
                if len(known) < _REMEMBERED:
                    known[key] = own
            bad |= own
        return bad

    return walk


def _all_of(
    claims: list[tuple[_MarkBuilder, Callable[[_Value], bool | None]]],
) -> Callable[[_Value], int]:
    bits: dict[Callable[[_Value], bool | None], tuple[int, int]] = {}
    for builder, fits in claims:
        lacking, unsure = bits.get(fits, (0, 0))
        bits[fits] = lacking | builder.lack(), unsure | builder.unsure
    rows = tuple((lacking, unsure, fits) for fits, (lacking, unsure) in bits.items())

    def test_all(value: _Value) -> int:
        bad = 0
        for lacking, unsure, fits in rows:
            answer = fits(value)
            if not answer:
                bad |= unsure if answer is None else lacking
        return bad

    return test_all


def _joined(bits: Iterable[int]) -> int:
    joined = 0
    for bit in bits:
        joined |= bit
    return joined
