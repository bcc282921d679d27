"""Objects read as Go structs: what does not fit is an error, what is misspelt in case is known.

upstream: encoding/json (Go 1.26), and the types of k8s.io/apimachinery that read themselves.
"""

from collections.abc import Collection, Iterator
from operator import is_

from kyvsim.kubernetes.go_text import json_kind, to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.pod_security.go_types import (
    GoField,
    GoType,
    fields_of,
    fold,
    folded_fields,
    go_type,
)
from kyvsim.languages.classic.pod_security.own_readers import OwnReaderError, is_whole, read_itself


class MisfitError(Exception):
    """An object is no Go struct of its type; its text is Go's message."""


class _DoesNotFitError(Exception):
    """Something below does not fit; where and why is looked for afterwards."""


def read_object(value: Json, root: str) -> Json:
    """Return the object as its Go type `root` holds it: known fields by their names, without nulls.

    What needs no change is shared. Raises MisfitError with Go's message where a value does not fit.
    """
    kind = go_type(root)
    try:
        return _read(value, kind)
    except _DoesNotFitError:
        raise MisfitError(_explanation(value, kind)) from None


def _read(value: Json, kind: GoType) -> Json:
    if kind.struct:
        return _read_struct(value, kind)
    if kind.scalar is not None:
        if not _is_scalar(value, kind.scalar):
            raise _DoesNotFitError
        return value
    if kind.item:
        return _read_items(value, kind)
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
    if scalar is float:
        return kind in {int, float}
    return kind is scalar


def _read_struct(value: Json, kind: GoType) -> Json:
    if value.__class__ is not dict:
        raise _DoesNotFitError
    fields = fields_of(kind.name)
    changed: dict[str, Json] | None = None
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


def _with_known_names(value: dict[str, Json], struct: str) -> dict[str, Json]:
    """Return a map in which fields that are written in another case have their names.

    Keys come in the order in which Go writes maps; a later one wins, and maps come together.
    """
    fields, folded = fields_of(struct), folded_fields(struct)
    found: dict[str, Json] = {}
    for key in sorted(value):
        item = value[key]
        name = key if key in fields else folded.get(fold(key), key)
        field = fields.get(name)
        if field is not None and item is not None:
            item = _read(item, field.shape)
        if field is None or item is not None or field.nullable:
            found[name] = _merged(found.get(name), item)
    return found


def _merged(old: Json, new: Json) -> Json:
    if old.__class__ is not dict or new.__class__ is not dict:
        return new
    return {**old, **{key: _merged(old.get(key), item) for key, item in new.items()}}


def _read_items(value: Json, kind: GoType) -> Json:
    item_type = go_type(kind.item)
    if value.__class__ is not (list if kind.is_list else dict):
        raise _DoesNotFitError
    given: Collection[Json] = value.values() if isinstance(value, dict) else value
    items = [_zero(item_type) if item is None else _read(item, item_type) for item in given]
    if all(map(is_, items, given)):
        return value
    return items if kind.is_list else dict(zip(value, items, strict=True))


def _zero(kind: GoType) -> Json:
    """Return what an element is where null stands for it."""
    if kind.struct:
        return {}
    if kind.scalar.__class__ is range:
        return 0
    return kind.scalar() if isinstance(kind.scalar, type) else None


def _explanation(value: Json, kind: GoType) -> str:
    """Return Go's message: the first misfit, unless one of a type that reads itself ends it."""
    first = ""
    for ends, text in _problems(value, kind, ("", ())):
        if ends:
            return text
        first = first or text
    return first


def _problems(
    value: Json, kind: GoType, place: tuple[str, tuple[str, ...]]
) -> Iterator[tuple[bool, str]]:
    """Yield, for every misfit in Go's order, whether it ends the reading, and its message."""
    if value is None:
        return
    if kind.reads_itself:
        try:
            read_itself(value, kind.name)
        except OwnReaderError as error:
            yield True, error.message or _misfit(value, error.type, place)
    elif kind.struct and value.__class__ is dict:
        struct = kind.name.rpartition(".")[2]
        for key in sorted(value):
            field = _field_of(kind.name, key)
            if field is not None:
                yield from _problems(value[key], field.shape, (struct, (*place[1], *field.path)))
    elif kind.item and value.__class__ is (list if kind.is_list else dict):
        items = value if kind.is_list else [value[key] for key in sorted(value)]
        for item in items:
            yield from _problems(item, go_type(kind.item), place)
    elif kind.scalar is None or not _is_scalar(value, kind.scalar):
        yield False, _misfit(value, kind.name, place)


def _field_of(struct: str, key: str) -> GoField | None:
    fields = fields_of(struct)
    return fields.get(key) or fields.get(folded_fields(struct).get(fold(key), ""))


def _misfit(value: Json, wanted: str, place: tuple[str, tuple[str, ...]]) -> str:
    struct, path = place
    where = f"struct field {struct}.{'.'.join(path)}" if struct else "value"
    return f"json: cannot unmarshal {_described(value, wanted)} into Go {where} of type {wanted}"


def _described(value: Json, wanted: str) -> str:
    kind = json_kind(value)
    return f"number {to_json(value)}" if kind == "number" and wanted.startswith("int") else kind
