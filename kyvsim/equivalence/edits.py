"""Single changes of an object at a way: a value set, a part taken away, elements added."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

from kyvsim.equivalence.field_rules import (
    is_possible,
    needed,
    new_element,
    other_key,
    rivals,
    suits,
    type_at,
    usual,
    usual_entries,
)
from kyvsim.equivalence.values import UNUSUAL, samples, wildcards
from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import FieldPath, Segment
from kyvsim.patch.merge_types import Type

_ABSENT = object()
_MOST_ELEMENTS = 3
"""In lists that grow: one that decides, with something on either side of it."""
_MOST_IN_ALL = 64
"""Elements or characters, where a policy counts them."""
_Change: TypeAlias = Callable[[Json], Json]
"""Takes the value at a path, or _ABSENT; returns the new value, or _ABSENT."""
Edit: TypeAlias = Callable[[Json], Json]
"""Returns an object changed; the same one where there is nothing to change."""


def edits(
    root: Type | None, way: FieldPath, values: Sequence[Json], sizes: Sequence[int] = ()
) -> tuple[list[Edit], list[Edit]]:
    """Return the changes at a way that keep to the type of an object, and those that do not.

    `sizes` are the sizes that policies compare with there.
    """
    plain: list[Edit] = []
    unusual: list[Edit] = []
    # Many texts with wildcards in lists; elsewhere one, where a policy writes any text at all.
    in_list = Segment.ELEMENT in way
    wild = wildcards(values or ("a",)) if in_list else islice(wildcards(values), 1)
    written_values = [*samples(values), *usual(way), *wild]
    at = type_at(root, way) if root else None
    if not values or not any(suits(at, one) for one in written_values):
        written_values += _typical(at, way)
    written = {value.__class__ for value in written_values}
    usual_places = ((way, value) for value in written_values)
    unusual_places = ((place, value) for place in _steps(way) for value in UNUSUAL)
    for place, value in chain(usual_places, unusual_places):
        known = type_at(root, place) if root else None
        is_odd = root is None and not (place == way and value.__class__ in written)
        fitting = _fits(known, place, value) and not is_odd
        (plain if fitting else unusual).append(_edit(place, _set(value), root))
    plain += (_edit(place, _gone, root) for place in _steps(way))
    for place in _entries(root, way):
        plain.append(_edit(place[:-1], partial(_renamed, str(place[-1])), root))
    for place in _lists(way):
        inner = way[len(place) + 1 :]
        changes = (_set([]), *_several(inner, values, root, place))
        plain += (_edit(place, change, root) for change in changes)
    near = {other for one in sizes for other in (one - 1, one, one + 1)}
    sizes = sorted(one for one in near if 1 < one <= _MOST_IN_ALL)
    for place in (*_lists(way), way):
        plain += (_edit(place, partial(_of_size, size), root) for size in sizes)
    return plain, unusual


def edit_to(root: Type | None, way: FieldPath, value: Json) -> Edit:
    """Return the change that sets a value at a way."""
    return _edit(way, _set(value), root)


def _edit(place: FieldPath, change: _Change, root: Type | None) -> Edit:
    return lambda obj: _changed(obj, place, change, root)


def _fits(at: Type | None, way: FieldPath, value: Json) -> bool:
    """Return whether an API server would take a value at a way, as far as is known."""
    checked = {str, int} if at is not None else {str}
    return suits(at, value) and (value.__class__ not in checked or is_possible(way, value))


def _typical(at: Type | None, way: FieldPath) -> list[Json]:
    """Return values for a place for which a policy writes none."""
    if at is None:
        return ["a"]
    if at.scalar and at.mapping is None:
        return [value for value in ("a", "1", 1, True, False) if _fits(at, way, value)]
    if at.sequence:
        name = next((one for one in reversed(way) if isinstance(one, str)), "")
        return [[new_element(name, len(way), at)]]
    if at.mapping is None:
        return []
    name = next((one for one in reversed(way) if isinstance(one, str)), "")
    return [dict(needed(name, len(way)) if at.mapping.fields else usual_entries(name))]


def _entries(root: Type | None, way: FieldPath) -> Iterator[FieldPath]:
    """Yield the prefixes of a path that end in a free key, such as a label."""
    for place in _steps(way) if root else ():
        around = type_at(root, place[:-1]) if root else None
        fields = around.mapping.fields if around and around.mapping else None
        if fields is not None and isinstance(place[-1], str) and place[-1] not in fields:
            yield place


def _renamed(key: str, found: Json) -> Json:
    """Return a map with another key for an entry: one that is left empty often vanishes."""
    if found.__class__ is not dict or key not in found:
        return found
    rest = {name: value for name, value in found.items() if name != key}
    return {**rest, other_key(key): found[key]}


def _steps(way: FieldPath) -> Iterator[FieldPath]:
    """Yield the ways to a place and to all that is around it, the innermost first."""
    for end in range(len(way), 0, -1):
        yield way[:end]


def _lists(way: FieldPath) -> Iterator[FieldPath]:
    return (way[:index] for index, step in enumerate(way) if step is Segment.ELEMENT)


def _several(
    inner: FieldPath, values: Iterable[Json], root: Type | None, place: FieldPath
) -> Iterator[_Change]:
    """Yield changes of a list: another element, first or last, with a different content."""
    at = type_at(root, (*place, Segment.ELEMENT, *inner)) if root else None
    whole = (*place, Segment.ELEMENT, *inner)
    fitting = [value for value in (*samples(values), *usual(whole)) if _fits(at, whole, value)]
    texts = (str(one) if one.__class__ in {dict, list} else one for one in fitting[:4])
    changes = [_gone, *map(_set, dict.fromkeys(texts))]
    element = type_at(root, (*place, Segment.ELEMENT)) if root else None
    for change in changes:
        for first in (False, True):
            yield partial(_with_another, inner, change, element, first)


def _with_another(
    inner: FieldPath, change: _Change, element: Type | None, first: bool, found: Json
) -> Json:
    """Return a list with one more element, like the first but for a change in it."""
    if found.__class__ is not list or not 0 < len(found) < _MOST_ELEMENTS:
        return found
    added = _changed(found[0], inner, change, element)
    if added is _ABSENT:
        return found
    added = _renumbered(added, len(found))
    return [added, *found] if first else [*found, added]


def _of_size(size: int, found: Json) -> Json:
    """Return a list that has elements, or a text, as long as that."""
    if found.__class__ is str:
        return ((found or "a") * size)[:size]
    if found.__class__ is not list or not found:
        return found
    added = (_renumbered(found[0], number) for number in range(len(found), size))
    return [*found[:size], *added]


def _renumbered(element: Json, number: int) -> Json:
    """Return an element like another one, with a name of its own."""
    if element.__class__ is not dict or element.get("name").__class__ is not str:
        return element
    return {**element, "name": f"{element['name']}{number + 1}"}


def _set(value: Json) -> _Change:
    return lambda _: value


def _gone(_: Json) -> Json:
    return _ABSENT


def _changed(obj: Json, way: FieldPath, change: _Change, root: Type | None) -> Json:
    """Return an object with the value at a path changed; missing parents are created."""
    found = _walk(obj, way, change, _Here(root, "", 0))
    return obj if found is _ABSENT else found


class _Here(NamedTuple):
    """The position of a walk: the type of the value, and its field."""

    type: Type | None
    name: str
    depth: int

    def below(self, step: str | Segment, name: str) -> "_Here":
        inner = type_at(self.type, (step,)) if self.type else None
        return _Here(inner, name, self.depth + 1)


def _walk(value: Json, way: FieldPath, change: _Change, here: _Here) -> Json:
    if not way:
        return change(value)
    step, rest = way[0], way[1:]
    if step is Segment.ELEMENT:
        return _in_list(value, rest, change, here)
    found = value if value.__class__ is dict else dict(needed(here.name, here.depth))
    key = next(iter(found), "a") if isinstance(step, Segment) else step
    inner = _walk(found.get(key, _ABSENT), rest, change, here.below(step, key))
    if inner is _ABSENT:
        return {one: kept for one, kept in found.items() if one != key} if key in found else value
    ousted = rivals(here.name, key) if here.type is not None else frozenset()
    return {**{one: kept for one, kept in found.items() if one not in ousted}, key: inner}


def _in_list(value: Json, rest: FieldPath, change: _Change, here: _Here) -> Json:
    found = value if value.__class__ is list and value else []
    first = found[0] if found else new_element(here.name, here.depth, here.type)
    inside = here.below(Segment.ELEMENT, "")
    inner = _walk(first, rest, change, inside._replace(depth=here.depth))
    if inner is _ABSENT:
        return found[1:] if found else value
    return [inner, *found[1:]]
