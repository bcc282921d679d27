"""Types for structured merges: fields, and how lists and maps merge.

The types of Kubernetes' own kinds are a table (`merge_types.jsonl`, made by
tests/package_data/make_merge_types.py); those of custom resources are read from their schemas.
Both have the same short form, which `read_type` explains.

upstream: sigs.k8s.io/structured-merge-diff/v6 schema/elements.go
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, NoReturn, TypeAlias

from kyvsim.kubernetes.discovery import KindTable, split_api_version
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.package_data import read_text
from kyvsim.schema.node import SchemaWords

STRING, NUMERIC, BOOLEAN, UNTYPED = "string", "numeric", "boolean", "untyped"
_SCALARS: Mapping[str, str] = {"s": STRING, "n": NUMERIC, "b": BOOLEAN, "u": UNTYPED}


class MapType(NamedTuple):
    """A map, or an object with fields."""

    fields: "Mapping[str, TypeRef]"
    others: "TypeRef | None"
    """The type of values that are not in `fields`; None if there may be no others."""
    atomic: bool
    """Whether it is replaced as a whole."""
    optional: frozenset[str] = frozenset()
    """The fields of a built-in type that objects may lack, even with the API server's defaults."""


class ListType(NamedTuple):
    """A list."""

    element: "TypeRef"
    keys: tuple[str, ...] | None
    """The keys that identify elements; () for a set of scalars, None for a replaced list."""
    defaults: Mapping[str, Json]
    """The values of keys that elements lack."""


class Type(NamedTuple):
    """The possible types of a value."""

    scalar: str = ""
    sequence: ListType | None = None
    mapping: MapType | None = None
    values: tuple[str, ...] = ()
    """The only strings that an API server accepts; () for any."""


TypeRef: TypeAlias = int | str | Type
"""A type, its number in the table, or the mark for any type."""
ANYTHING, DEDUCED = "*", "+"


class NoTypesError(Exception):
    """A group and version without known types."""


FindType = Callable[[str, str], Type | None]


def find_type(api_version: str, kind: str) -> Type | None:
    """Return the type of a Kubernetes kind, or None if its group has no such kind.

    Raises NoTypesError if the group and version is unknown.
    """
    kinds = _numbers()["kinds"].get(api_version)
    if kinds is None:
        raise NoTypesError(api_version)
    number = kinds.get(kind)
    return None if number is None else resolve(number)


def metadata_type() -> int:
    """Return the number of the type of `metadata`."""
    number: int = _numbers()["metadata"]
    return number


def resolve(ref: TypeRef) -> Type:
    """Return the type of a reference."""
    if isinstance(ref, Type):
        return ref
    return _numbered(ref) if isinstance(ref, int) else _ANY[ref]


def read_type(written: Json) -> TypeRef:
    """Return the type of a value in the short form.

    A number is that of an entry in the table; `s`, `n`, `b`, `u` are scalars (strings, numbers,
    booleans, any of them); `*` is any value, replaced as a whole; `+` is any value, whose maps
    merge. `{p, e, x, o}` is a map: its fields, the type of others, whether it is replaced, which
    fields are optional. `{a}`,
    `{s}` and `{m, k, d}` are lists of the type named there: replaced, a set, or with keys and
    their defaults. `{v}` is a string with one of these values.
    """
    if isinstance(written, int):
        return written
    if isinstance(written, str):
        return written if written in _ANY else Type(_SCALARS[written])
    if "p" in written or "e" in written:
        fields = {name: read_type(one) for name, one in written.get("p", {}).items()}
        others = read_type(written["e"]) if "e" in written else None
        optional = frozenset(written.get("o", ()))
        return Type(mapping=MapType(fields, others, bool(written.get("x")), optional))
    if "v" in written:
        return Type(STRING, values=tuple(written["v"]))
    letter = next(one for one in "asm" if one in written)
    keys = {"a": None, "s": (), "m": tuple(written.get("k", ()))}[letter]
    return Type(sequence=ListType(read_type(written[letter]), keys, written.get("d", {})))


@lru_cache(maxsize=1)
def _table() -> tuple[str, ...]:
    """Return the lines of the table: the numbers of kinds and metadata, then one type on each."""
    return tuple(read_text(__file__, "merge_types.jsonl").splitlines())


@lru_cache(maxsize=1)
def _numbers() -> Json:
    return json.loads(_table()[0])


@lru_cache(maxsize=1024)
def _numbered(number: int) -> Type:
    return resolve(read_type(json.loads(_table()[1 + number])))


_NOTHING: Mapping[str, TypeRef] = MappingProxyType({})
_ANY: Mapping[str, Type] = {
    sign: Type(
        UNTYPED,
        ListType(ANYTHING, None, _NOTHING),
        MapType(_NOTHING, sign, atomic=sign == ANYTHING),
    )
    for sign in (ANYTHING, DEDUCED)
}


# Types for structured merges from an OpenAPI schema, in the short form.
#
# Source of the rules: upstream k8s.io/kube-openapi pkg/schemaconv (openapi.go, smd.go).

_EXTENSION = "x-kubernetes-"
_HEAD: Mapping[str, str] = MappingProxyType({"apiVersion": "s", "kind": "s"})
_UNTYPED_FORMATS_END = frozenset({"", "byte"})


class Definitions(NamedTuple):
    """The targets of references in a document, by name."""

    schema: Callable[[str], SchemaWords]
    type: Callable[[str], Json]
    """Returns the type in the short form."""


def type_finder(kinds: KindTable) -> FindType:
    """Return a function that finds types of Kubernetes' kinds, and of custom ones with schemas."""
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


def _custom(schema: SchemaWords) -> Json:
    """Return the type of a whole custom object, including metadata."""
    found = short_type(schema, _NO_DEFINITIONS)
    if found.__class__ is not dict:
        return found
    return {**found, "p": {**found.get("p", {}), **_HEAD, "metadata": metadata_type()}}


def short_type(schema: SchemaWords, named: Definitions, *, open_fields: bool = False) -> Json:
    """Return the type of a schema, in the form of `read_type`.

    `open_fields` is whether a schema around it preserves unknown fields.
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
    values = schema.get("enum")
    if kind == "string" and values and all(one.__class__ is str for one in values):
        return {"v": values}
    if kind == "string":
        return "s" if (schema.get("format") or "") in _UNTYPED_FORMATS_END else "u"
    return "+"


def _reference(schema: SchemaWords) -> str:
    parts: list[Json] = schema.get("allOf") or []
    inner = parts[0] if len(parts) == 1 else {}
    return str(schema.get("$ref") or inner.get("$ref") or "").rpartition("/")[2]


def _map(schema: SchemaWords, named: Definitions, *, open_fields: bool) -> dict[str, Json]:
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


def _list(schema: SchemaWords, named: Definitions, *, open_fields: bool) -> dict[str, Json]:
    element: SchemaWords = schema.get("items") or {}
    element_type = short_type(element, named, open_fields=open_fields) if element else "*"
    letter, keys = _relation(schema)
    found: dict[str, Json] = {letter: element_type}
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


def _relation(schema: SchemaWords) -> tuple[str, list[str]]:
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


def _nowhere(name: str) -> NoReturn:
    raise LookupError(name)


_NO_DEFINITIONS = Definitions(_nowhere, _nowhere)
"""Schemas of custom resources contain no references."""
