"""Many shapes → one walk over an object: what several look at is looked up once.

Each shape has a bit. The walk gives back the bits of the shapes that the object was not seen to
have. Lists that have to have an element are counted in bits of their own, above all others.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.proof.shapes import Both, DoubtError, Each, Fields, Keys, Shape, Value

Walk: TypeAlias = Callable[[Json], int]
"""Takes an object; returns the bits of the shapes that it was not seen to have.

Where that cannot be said, say because of a doubt, it returns all of them."""

_REMEMBERED: Final = 2048
"""How many texts each place remembers the verdicts of."""
_ABSENT: Final = object()


class _Claim(NamedTuple):
    """A shape that some value has to have, for the sake of one bit."""

    bit: int
    shape: Shape
    seen: int
    """The bit that says that one of its counted lists had an element."""


def compile_walk(shapes: Sequence[Shape]) -> Walk:
    """Return the walk that looks for all of some shapes; the first has the lowest bit."""
    size = len(shapes)
    claims = [_Claim(1 << n, shape, 1 << (n + size)) for n, shape in enumerate(shapes)]
    counted = sum(claim.bit for claim in claims if _is_counted(claim.shape))
    walk, every = _merged(claims), (1 << size) - 1

    def whole(value: Json) -> int:
        try:
            found = walk(value)
        except (DoubtError, RecursionError):
            return every
        return found & every | counted & ~(found >> size) if counted else found

    return whole


def _is_counted(shape: Shape | None) -> bool:
    if isinstance(shape, Both):
        return any(map(_is_counted, shape.shapes))
    if isinstance(shape, Fields):
        return any(_is_counted(entry.shape) for entry in shape.entries)
    return isinstance(shape, Each) and (shape.counted or _is_counted(shape.shape))


def _merged(claims: Iterable[_Claim]) -> Walk:
    """Return the walk over one value of which several things are claimed."""
    parts = list(_parts([single for claim in claims for single in _singles(claim)]))
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        first, second = parts
        return lambda value: first(value) | second(value)

    def walk(value: Json) -> int:
        bad = 0
        for part in parts:
            bad |= part(value)
        return bad

    return walk


def _singles(claim: _Claim) -> Iterable[_Claim]:
    if isinstance(claim.shape, Both):
        for shape in claim.shape.shapes:
            yield from _singles(claim._replace(shape=shape))
    else:
        yield claim


def _parts(claims: list[_Claim]) -> Iterable[Walk]:
    maps = [(one.bit, one.shape, one.seen) for one in claims if isinstance(one.shape, Fields)]
    if maps:
        yield _map_walk(maps)
    lists = [(one.bit, one.shape, one.seen) for one in claims if isinstance(one.shape, Each)]
    if lists:
        yield _list_walk(lists)
    values = [(one.bit, one.shape.fits) for one in claims if isinstance(one.shape, Value)]
    if values:
        yield _value_walk(values)
    keys = [(one.bit, one.shape.fits) for one in claims if isinstance(one.shape, Keys)]
    if keys:
        yield _key_walk(keys)


def _map_walk(claims: list[tuple[int, Fields, int]]) -> Walk:
    every = _joined(bit for bit, _, _ in claims)
    absent: dict[str, int] = {}
    present: dict[str, int] = {}
    inside: dict[str, list[_Claim]] = {}
    for bit, shape, seen in claims:
        for key, wanted, may_lack in shape.entries:
            absent[key] = absent.get(key, 0) | (0 if may_lack else bit)
            present[key] = present.get(key, 0) | (bit if wanted is None else 0)
            if wanted is not None:
                inside.setdefault(key, []).append(_Claim(bit, wanted, seen))
    rows = tuple(
        (key, absent[key], _present_walk(present[key], inside.get(key, ()))) for key in absent
    )

    def walk(value: Json) -> int:
        if value.__class__ is not dict:
            return every
        bad = 0
        for key, lacking, within in rows:
            found = value.get(key, _ABSENT)
            bad |= lacking if found is _ABSENT else within(found)
        return bad

    return walk


def _present_walk(forbidden: int, claims: Sequence[_Claim]) -> Walk:
    """Return the walk over the value of a key that some forbid."""
    if not claims:
        return lambda _: forbidden
    walk = _merged(claims)
    return (lambda value: walk(value) | forbidden) if forbidden else walk


def _list_walk(claims: list[tuple[int, Each, int]]) -> Walk:
    every = _joined(bit for bit, _, _ in claims)
    counted = _joined(seen for _, shape, seen in claims if shape.counted)
    element = _merged(_Claim(bit, shape.shape, seen) for bit, shape, seen in claims)

    def walk(value: Json) -> int:
        if value.__class__ is not list:
            return every
        bad = counted if value else 0
        for item in value:
            bad |= element(item)
        return bad

    return walk


def _value_walk(claims: list[tuple[int, Callable[[Json], bool]]]) -> Walk:
    """Return the walk over a value of no further structure; verdicts of texts are remembered."""
    ask = _ask(claims)
    known: dict[str, int] = {}
    true, false = ask(True), ask(False)

    def walk(value: Json) -> int:
        if value.__class__ is str:
            found = known.get(value)
            if found is None:
                found = ask(value)
                if len(known) < _REMEMBERED:
                    known[value] = found
            return found
        if value is True:
            return true
        return false if value is False else ask(value)

    return walk


def _key_walk(claims: list[tuple[int, Callable[[str], bool]]]) -> Walk:
    every, ask = _joined(bit for bit, _ in claims), _ask(claims)
    known: dict[str, int] = {}

    def walk(value: Json) -> int:
        if value.__class__ is not dict:
            return every
        bad = 0
        for key in value:
            found = known.get(key)
            if found is None:
                found = ask(key)
                if len(known) < _REMEMBERED:
                    known[key] = found
            bad |= found
        return bad

    return walk


def _ask(claims: list[tuple[int, Callable[[Json], bool]]]) -> Walk:
    """Return what asks all predicates."""
    if len(claims) == 1:
        ((bit, fits),) = claims
        return lambda value: 0 if fits(value) else bit
    return lambda value: _joined(bit for bit, fits in claims if not fits(value))


def _joined(bits: Iterable[int]) -> int:
    joined = 0
    for bit in bits:
        joined |= bit
    return joined
