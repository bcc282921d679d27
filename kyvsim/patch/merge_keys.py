"""Which lists of which Kubernetes types merge by key: the schema that strategic merges follow.

upstream: kyaml merges by a built-in OpenAPI schema of Kubernetes v1.21.2, whatever the version of
the cluster; `merge_keys.json` holds its facts (made by tests/package_data/make_merge_keys.py).
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.kube.package_data import read_table


class Field(NamedTuple):
    """What the schema says about one value: how it merges if it is a list, what its fields are."""

    keys: tuple[str, ...] | None
    """None: no list, or one that is replaced; (): a set of scalars; else what names an element."""
    fields: "Mapping[str, Field]"
    """Fields of the map, or of the list's elements, that lead to lists which merge."""
    element: "Field | None" = None
    """The type of the list's elements."""


NOTHING_MERGES = Field(None, MappingProxyType({}))
"""A value of known type in which no list merges."""


def find_type(api_version: str, kind: str) -> Field | None:
    """Return what is known of a kind, or None for one that the schema lacks."""
    return _types().get(f"{api_version}/{kind}")


@lru_cache(maxsize=1)
def _types() -> Mapping[str, Field]:
    table = read_table(__file__, "merge_keys.json")
    types: list[Mapping[str, Field]] = []
    for entry in table["types"]:  # a type stands after those that it names
        types.append({name: _field(way, types) for name, way in entry.items()})
    return {
        name: Field(None, types[number])
        for names, number in table["kinds"].items()
        for name in names.split()
    }


def _field(way: Json, types: list[Mapping[str, Field]]) -> Field:
    if way.__class__ is int:
        return Field(None, types[way])
    keys, *element = way
    names = tuple(keys.split(",")) if keys else ()
    if not element:
        return Field(names, NOTHING_MERGES.fields, NOTHING_MERGES)
    return Field(names, types[element[0]], Field(None, types[element[0]]))
