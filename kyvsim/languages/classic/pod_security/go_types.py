"""The Go types that Pods and their controllers are read as, and other objects of Kubernetes.

upstream: encoding/json reads the object into the structs of k8s.io/api v0.36.3; `pod_types.json`
holds their fields, and `other_types.json` those of types that Pods do not reach, which are read
when one of them is asked for (both made by tests/package_data/make_pod_types.py).
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.package_data import read_table

_SCALARS: Mapping[str, type | range] = MappingProxyType(
    {
        "string": str,
        "bool": bool,
        "int32": range(-(2**31), 2**31),
        "int64": range(-(2**63), 2**63),
        "float64": float,
    }
)
_OWN_READERS = frozenset(
    (
        *("resource.Quantity", "intstr.IntOrString", "v1.Time", "v1.MicroTime", "v1.FieldsV1"),
        *("[]byte", "runtime.RawExtension", "apiextensions.JSON"),
        *("apiextensions.JSONSchemaPropsOrArray", "apiextensions.JSONSchemaPropsOrBool"),
        "apiextensions.JSONSchemaPropsOrStringArray",
    )
)


class GoType(NamedTuple):
    """One type: a struct, a map, a list, a scalar, or one that reads its JSON itself."""

    name: str
    """As Go prints it, such as `[]v1.Container`."""
    scalar: type | range | None = None
    """What values are: str, bool, or the range of an integer."""
    struct: bool = False
    item: str = ""
    """The elements' type of a list or a map."""
    is_list: bool = False
    reads_itself: bool = False


class GoField(NamedTuple):
    """One JSON field of a struct."""

    shape: GoType
    path: tuple[str, ...]
    """The embedded structs on the way to it, and its JSON name."""
    nullable: bool
    """Whether null empties it; else null leaves it as it was."""
    plain: type | None
    """The Python type of all its values, where any value of that type will do."""


_Table: TypeAlias = Mapping[str, str | dict[str, str]]


@lru_cache(maxsize=2)
def _table(file_name: str) -> _Table:
    table: _Table = read_table(__file__, file_name)
    return table


def _known(name: str) -> str | dict[str, str] | None:
    """Return the fields of a struct, or what a name stands for; None for what Go itself names."""
    found = _table("pod_types.json").get(name)
    if found is not None or "." not in name or name in _OWN_READERS or name[0] in "m[":
        return found
    return _table("other_types.json").get(name)


def has_type(name: str) -> bool:
    """Return whether there is a struct of a name such as `v1.Service`."""
    return _known(name).__class__ is dict


@lru_cache(maxsize=512)
def go_type(written: str) -> GoType:
    """Return the type that a text such as `*v1.SecurityContext` writes."""
    name = written.removeprefix("*")
    known = _known(name)
    if known.__class__ is dict:
        return GoType(name, struct=True)
    if name in _OWN_READERS:
        return GoType(name, reads_itself=True)
    shape = known if isinstance(known, str) else name
    if shape.startswith("map["):
        return GoType(name, item=shape.partition("]")[2])
    if shape.startswith("[]"):
        return GoType(name, item=shape[2:], is_list=True)
    return GoType(name, _SCALARS[shape])


@lru_cache(maxsize=512)
def fields_of(name: str) -> Mapping[str, GoField]:
    """Return the JSON fields of a struct."""
    table = _known(name)
    assert isinstance(table, dict)  # noqa: S101 — only structs are asked for
    return {field: _field(field, text) for field, text in table.items()}


def _field(name: str, text: str) -> GoField:
    *embedded, written = text.split()
    found = go_type(written)
    nullable = written.startswith("*") or bool(found.item) or found.reads_itself
    plain = found.scalar if isinstance(found.scalar, type) else None
    return GoField(found, (*embedded, name), nullable, plain)


@lru_cache(maxsize=512)
def folded_fields(name: str) -> Mapping[str, str]:
    """Return the JSON fields of a struct by their names without case."""
    return {fold(field): field for field in fields_of(name)}


def fold(key: str) -> str:
    """Return `key` without case, as Go folds it: letter by letter."""
    folded = key.upper().lower()
    return folded if len(folded) == len(key) else key
