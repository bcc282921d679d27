"""Merges lists whose elements are identified by keys, and sets of scalars.

Package data, merge_keys.json, defines which lists of Kubernetes types merge by key.
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
# `ElementMatcher` of `yaml/fns.go`. In short: the patch's elements in order, merged with the
# object's elements of the same name, followed by the object's others; in lists with several keys,
# merged elements keep the object's order, after those that only the patch has. Of duplicates in the
# object the last one is kept, though the patch is merged into the first. If keys are missing,
# elements are lost, moved or duplicated, because upstream searches by the existing keys, see
# `_merge_untidy`.


class Joined(NamedTuple):
    """One merged element, and whether it permanently replaces the object's element."""

    value: Json
    in_place: bool


_Name = str | tuple[str, ...]
Join = Callable[[object, object], Joined]
"""Merges an element of the object and one of the patch; either may be ABSENT."""


def merge_keyed(
    dest: list[object], origin: Json, keys: tuple[str, ...], join: Join
) -> list[object]:
    """Return the merged list; `dest` itself if it does not change.

    `origin` is ABSENT if the patch has no such list, and `dest` itself for a part of the patch that
    is merged with itself. Without keys, elements are scalars that are their own names.
    Raises PatchError for elements of the wrong type.
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
            rest = dict(zip(names, dest, strict=True))
            merged = []
            for name, new in patch.items():
                before = rest.pop(name, ABSENT)
                value, in_place = join(before, new)
                if not is_empty(value):
                    merged.append(value if before is ABSENT or in_place else before)
            return merged + [join(item, ABSENT).value for item in rest.values()]
        order = _order(names, patch, several=len(keys) > 1)
        merged = [*_merge_tidy(order, (names, dest), patch, join)]
    if len(merged) == len(dest) and all(map(is_, merged, dest)):
        return dest
    return merged


def _names(items: list[object], keys: tuple[str, ...]) -> list[_Name] | None:
    """Return the names of the elements, or None if one lacks a part of its name."""
    if len(keys) == 1 and (texts := texts_at(items, keys[0])) is not None:
        return None if "" in texts else [*texts]  # mypy infers a list of another type
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
    # Of duplicates the last position counts.
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
        # A value that was not merged into the object's own element is replaced by that; so are all
        # duplicates, by the last of them in its original state.
        lasting = last.get(name, ABSENT)
        yield value if lasting is ABSENT or (in_place and lasting is before) else lasting


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
    """Return the distinct names of elements; with several keys, gaps are filled from others."""
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
    """Return the combined name if both agree in a key and differ only where one has a gap."""
    pairs = list(zip(one, other, strict=True))
    if any(a != b and a and b for a, b in pairs) or not any(a == b for a, b in pairs):
        return None
    return [a or b for a, b in pairs]


def _find(items: list[object], keys: list[str], values: list[str]) -> tuple[int, object]:
    """Return index and value of the first element with these texts at the keys that have one."""
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
    """Return the list with `new` instead of every element of that name, or at its end.

    ABSENT removes the elements. Nulls and empty maps are always removed. An empty string matches
    any value of its key, and keys beyond the given values are ignored.
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
    """Return the merged list with an element of the object's list put back in its place."""
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


# The lists of Kubernetes types that merge by key: the schema for strategic merges.
#
# upstream: kyaml merges by a built-in OpenAPI schema of Kubernetes v1.21.2, whatever the version of
# the cluster; `merge_keys.json` contains its facts (made by tests/package_data/make_merge_keys.py).


class MergeField(NamedTuple):
    """How one value merges if it is a list, and its fields."""

    keys: tuple[str, ...] | None
    """None: not a list, or one that is replaced; (): a set of scalars; or the keys of elements."""
    fields: "Mapping[str, MergeField]"
    """Fields of the map, or of the list's elements, that contain lists which merge."""
    element: "MergeField | None" = None


NOTHING_MERGES = MergeField(None, MappingProxyType({}))
"""A value of known type without lists that merge."""


def find_type(api_version: str, kind: str) -> MergeField | None:
    """Return the schema of a kind, or None if it is missing."""
    return _types().get(f"{api_version}/{kind}")


@lru_cache(maxsize=1)
def _types() -> Mapping[str, MergeField]:
    table = read_table(__file__, "merge_keys.json")
    types: list[Mapping[str, MergeField]] = []
    for entry in table["types"]:  # a type follows those that it refers to
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
