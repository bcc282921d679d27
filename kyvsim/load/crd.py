"""Checking documents against the whole CRD schemas of every policy kind; only `lint` does.

The schemas are JSON Schema, made from the CRDs. What differs from it is the API server's reading:
a null counts as a missing field, and `uniqueBy` names what tells the items of a list apart.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias

from kyvsim.kube.duration import parse_duration
from kyvsim.kube.go_layout import TimeError
from kyvsim.kube.go_time import parse_rfc3339
from kyvsim.kube.objects import Json
from kyvsim.kube.package_data import read_table
from kyvsim.load.structure import (
    Problem,
    bad_key,
    empty_text,
    missing_field,
    not_one_of,
    not_together,
    show_path,
    too_long,
    too_small,
    unknown_field,
    wrong_choice,
    wrong_form,
    wrong_type,
)
from kyvsim.model.source import Path

_Fault: TypeAlias = Any
"""A `jsonschema.ValidationError`, whose types are as loose as the data."""

_LARGEST = MappingProxyType({"int32": 1 << 31, "int64": 1 << 63})
_MANY = frozenset({"oneOf", "anyOf", "allOf"})


@cache
def _schemas() -> Mapping[str, Json]:
    """Return the package data: `kinds` by apiVersion/kind, and `$defs` that they share."""
    return MappingProxyType(read_table(__file__, "schemas", "crd.json"))


def has_crd(name: str) -> bool:
    """Return whether the CRD of an apiVersion/kind is known."""
    return name in _schemas()["kinds"]


def crd_problems(name: str, data: Json) -> tuple[Problem, ...]:
    """Return where data does not fit the CRD of its apiVersion/kind, in the order of the text."""
    schema = {**_schemas()["kinds"][name], "$defs": _schemas()["$defs"]}
    found = _validator_class()(schema).iter_errors(data)
    return tuple(problem for error in found for problem in _explain(error))


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 — slow, for lint only

    ours = {
        "type": _unless_null(Draft202012Validator.VALIDATORS["type"]),
        "enum": _unless_null(Draft202012Validator.VALIDATORS["enum"]),
        "required": _required,
        "format": _format,
        "uniqueBy": _unique,
    }
    return validators.extend(Draft202012Validator, ours)  # type: ignore[no-untyped-call]


def _unless_null(keyword: Any) -> Any:
    def check(validator: Any, value: Json, data: Json, schema: Json) -> Iterator[Any]:
        if data is not None:
            yield from keyword(validator, value, data, schema) or ()

    return check


def _required(validator: Any, names: list[str], data: Json, schema: Json) -> Iterator[Any]:
    del schema
    from jsonschema import ValidationError  # noqa: PLC0415 — slow, for lint only

    if validator.is_type(data, "object"):
        for name in names:
            if data.get(name) is None:
                yield ValidationError(name)


def _format(validator: Any, name: str, data: Json, schema: Json) -> Iterator[Any]:
    del validator, schema
    from jsonschema import ValidationError  # noqa: PLC0415 — slow, for lint only

    if not _has_format(name, data):
        yield ValidationError(name)


def _has_format(name: str, data: Json) -> bool:
    if name in _LARGEST and data.__class__ is int:
        return -_LARGEST[name] <= data < _LARGEST[name]
    if data.__class__ is not str:
        return True
    if name == "date-time":
        return _is_time(data)
    # Besides Go's spelling there is a lenient one, in which a number and a letter are enough.
    lenient = any(one.isdigit() for one in data) and any(one.isalpha() for one in data)
    return name != "duration" or lenient or parse_duration(data) is not None


def _is_time(text: str) -> bool:
    try:
        parse_rfc3339(text)
    except TimeError:
        return False
    return True


def _unique(validator: Any, keys: list[str], data: Json, schema: Json) -> Iterator[Any]:
    """Report each item of a list that has the keys of an earlier one."""
    del validator, schema
    from jsonschema import ValidationError  # noqa: PLC0415 — slow, for lint only

    seen: list[Json] = []
    for index, item in enumerate(data if data.__class__ is list else ()):
        if keys and item.__class__ is not dict:
            continue
        own = [item.get(key) for key in keys] if keys else item
        if own in seen:
            shown = own[0] if keys else own
            yield ValidationError(str(shown), path=(index,))
        seen.append(own)


def _explain(error: _Fault) -> Iterable[Problem]:
    path: Path = tuple(error.absolute_path)
    describe = _KEYWORDS.get(str(error.validator), _otherwise)
    return describe(error, path)


def _unknown(error: _Fault, path: Path) -> Iterator[Problem]:
    known = _part(error, "properties") or {}
    for name in error.instance:
        if name not in known:
            yield unknown_field((*path, name), known)


def _type(error: _Fault, path: Path) -> Iterator[Problem]:
    kind = error.validator_value
    first = kind if isinstance(kind, str) else kind[0]
    yield wrong_type(path, first, error.instance)


def _choices(error: _Fault, path: Path) -> Iterator[Problem]:
    """Return that one of some fields is wanted, or what keeps the nearest choice from fitting."""
    choices = error.validator_value
    if all(choice.keys() == {"required"} for choice in choices):
        yield not_one_of(path, [name for choice in choices for name in choice["required"]])
        return
    from jsonschema.exceptions import best_match  # noqa: PLC0415 — slow, for lint only

    nearest = best_match(error.context)
    if nearest is None or nearest.validator in _MANY:
        yield Problem("KV017", path, f"`{show_path(path)}` fits none of the forms allowed")
    else:
        yield from _explain(nearest)


def _few(error: _Fault, path: Path) -> Iterator[Problem]:
    least, found = error.validator_value, len(error.instance)
    noun = "item" if least == 1 else "items"
    text = f"`{show_path(path)}` must have at least {least} {noun}, not {found}"
    yield Problem("KV016", path, text)


def _pattern(error: _Fault, path: Path) -> Iterator[Problem]:
    if "propertyNames" in error.absolute_schema_path:
        yield bad_key((*path, error.instance))
    else:
        yield wrong_form(path, error.validator_value, error.instance)


def _kind_of_text(error: _Fault, path: Path) -> Iterator[Problem]:
    text = f"`{show_path(path)}`: `{error.instance}` is no {error.validator_value}"
    yield Problem("KV016", path, text)


def _duplicate(error: _Fault, path: Path) -> Iterator[Problem]:
    text = f"`{show_path(path)}` repeats `{error.message}`"
    yield Problem("KV016", path, text)


def _otherwise(error: _Fault, path: Path) -> Iterator[Problem]:
    yield Problem("KV017", path, f"`{show_path(path)}` does not fit `{error.validator}`")


def _part(error: _Fault, name: str) -> Json:
    schema = error.schema
    return schema.get(name) if isinstance(schema, Mapping) else None


_KEYWORDS: Mapping[str, Callable[[_Fault, Path], Iterable[Problem]]] = MappingProxyType(
    {
        "additionalProperties": _unknown,
        "type": _type,
        "enum": lambda error, path: (wrong_choice(path, error.validator_value, error.instance),),
        "required": lambda error, path: (missing_field(path, error.message),),
        "oneOf": _choices,
        "anyOf": _choices,
        "not": lambda error, path: (not_together(path, error.validator_value["required"]),),
        "minItems": _few,
        "minimum": lambda error, path: (too_small(path, error.validator_value),),
        "minLength": lambda _, path: (empty_text(path),),
        "maxLength": lambda error, path: (too_long(path, error.validator_value, error.instance),),
        "pattern": _pattern,
        "format": _kind_of_text,
        "uniqueBy": _duplicate,
    }
)
