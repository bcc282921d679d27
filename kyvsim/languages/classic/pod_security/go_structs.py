"""Decodes objects as Go's encoding/json decodes them into structs of Kubernetes' API types.

A value of the wrong type is an error with Go's message; field names are case-insensitive.
upstream: encoding/json (Go 1.26), k8s.io/api v0.36.3. `pod_types.json` has the fields of these
structs, `other_types.json` those that Pods do not reach; it is read only when one of them is needed
(tests/package_data/make_pod_types.py makes both).
"""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from operator import is_
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.go_text import json_kind, to_json
from kyvsim.kubernetes.go_time import TimeError, parse_rfc3339, parse_time
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.package_data import read_table
from kyvsim.kubernetes.quantities import parse_quantity, quantity_problem

_INT32 = range(-(2**31), 2**31)
_SCALARS: Mapping[str, type | range] = {
    "string": str,
    "bool": bool,
    "int32": _INT32,
    "int64": range(-(2**63), 2**63),
    "float64": float,
}
_OWN_READERS = frozenset(
    (
        *("resource.Quantity", "intstr.IntOrString", "v1.Time", "v1.MicroTime", "v1.FieldsV1"),
        *("[]byte", "runtime.RawExtension", "apiextensions.JSON"),
        *("apiextensions.JSONSchemaPropsOrArray", "apiextensions.JSONSchemaPropsOrBool"),
        "apiextensions.JSONSchemaPropsOrStringArray",
    )
)


class GoType(NamedTuple):
    """One type: a struct, a map, a list, a scalar, or a type with its own JSON decoder."""

    name: str
    """The name in Go's messages, such as `[]v1.Container`."""
    scalar: type | range | None = None
    """The type of values: str, bool, or the range of an integer."""
    struct: bool = False
    item: str = ""
    """The element type of a list or a map."""
    is_list: bool = False
    reads_itself: bool = False


class GoField(NamedTuple):
    """One JSON field of a struct."""

    shape: GoType
    path: tuple[str, ...]
    """The path of embedded structs, and the JSON name."""
    nullable: bool
    """Whether null sets the zero value; if not, null leaves it unchanged."""
    plain: type | None
    """The Python type of its values, if any value of that type is valid."""


_Table: TypeAlias = Mapping[str, str | dict[str, str]]


@lru_cache(maxsize=2)
def _table(file_name: str) -> _Table:
    table: _Table = read_table(__file__, file_name)
    return table


def _known(name: str) -> str | dict[str, str] | None:
    """Return the fields of a struct, or the underlying type of a name; None for Go's own types."""
    found = _table("pod_types.json").get(name)
    if found is not None or "." not in name or name in _OWN_READERS or name[0] in "m[":
        return found
    return _table("other_types.json").get(name)


def has_type(name: str) -> bool:
    """Return whether there is a struct with a name such as `v1.Service`."""
    return _known(name).__class__ is dict


@lru_cache(maxsize=512)
def go_type(written: str) -> GoType:
    """Return the type of a string such as `*v1.SecurityContext`."""
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
    assert isinstance(table, dict)  # noqa: S101 — only called for structs
    found = {}
    for field, text in table.items():
        *embedded, written = text.split()
        shape = go_type(written)
        nullable = written.startswith("*") or bool(shape.item) or shape.reads_itself
        plain = shape.scalar if isinstance(shape.scalar, type) else None
        found[field] = GoField(shape, (*embedded, field), nullable, plain)
    return found


@lru_cache(maxsize=512)
def folded_fields(name: str) -> Mapping[str, str]:
    """Return the JSON fields of a struct by their case-folded names."""
    return {fold(field): field for field in fields_of(name)}


def fold(key: str) -> str:
    """Return `key` case-folded as in Go: letter by letter."""
    folded = key.upper().lower()
    return folded if len(folded) == len(key) else key


# Types with their own JSON decoder: quantities, times, numbers that may be names.
#
# Source of the rules: upstream k8s.io/apimachinery pkg/api/resource, pkg/apis/meta/v1,
# pkg/util/intstr.

_MICRO = "2006-01-02T15:04:05.000000Z07:00"


class OwnReaderError(Exception):
    """A value is not of a type; `type` is part of Go's usual message if there is no other."""

    def __init__(self, *, message: str = "", expected: str = "") -> None:
        super().__init__(message or expected)
        self.message = message
        self.type = expected


def read_itself(value: object, name: str) -> None:
    """Check a value other than null against a type; raises OwnReaderError if it is invalid."""
    if name == "resource.Quantity":
        text = (value if value.__class__ is str else to_json(value)).strip()
        if parse_quantity(text) is None:
            raise OwnReaderError(message=quantity_problem(text))
    elif name == "intstr.IntOrString":
        is_number = value.__class__ in {int, float} and is_whole(value, _INT32)
        if value.__class__ is not str and not is_number:
            raise OwnReaderError(expected="int32")
    elif name == "[]byte":
        if value.__class__ is not str:
            raise OwnReaderError(expected="[]uint8")
    elif name in {"v1.Time", "v1.MicroTime"}:
        if value.__class__ is not str:
            raise OwnReaderError(expected="string")
        problem = _time_problem(value, name)
        if problem:
            raise OwnReaderError(message=problem)


def is_whole(number: float, span: range) -> bool:
    """Return whether a number is whole and in a range (`in` would compare every number of it)."""
    return span.start <= number < span.stop and number % 1 == 0


@lru_cache(maxsize=1024)
def _time_problem(text: str, name: str) -> str:
    """Return why a time is invalid, or ""; cached, since many times of objects are the same."""
    try:
        parse_time(_MICRO, text) if name == "v1.MicroTime" else parse_rfc3339(text)
    except TimeError as error:
        return str(error)
    return ""


class MisfitError(Exception):
    """An object does not match the Go struct of its type; the message is Go's."""


class _DoesNotFitError(Exception):
    """A nested value does not match; its path and the reason are determined afterwards."""


def read_object(value: object, root: str) -> Json:
    """Return the object as its Go type `root` decodes it: with proper field names, without nulls.

    Unchanged parts are shared. Raises MisfitError with Go's message if a value does not match.
    """
    kind = go_type(root)
    try:
        return _read(value, kind)
    except _DoesNotFitError:
        first = ""
        for ends, text in _problems(value, kind, ("", ())):
            if ends:  # custom decoders end the decoding, else the first error is reported
                raise MisfitError(text) from None
            first = first or text
        raise MisfitError(first) from None


def _read(value: object, kind: GoType) -> Json:
    if kind.struct:
        return _read_struct(value, kind)
    if kind.scalar is not None:
        if not _is_scalar(value, kind.scalar):
            raise _DoesNotFitError
        return value
    if kind.item:
        item_type = go_type(kind.item)
        if value.__class__ is not (list if kind.is_list else dict):
            raise _DoesNotFitError
        given: Collection[object] = value.values() if isinstance(value, dict) else value
        items = [_zero(item_type) if item is None else _read(item, item_type) for item in given]
        if all(map(is_, items, given)):
            return value
        return items if kind.is_list else dict(zip(value, items, strict=True))
    if kind.reads_itself and value is not None:
        try:
            read_itself(value, kind.name)
        except OwnReaderError:
            raise _DoesNotFitError from None
    return value


def _is_scalar(value: Json, scalar: type | range) -> bool:
    kind = value.__class__
    if isinstance(scalar, range):
        return kind in {int, float} and is_whole(value, scalar)
    return kind in {int, float} if scalar is float else kind is scalar


def _read_struct(value: object, kind: GoType) -> Json:
    if value.__class__ is not dict:
        raise _DoesNotFitError
    fields = fields_of(kind.name)
    changed: dict[str, object] | None = None
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            if fold(key) in folded_fields(kind.name):
                return _read_struct(_with_known_names(value, kind.name), kind)
            continue
        if item.__class__ is field.plain:
            continue
        new = None if item is None else _read(item, field.shape)
        if item is None or new is not item:
            changed = dict(value) if changed is None else changed
            changed[key] = new
            if new is None:
                del changed[key]
    return value if changed is None else changed


def _with_known_names(value: dict[str, object], struct: str) -> dict[str, Json]:
    """Return a map in which fields that are written in another case have their proper names.

    Keys are in the order in which Go writes maps; later ones win, and maps are merged.
    """
    fields, folded = fields_of(struct), folded_fields(struct)
    found: dict[str, object] = {}
    for key in sorted(value):
        item = value[key]
        name = key if key in fields else folded.get(fold(key), key)
        field = fields.get(name)
        if field is not None and item is not None:
            item = _read(item, field.shape)
        if field is None or item is not None or field.nullable:
            found[name] = _merged(found.get(name), item)
    return found


def _merged(old: object, new: object) -> Json:
    if old.__class__ is not dict or new.__class__ is not dict:
        return new
    return {**old, **{key: _merged(old.get(key), item) for key, item in new.items()}}


def _zero(kind: GoType) -> Json:
    """Return the value that replaces a null element."""
    if kind.struct:
        return {}
    if kind.scalar.__class__ is range:
        return 0
    return kind.scalar() if isinstance(kind.scalar, type) else None


def _problems(
    value: object, kind: GoType, place: tuple[str, tuple[str, ...]]
) -> Iterator[tuple[bool, str]]:
    """Yield, for every error in Go's order, whether it ends the decoding, and its message."""
    if value is None:
        return
    if kind.reads_itself:
        try:
            read_itself(value, kind.name)
        except OwnReaderError as error:
            yield True, error.message or _misfit(value, error.type, place)
    elif kind.struct and value.__class__ is dict:
        struct = kind.name.rpartition(".")[2]
        fields, folded = fields_of(kind.name), folded_fields(kind.name)
        for key in sorted(value):
            field = fields.get(key) or fields.get(folded.get(fold(key), ""))
            if field is not None:
                yield from _problems(value[key], field.shape, (struct, (*place[1], *field.path)))
    elif kind.item and value.__class__ is (list if kind.is_list else dict):
        items = value if kind.is_list else [value[key] for key in sorted(value)]
        for item in items:
            yield from _problems(item, go_type(kind.item), place)
    elif kind.scalar is None or not _is_scalar(value, kind.scalar):
        yield False, _misfit(value, kind.name, place)


def _misfit(value: object, expected: str, place: tuple[str, tuple[str, ...]]) -> str:
    struct, path = place
    where = f"struct field {struct}.{'.'.join(path)}" if struct else "value"
    kind = json_kind(value)
    shown = f"number {to_json(value)}" if kind == "number" and expected.startswith("int") else kind
    return f"json: cannot unmarshal {shown} into Go {where} of type {expected}"
