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
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.package_data import read_text

STRING, NUMERIC, BOOLEAN, UNTYPED = "string", "numeric", "boolean", "untyped"
_SCALARS: Mapping[str, str] = MappingProxyType(
    {"s": STRING, "n": NUMERIC, "b": BOOLEAN, "u": UNTYPED}
)


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
    if written.__class__ is int:
        number: int = written
        return number
    if written.__class__ is str:
        return str(written) if written in _ANY else Type(_SCALARS[written])
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


_NOTHING: Mapping[str, Json] = MappingProxyType({})
_ANY: Mapping[str, Type] = MappingProxyType(
    {
        sign: Type(
            UNTYPED,
            ListType(ANYTHING, None, _NOTHING),
            MapType(_NOTHING, sign, atomic=sign == ANYTHING),
        )
        for sign in (ANYTHING, DEDUCED)
    }
)
