"""The types that structured merges see in an OpenAPI schema, written in the short way.

Source of the rules: upstream k8s.io/kube-openapi pkg/schemaconv (openapi.go, smd.go).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.discovery import KindTable, split_api_version
from kyvsim.kubernetes.objects import Json
from kyvsim.patch.merge_types import (
    FindType,
    NoTypesError,
    Type,
    find_type,
    metadata_type,
    read_type,
    resolve,
)

_EXTENSION = "x-kubernetes-"
_HEAD: Mapping[str, Json] = MappingProxyType({"apiVersion": "s", "kind": "s"})
_UNTYPED_FORMATS_END = frozenset({"", "byte"})


class Definitions(NamedTuple):
    """What references of a document stand for, by their names."""

    schema: Callable[[str], Mapping[str, Json]]
    type: Callable[[str], Json]
    """Gives the type in the short way."""


def type_finder(kinds: KindTable) -> FindType:
    """Return what finds the types of Kubernetes' kinds, and of custom ones with given schemas."""
    served = {
        (group, version): {kind for one, kind in kinds if one == group}
        for (group, _), facts in kinds.items()
        for version in facts.schemas
    }

    @lru_cache(maxsize=256)
    def find(api_version: str, kind: str) -> Type | None:
        group, version = split_api_version(api_version)
        try:
            return find_type(api_version, kind)
        except NoTypesError:
            if (group, version) not in served:
                raise
        facts = kinds.get((group, kind))
        schema = facts.schemas.get(version) if facts else None
        return None if schema is None else resolve(read_type(_custom(schema.words)))

    return find


def _custom(schema: Mapping[str, Json]) -> Json:
    """Return the type of a whole custom object, which has metadata as every object has."""
    found = short_type(schema, _NO_DEFINITIONS)
    if found.__class__ is not dict:
        return found
    fields = {**found.get("p", {}), **_HEAD, "metadata": metadata_type()}
    return {**found, "p": fields}


def short_type(
    schema: Mapping[str, Json], named: Definitions, *, open_fields: bool = False
) -> Json:
    """Return the type of a schema.

    `open_fields` says whether a schema around it keeps fields that nobody declares. How types are
    written: `read_type` of merge_types.py.
    """
    name = _reference(schema)
    if name:
        return named.type(name)
    open_fields = open_fields or schema.get(f"{_EXTENSION}preserve-unknown-fields") is True
    kind = schema.get("type") or ""
    if kind == "object":
        return _map(schema, named, open_fields=open_fields)
    if kind == "array":
        return _list(schema, named, open_fields=open_fields)
    if kind in {"integer", "number"}:
        return "n"
    if kind == "boolean":
        return "b"
    if kind == "string":
        return "s" if (schema.get("format") or "") in _UNTYPED_FORMATS_END else "u"
    return "+"


def _reference(schema: Mapping[str, Json]) -> str:
    parts: list[Json] = schema.get("allOf") or []
    inner = parts[0] if len(parts) == 1 else {}
    text = schema.get("$ref") or inner.get("$ref") or ""
    return str(text).rpartition("/")[2]


def _map(schema: Mapping[str, Json], named: Definitions, *, open_fields: bool) -> dict[str, Json]:
    properties = schema.get("properties") or {}
    found: dict[str, Json] = {}
    if properties:
        found["p"] = {
            name: short_type(one, named, open_fields=open_fields)
            for name, one in sorted(properties.items())
        }
    others = schema.get("additionalProperties")
    if others.__class__ is dict:
        found["e"] = short_type(others, named, open_fields=open_fields)
    elif others is True or (others is None and (open_fields or not properties)):
        found["e"] = "+"
    if schema.get(f"{_EXTENSION}map-type") == "atomic":
        found["x"] = 1
    return found if "e" in found else {"p": {}, **found}


def _list(schema: Mapping[str, Json], named: Definitions, *, open_fields: bool) -> dict[str, Json]:
    element: Mapping[str, Json] = schema.get("items") or {}
    way = short_type(element, named, open_fields=open_fields) if element else "*"
    letter, keys = _relation(schema)
    found: dict[str, Json] = {letter: way}
    if letter == "m":
        found["k"] = keys
        name = _reference(element)
        fields = (named.schema(name) if name else element).get("properties") or {}
        defaults = {
            key: fields[key]["default"]
            for key in keys
            if key in fields and fields[key].get("default") is not None
        }
        if defaults:
            found["d"] = defaults
    return found


def _relation(schema: Mapping[str, Json]) -> tuple[str, list[str]]:
    """Return how a list merges: `a` as a whole, `s` as a set, `m` by keys."""
    written = schema.get(f"{_EXTENSION}list-type")
    if written == "map":
        return "m", list(schema.get(f"{_EXTENSION}list-map-keys") or ())
    if written is not None:
        return ("s" if written == "set" else "a"), []
    strategy = str(schema.get(f"{_EXTENSION}patch-strategy") or "").partition(",")[0]
    if strategy != "merge":
        return "a", []
    key = schema.get(f"{_EXTENSION}patch-merge-key")
    return ("m", [key]) if key else ("s", [])


def _nowhere(name: str) -> Json:
    raise LookupError(name)


_NO_DEFINITIONS = Definitions(_nowhere, _nowhere)
"""Schemas of custom resources refer to nothing."""
