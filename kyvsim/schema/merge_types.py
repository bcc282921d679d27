"""What structured merges know of types: fields, and how lists and maps merge.

The types of Kubernetes' own kinds are a table (`merge_types.jsonl`, made by
tests/package_data/make_merge_types.py); those of custom resources are read from their schemas. Both
are written in the same short form, which `read_type` explains.

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
    """The type of what `fields` does not name; None where nothing else may be there."""
    atomic: bool
    """Whether it is replaced as a whole."""


class ListType(NamedTuple):
    """A list."""

    element: "TypeRef"
    keys: tuple[str, ...] | None
    """What names an element; () for a set of scalars, None for a list that is replaced."""
    defaults: Mapping[str, Json]
    """What keys are where an element lacks them."""


class Type(NamedTuple):
    """What a value may be: any of the three."""

    scalar: str = ""
    sequence: ListType | None = None
    mapping: MapType | None = None


TypeRef: TypeAlias = int | str | Type
"""A type, its number in the table, or the marker for any type."""
ANYTHING, DEDUCED = "*", "+"


class NoTypesError(Exception):
    """Nothing is known of a group and version."""


FindType = Callable[[str, str], Type | None]


def find_type(api_version: str, kind: str) -> Type | None:
    """Return the type of a kind of Kubernetes, or None where its group has no such kind.

    Raises NoTypesError where the whole group and version is unknown.
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
    """Return the type itself."""
    if isinstance(ref, Type):
        return ref
    return _numbered(ref) if isinstance(ref, int) else _ANY[ref]


def read_type(written: Json) -> TypeRef:
    """Return the type that is written in the short form.

    A number is that of an entry of the table; `s`, `n`, `b`, `u` for scalars (texts, numbers,
    truth values, any of them); `*` for anything, replaced as a whole; `+` for anything, whose maps
    merge. `{p, e, x}` is a map: its fields, the type of others, whether it is replaced. `{a}`,
    `{s}` and `{m, k, d}` are lists of the type named there: replaced, a set, or with keys and
    their defaults.
    """
    if isinstance(written, int):
        return written
    if isinstance(written, str):
        return written if written in _ANY else Type(_SCALARS[written])
    if "p" in written or "e" in written:
        fields = {name: read_type(one) for name, one in written.get("p", {}).items()}
        others = read_type(written["e"]) if "e" in written else None
        return Type(mapping=MapType(fields, others, bool(written.get("x"))))
    letter = next(one for one in "asm" if one in written)
    keys = {"a": None, "s": (), "m": tuple(written.get("k", ()))}[letter]
    return Type(sequence=ListType(read_type(written[letter]), keys, written.get("d", {})))


@lru_cache(maxsize=1)
def _table() -> tuple[str, ...]:
    """Return the lines of the table: the numbers of kinds and metadata, then a type on each."""
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


# The types that structured merges see in an OpenAPI schema, written in the short form.
#
# Source of the rules: upstream k8s.io/kube-openapi pkg/schemaconv (openapi.go, smd.go).

_EXTENSION = "x-kubernetes-"
_HEAD: Mapping[str, str] = MappingProxyType({"apiVersion": "s", "kind": "s"})
_UNTYPED_FORMATS_END = frozenset({"", "byte"})


class Definitions(NamedTuple):
    """The targets of references in a document, by name."""

    schema: Callable[[str], SchemaWords]
    type: Callable[[str], Json]
    """Gives the type in the short form."""


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


def _custom(schema: SchemaWords) -> Json:
    """Return the type of a whole custom object, which has metadata as every object has."""
    found = short_type(schema, _NO_DEFINITIONS)
    if found.__class__ is not dict:
        return found
    fields = {**found.get("p", {}), **_HEAD, "metadata": metadata_type()}
    return {**found, "p": fields}


def short_type(schema: SchemaWords, named: Definitions, *, open_fields: bool = False) -> Json:
    """Return the type of a schema.

    `open_fields` says whether a schema around it keeps fields that nobody declares. How types are
    written: `read_type`.
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


def _reference(schema: SchemaWords) -> str:
    parts: list[Json] = schema.get("allOf") or []
    inner = parts[0] if len(parts) == 1 else {}
    text = schema.get("$ref") or inner.get("$ref") or ""
    return str(text).rpartition("/")[2]


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
"""Schemas of custom resources refer to nothing."""
