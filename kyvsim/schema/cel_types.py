"""The types of objects as API servers declare them in CEL, for type checking.

Those of Kubernetes' own kinds are a table (`cel_types.jsonl`, made by
tests/package_data/make_cel_types.py); those of custom resources are read from their schemas. Both
have the same short form, which `short_type` returns.

upstream: k8s.io/apiserver pkg/cel/common/schemas.go (SchemaDeclType)
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from kyvsim.cel import types
from kyvsim.cel.types import CelType
from kyvsim.kubernetes.discovery import KindTable, split_api_version
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.package_data import read_text
from kyvsim.schema.node import SchemaWords

_INT_OR_STRING = "int-or-string"
_SCALARS: Mapping[str, CelType] = MappingProxyType(
    {
        "s": types.STRING,
        "y": types.BYTES,
        "t": types.TIMESTAMP,
        "u": types.DURATION,
        "i": types.INT,
        "n": types.DOUBLE,
        "b": types.BOOL,
        "*": types.DYN,
    }
)
_STRINGS = MappingProxyType({"byte": "y", "duration": "u", "date": "t", "date-time": "t"})
"""The short forms of strings by their format."""
_OTHERS = MappingProxyType({"boolean": "b", "number": "n", "integer": "i"})

FieldTypes = Mapping[str, Mapping[str, CelType]]
"""The fields of typed objects, by the name of the type."""


def short_type(schema: SchemaWords, named: Callable[[str], Json]) -> Json:
    """Return the type of a schema; None if expressions cannot read such values.

    A letter is a scalar: `s`, `y` and `t`, `u` are strings, of bytes, times and durations; `i`,
    `n`, `b` integers, other numbers, booleans; `*` any value. A number is an entry of the table,
    `{l}` a list, `{m}` a map, `{f}` an object with fields. `named` returns the type of a
    referenced schema. Quantities are not typed, so that expressions cannot read them.
    """
    wrapped: list[Json] = schema.get("allOf") or []
    reference = schema.get("$ref") or next((one["$ref"] for one in wrapped if "$ref" in one), "")
    if reference:
        return named(str(reference).rpartition("/")[2])
    kind, written = schema.get("type"), schema.get("format") or ""
    if written == _INT_OR_STRING or schema.get(f"x-kubernetes-{_INT_OR_STRING}") is True:
        return "*"
    if kind == "string":
        return _STRINGS.get(written, "s")
    inner = schema.get("items" if kind == "array" else "additionalProperties")
    if kind == "array" or (kind == "object" and inner.__class__ is dict):
        found = short_type(inner, named) if inner.__class__ is dict else None
        return None if found is None else {"l" if kind == "array" else "m": found}
    if kind != "object":
        return _OTHERS.get(kind or "")
    properties = schema.get("properties") or {}
    fields = {name: short_type(one, named) for name, one in sorted(properties.items())}
    return {"f": {name: one for name, one in fields.items() if one is not None}}


def object_fields(api_version: str, kind: str, kinds: KindTable) -> FieldTypes | None:
    """Return the fields of all objects in an object of a kind, None if its schema is unknown.

    The type of the object itself is `root_type(kind)`. `kinds` are those of given CRDs.
    """
    number = _kinds().get(api_version, {}).get(kind)
    if number is not None:
        return _of_table(kind, number)
    group, version = split_api_version(api_version)
    facts = kinds.get((group, kind))
    schema = facts.schemas.get(version) if facts else None
    if schema is None:
        return None
    found = short_type(schema.words, lambda _: None)
    if not found or "f" not in found:
        return None
    every: dict[str, Mapping[str, CelType]] = {}
    # A published schema contains the metadata of all kinds, whatever the definition has.
    common = {"apiVersion": "s", "kind": "s", "metadata": _numbers()["metadata"]}
    _expand(root_type(kind).name, {"f": {**found["f"], **common}}, every, frozenset())
    return every


def root_type(kind: str) -> CelType:
    """Return the type of an object; in upstream, the number is the time in nanoseconds."""
    return types.struct(f"{kind}1")


@lru_cache(maxsize=64)
def _of_table(kind: str, number: int) -> FieldTypes:
    every: dict[str, Mapping[str, CelType]] = {}
    _expand(root_type(kind).name, number, every, frozenset())
    return MappingProxyType(every)


def _expand(
    name: str, short: Json, every: dict[str, Mapping[str, CelType]], outer: frozenset[int]
) -> CelType:
    """Return the type of a value called `name`; add the fields of objects in it to `every`."""
    if isinstance(short, str):
        return _SCALARS[short]
    if isinstance(short, int):
        # As in upstream, an object inside itself has no fields.
        inner = {"f": {}} if short in outer else json.loads(_table()[1 + short])
        return _expand(name, inner, every, outer | {short})
    if "l" in short:
        return types.list_of(_expand(f"{name}.@idx", short["l"], every, outer))
    if "m" in short:
        return types.map_of(types.STRING, _expand(f"{name}.@elem", short["m"], every, outer))
    fields = {}
    for field, one in short["f"].items():
        escaped = escape(field)
        if escaped:
            found = _expand(f"{name}.{escaped}", one, every, outer)
            fields[escaped] = found
            if escaped == f"__{field}__":
                fields[field] = found  # keywords are also accepted as they are
    every[name] = fields
    return types.struct(name)


_KEYWORDS = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return"),
        *("var", "void", "while"),
    }
)
_ESCAPES = MappingProxyType(
    {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
)


def escape(name: str) -> str:
    """Return the identifier for a field in expressions, "" if there is none.

    upstream: k8s.io/apiserver pkg/cel/escaping.go
    """
    if name in _KEYWORDS:
        return f"__{name}__"
    if not re.fullmatch(r"[A-Za-z_./-][\w./-]*", name, re.ASCII):
        return ""
    return re.sub(r"__|[./-]", lambda match: _ESCAPES[match[0]], name)


@lru_cache(maxsize=1)
def _table() -> tuple[str, ...]:
    """Return the lines of the table: the numbers of kinds and metadata, then one type on each."""
    return tuple(read_text(__file__, "cel_types.jsonl").splitlines())


@lru_cache(maxsize=1)
def _numbers() -> Json:
    return json.loads(_table()[0])


def _kinds() -> Mapping[str, Mapping[str, int]]:
    kinds: Mapping[str, Mapping[str, int]] = _numbers()["kinds"]
    return kinds
