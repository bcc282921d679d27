"""Lists whose elements are named by keys, and sets of scalars: how two of them become one.

Which lists of which Kubernetes types merge by key is package data, merge_keys.json.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import is_
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.package_data import read_table
from kyvsim.patch.nodes import ABSENT, field_of, is_empty, is_named, text, texts_at, wrong_kind

# upstream: kyaml `yaml/walk/associative_sequence.go` (direction prepend), `ElementSetter` and
# `ElementMatcher` of `yaml/fns.go`. In short: the patch's elements in their order, merged with the
# object's of the same name, then the object's others; in lists with several keys merged elements
# stay in the object's order, behind those that only the patch has. Of the object's elements that
# share a name the last one stays, though the patch is merged into the first. Where keys are
# missing, elements are lost, moved or doubled in ways that follow from upstream's searching by the
# keys that happen to be there; `_merge_untidy` says how.


class Joined(NamedTuple):
    """One merged element, and whether it takes the place of the object's element for good."""

    value: Json
    in_place: bool


_Name = str | tuple[str, ...]
Join = Callable[[object, object], Joined]
"""Merges an element of the object and one of the patch; either may be ABSENT."""


def merge_keyed(
    dest: list[object], origin: Json, keys: tuple[str, ...], join: Join
) -> list[object]:
    """Return the merged list; `dest` itself when it stays as it is.

    `origin` is ABSENT where the patch has no such list, and `dest` itself for a part of the patch
    that is merged with itself. No keys: elements are scalars and name themselves.
    Raises PatchError for elements of the wrong kind.
    """
    names = _names(dest, keys)
    added = names if origin is dest else [] if origin is ABSENT else _names(origin, keys)
    if names is None or added is None:
        merged = _merge_untidy(dest, origin, keys or ("",), join)
    elif origin is ABSENT and len(set(names)) == len(names):
        merged = [join(item, ABSENT).value for item in dest]
    else:
        patch = {} if origin is ABSENT else _first(added, origin)
        if len(keys) == 1 and len(set(names)) == len(names):
            return _merge_distinct(dict(zip(names, dest, strict=True)), patch, join)
        order = _order(names, patch, several=len(keys) > 1)
        merged = [*_merge_tidy(order, (names, dest), patch, join)]
    if len(merged) == len(dest) and all(map(is_, merged, dest)):
        return dest
    return merged


def _names(items: list[object], keys: tuple[str, ...]) -> list[_Name] | None:
    """Return the names of the elements, or None where one lacks a part of its name."""
    if len(keys) == 1 and (texts := texts_at(items, keys[0])) is not None:
        return None if "" in texts else [*texts]  # a list of another type to mypy
    names: list[_Name] = []
    for item in items:
        if item.__class__ is not dict:
            if keys or item.__class__ is list or item is None or item == "":
                return None
            names.append(text(item))
        elif len(keys) == 1:
            names.append(_named(item, keys[0]))
        else:
            names.append(tuple(_named(item, key) for key in keys))
            if not keys or "" in names[-1]:
                return None
    return None if "" in names else names


def _first(names: list[_Name], items: list[object]) -> dict[_Name, object]:
    found: dict[_Name, object] = {}
    for name, item in zip(names, items, strict=True):
        found.setdefault(name, item)
    return found


def _order(names: list[_Name], patch: Mapping[_Name, object], *, several: bool) -> Iterable[_Name]:
    """Return the names in the merged order, each once."""
    if not several:
        return dict.fromkeys((*patch, *names))
    # Of doubles the last place counts.
    old = dict.fromkeys(reversed(names))
    return (*(name for name in patch if name not in old), *reversed(old))


def _merge_tidy(
    order: Iterable[_Name],
    dest: tuple[list[_Name], list[object]],
    patch: Mapping[_Name, object],
    join: Join,
) -> Iterator[object]:
    last = dict(zip(*dest, strict=True))
    first = last if len(last) == len(dest[0]) else _first(*dest)
    for name in order:
        before = first.get(name, ABSENT)
        value, in_place = join(before, patch.get(name, ABSENT))
        if is_empty(value):
            continue
        # What was not merged into the object's own element gives way to that; so do all doubles
        # to the last of them, in the state it had.
        lasting = last.get(name, ABSENT)
        yield value if lasting is ABSENT or (in_place and lasting is before) else lasting


def _merge_distinct(
    rest: dict[_Name, object], patch: Mapping[_Name, object], join: Join
) -> list[object]:
    """Return what `_merge_tidy` yields for one key and elements of which each has its own name."""
    merged = []
    for name, new in patch.items():
        before = rest.pop(name, ABSENT)
        value, in_place = join(before, new)
        if not is_empty(value):
            merged.append(value if before is ABSENT or in_place else before)
    return merged + [join(item, ABSENT).value for item in rest.values()]


def _merge_untidy(
    dest: list[object], origin: Json, keys: Sequence[str], join: Join
) -> list[object]:
    rest = list(dest)
    patch = rest if origin is dest else [] if origin is ABSENT else origin
    names = _distinct([*patch, *rest], keys)
    if not names:
        return rest
    used = [at for at in range(len(keys)) if any(name[at] for name in names)] or range(len(keys))
    used_keys = [keys[at] for at in used]
    merged: list[object] = []
    for name in names:
        values = [name[at] for at in used]
        at, before = _find(rest, used_keys, values)
        value, in_place = join(before, _find(patch, used_keys, values)[1])
        if is_empty(value):
            rest[:] = _put(rest, ABSENT, used_keys, values)
            continue
        if in_place and at >= 0:
            rest[at] = value
            merged = [value if item is before else item for item in merged]
        merged = _put(merged, value, used_keys, values)
    for item in rest:
        merged = _put_back(merged, item, used_keys)
    return merged


def _distinct(items: list[object], keys: Sequence[str]) -> list[list[str]]:
    """Return the names of all elements, each once; of several keys, gaps are filled from others."""
    names: list[list[str]] = []
    for item in items:
        name = [text(item)] if keys[0] == "" else [_named(item, key) for key in keys]
        if name not in names:
            names.append(name)
    if len(keys) > 1:
        for one, first in enumerate(names):
            for other, second in enumerate(names):
                if (both := _filled(first, second)) is not None:
                    names[one] = names[other] = both
    return names


def _named(item: object, key: str) -> str:
    value = field_of(item, key)
    if value.__class__ is str:
        return str(value)
    return text(value) if is_named(value) else ""


def _filled(one: list[str], other: list[str]) -> list[str] | None:
    """Return both names as one if they agree in a key and differ only where one has a gap."""
    pairs = list(zip(one, other, strict=True))
    if any(a != b and a and b for a, b in pairs) or not any(a == b for a, b in pairs):
        return None
    return [a or b for a, b in pairs]


def _find(items: list[object], keys: list[str], values: list[str]) -> tuple[int, object]:
    """Return place and value of the first element with these texts at the keys that have one."""
    pairs = [(key, value) for key, value in zip(keys, values, strict=True) if value]
    pairs = pairs or list(zip(keys, values, strict=True))
    for at, item in enumerate(items):
        if keys[0] == "":
            if text(item) == values[0]:
                return at, item
        elif item.__class__ is dict and all(
            key in item and text(item[key]) == value for key, value in pairs
        ):
            return at, item
    return -1, ABSENT


def _put(items: list[object], new: object, keys: list[str], values: list[str]) -> list[object]:
    """Return the list with `new` in place of every element of that name, or else at its end.

    ABSENT takes the elements out. Nulls and empty maps go in any case. An empty text fits any value
    of its key, and keys beyond the given values are not looked at.
    """
    kept, found = [], False
    for item in items:
        if is_empty(item):
            continue
        if _is_meant(item, keys, values):
            found = True
            if new is not ABSENT:
                kept.append(new)
        elif values:
            kept.append(item)
    if not found and new is not ABSENT and new is not None:
        kept.append(new)
    return kept


def _is_meant(item: object, keys: list[str], values: list[str]) -> bool:
    if item.__class__ is not dict and keys[0] and values and values[0]:
        return False
    for key, value in zip(keys, values, strict=False):
        if key == "":
            if item.__class__ is dict or item.__class__ is list:
                raise wrong_kind("ScalarNode", item)
            return text(item) == value
        if item.__class__ is not dict:
            raise wrong_kind("MappingNode", item)
        found = item.get(key, ABSENT)
        if found is ABSENT or (value and text(found) != value):
            return False
    return bool(values)


def _put_back(merged: list[object], item: object, keys: list[str]) -> list[object]:
    """Return the merged list after an element of the object's list came back to its place in it."""
    if keys[0] == "":
        return _put(merged, item, keys, [text(item)])
    if item is not None and item.__class__ is not dict:
        raise wrong_kind("MappingNode", item)
    values = []
    for key in keys:
        found = field_of(item, key)
        if found is ABSENT:
            merged = [*merged, item]
        else:
            values.append(text(found))
    if len(keys) > 1:
        merged = _put(merged, ABSENT, keys, values)
    return _put(merged, item, keys, values)


# Which lists of which Kubernetes types merge by key: the schema that strategic merges follow.
#
# upstream: kyaml merges by a built-in OpenAPI schema of Kubernetes v1.21.2, whatever the version of
# the cluster; `merge_keys.json` holds its facts (made by tests/package_data/make_merge_keys.py).


class MergeField(NamedTuple):
    """What the schema says about one value: how it merges if it is a list, what its fields are."""

    keys: tuple[str, ...] | None
    """None: no list, or one that is replaced; (): a set of scalars; else what names an element."""
    fields: "Mapping[str, MergeField]"
    """Fields of the map, or of the list's elements, that lead to lists which merge."""
    element: "MergeField | None" = None


NOTHING_MERGES = MergeField(None, MappingProxyType({}))
"""A value of known type in which no list merges."""


def find_type(api_version: str, kind: str) -> MergeField | None:
    """Return what is known of a kind, or None for one that the schema lacks."""
    return _types().get(f"{api_version}/{kind}")


@lru_cache(maxsize=1)
def _types() -> Mapping[str, MergeField]:
    table = read_table(__file__, "merge_keys.json")
    types: list[Mapping[str, MergeField]] = []
    for entry in table["types"]:  # a type comes after those that it names
        types.append({name: _field(written, types) for name, written in entry.items()})
    return {
        name: MergeField(None, types[number])
        for names, number in table["kinds"].items()
        for name in names.split()
    }


def _field(written: Json, types: list[Mapping[str, MergeField]]) -> MergeField:
    if written.__class__ is int:
        return MergeField(None, types[written])
    keys, *element = written
    names = tuple(keys.split(",")) if keys else ()
    if not element:
        return MergeField(names, NOTHING_MERGES.fields, NOTHING_MERGES)
    return MergeField(names, types[element[0]], MergeField(None, types[element[0]]))
