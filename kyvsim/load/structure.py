"""Checking plain data against compact structural schemas, and filling in their defaults.

A schema is a mapping with `type`, `properties`, `defaults` (values of missing properties), `items`,
`more` (schema of further keys), `keys` (expression that further keys fit), `required`, `oneOf`
(exactly one of these names), `notAll` (not all of these names), `enum`, `pattern`, `minLength`,
`maxLength`, `minimum`, `nullable` and `open` (unknown fields are kept); or with `either`, schemas
of which that of the fitting type counts. In place of a schema may stand an index into the shared
ones. The rules are those of the Kubernetes API server for custom resources.

Codes: KV012 a field that does not exist, KV013 a value of another type, KV014 a text that is none
of the choices, KV015 a field that is missing, KV016 a value out of its bounds, KV017 fields that do
not go together or fit no form.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.kube.package_data import read_table
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Path

SchemaRef: TypeAlias = int | Mapping[str, Json]


class Schema(NamedTuple):
    """A schema, and the list that its indices point into."""

    root: SchemaRef
    shared: Sequence[Mapping[str, Json]] = ()


class Problem(NamedTuple):
    """Where data does not fit, and how."""

    code: str
    path: Path
    message: str


class _Walk(NamedTuple):
    shared: Sequence[Mapping[str, Json]]
    problems: list[Problem]


_LONGEST_KEY = 317
"""A DNS subdomain, a slash and a name."""

_NAMES = MappingProxyType(
    {
        dict: "a mapping",
        list: "a list",
        str: "text",
        bool: "a boolean",
        int: "a whole number",
        float: "a number",
        type(None): "null",
    }
)
_TYPES = MappingProxyType(
    {
        "object": "a mapping",
        "array": "a list",
        "string": "text",
        "boolean": "a boolean",
        "integer": "a whole number",
        "number": "a number",
    }
)


def load_schemas(file_name: str) -> Mapping[str, Schema]:
    """Return the schemas of a file in `load/schemas`, by apiVersion/kind."""
    data = read_table(__file__, "schemas", file_name)
    shared = data.get("shared", ())
    return {name: Schema(root, shared) for name, root in data["kinds"].items()}


def check(schema: Schema, data: Json) -> tuple[Json, tuple[Problem, ...]]:
    """Return `data` with defaults filled in (sharing what has none), and what does not fit.

    A null where none is allowed counts as a missing field, as it does for the API server.
    """
    walk = _Walk(schema.shared, [])
    filled = _visit(walk, schema.root, data, ())
    return filled, tuple(walk.problems)


def diagnostics(document: Document, problems: Iterable[Problem]) -> tuple[Diagnostic, ...]:
    """Return `problems` as errors with their positions in `document`."""
    return tuple(
        Diagnostic(problem.code, Severity.ERROR, problem.message, document.locate(problem.path))
        for problem in problems
    )


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` with the likely spelling of `word`, or ""."""
    import difflib  # noqa: PLC0415 — only needed where something is misspelled

    candidates = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), candidates, n=1, cutoff=0.6)
    return f": did you mean `{candidates[close[0]]}`?" if close else ""


def show_path(path: Path) -> str:
    """Return a path as it is written in messages, such as `spec.rules[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if step.__class__ is int else f".{step}"
    return text.removeprefix(".") or "the document"


def unknown_field(path: Path, known: Iterable[str]) -> Problem:
    """Return that a field is none of the known ones, with its likely spelling."""
    hint = suggestion(str(path[-1]), known)
    return Problem("KV012", path, f"unknown field `{show_path(path)}`{hint}")


def wrong_type(path: Path, expected: str, data: Json) -> Problem:
    """Return that data is not of the type that a schema names."""
    wanted, found = _TYPES[expected], _NAMES[data.__class__]
    return Problem("KV013", path, f"`{show_path(path)}` must be {wanted}, not {found}")


def wrong_types(path: Path, expected: Iterable[str], data: Json) -> Problem:
    """Return that data is of none of the types that a schema names."""
    wanted, found = " or ".join(_TYPES[one] for one in expected), _NAMES[data.__class__]
    return Problem("KV013", path, f"`{show_path(path)}` must be {wanted}, not {found}")


def wrong_choice(path: Path, allowed: Iterable[Json], data: Json) -> Problem:
    """Return that data is none of the values allowed."""
    listed = ", ".join(f"`{value}`" for value in allowed)
    return Problem("KV014", path, f"`{show_path(path)}` must be one of {listed}, not `{data}`")


def missing_field(path: Path, name: str) -> Problem:
    """Return that the mapping at `path` lacks a field."""
    return Problem("KV015", path, f"`{show_path((*path, name))}` is required")


def bad_key(path: Path) -> Problem:
    """Return that the last step of `path` is a key of a wrong form."""
    return Problem("KV016", path, f"`{path[-1]}` is no valid key in `{show_path(path[:-1])}`")


def wrong_form(path: Path, pattern: str, data: Json) -> Problem:
    """Return that text does not fit an expression."""
    return Problem("KV016", path, f"`{show_path(path)}`: `{data}` does not fit `{pattern}`")


def too_small(path: Path, least: Json) -> Problem:
    """Return that a number is below the least one allowed."""
    return Problem("KV016", path, f"`{show_path(path)}` must be at least {least}")


def too_long(path: Path, limit: int, data: str) -> Problem:
    """Return that a text has more characters than allowed."""
    text = f"`{show_path(path)}` has {len(data)} characters, more than the {limit} allowed"
    return Problem("KV016", path, text)


def empty_text(path: Path) -> Problem:
    """Return that a text which needs characters has none."""
    return Problem("KV016", path, f"`{show_path(path)}` must not be empty")


def not_one_of(path: Path, names: Iterable[str]) -> Problem:
    """Return that the mapping at `path` has none or too many of some fields."""
    listed = ", ".join(f"`{name}`" for name in names)
    return Problem("KV017", path, f"`{show_path(path)}` must have exactly one of {listed}")


def not_together(path: Path, names: Iterable[str]) -> Problem:
    """Return that the mapping at `path` has fields that exclude each other."""
    listed = " and ".join(f"`{name}`" for name in names)
    return Problem("KV017", path, f"`{show_path(path)}` must not have both {listed}")


def _resolve(walk: _Walk, ref: SchemaRef) -> Mapping[str, Json]:
    return walk.shared[ref] if isinstance(ref, int) else ref


def _visit(walk: _Walk, ref: SchemaRef, data: Json, path: Path) -> Json:
    """Return `data` with defaults; problems go to the walk."""
    schema = _resolve(walk, ref)
    if "either" in schema:
        return _visit_either(walk, schema["either"], data, path)
    kind = schema.get("type")
    if kind is None or (data is None and "nullable" in schema):
        return data
    if not _FITS[kind](data):
        walk.problems.append(wrong_type(path, kind, data))
        return data
    if kind == "object":
        return _visit_mapping(walk, schema, data, path)
    if kind == "array":
        return _visit_list(walk, schema, data, path)
    _check_scalar(walk, schema, data, path)
    return data


def _visit_either(walk: _Walk, refs: Sequence[SchemaRef], data: Json, path: Path) -> Json:
    """Return `data` with the defaults of the schema whose type it has."""
    types = [_resolve(walk, ref)["type"] for ref in refs]
    for ref, kind in zip(refs, types, strict=True):
        if _FITS[kind](data):
            return _visit(walk, ref, data, path)
    walk.problems.append(wrong_types(path, types, data))
    return data


def _visit_mapping(
    walk: _Walk, schema: Mapping[str, Json], data: dict[str, Json], path: Path
) -> Json:
    properties = schema.get("properties") or {}
    filled = {}
    changed = False
    for name, value in data.items():
        child = properties.get(name)
        if child is None:
            child = _further_key(walk, schema, (*path, name))
        if child is None:
            filled[name] = value
        elif value is None and "nullable" not in _resolve(walk, child):
            changed = True
        else:
            new = filled[name] = _visit(walk, child, value, (*path, name))
            changed = changed or new is not value
    for name, value in schema.get("defaults", {}).items():
        if name not in filled:
            filled[name] = value
            changed = True
    _check_members(walk, schema, filled, path)
    return filled if changed else data


def _further_key(walk: _Walk, schema: Mapping[str, Json], path: Path) -> SchemaRef | None:
    """Return the schema for a key that is none of the properties, None if any value will do."""
    name = str(path[-1])
    child: SchemaRef | None = schema.get("more")
    if child is None:
        if "open" not in schema:
            walk.problems.append(unknown_field(path, schema.get("properties", ())))
        return None
    if "keys" in schema and (len(name) > _LONGEST_KEY or not re.fullmatch(schema["keys"], name)):
        walk.problems.append(bad_key(path))
    return child


def _check_members(
    walk: _Walk, schema: Mapping[str, Json], data: Mapping[str, Json], path: Path
) -> None:
    for name in schema.get("required", ()):
        if name not in data:
            walk.problems.append(missing_field(path, name))
    if "oneOf" in schema and sum(name in data for name in schema["oneOf"]) != 1:
        walk.problems.append(not_one_of(path, schema["oneOf"]))
    if "notAll" in schema and all(name in data for name in schema["notAll"]):
        walk.problems.append(not_together(path, schema["notAll"]))


def _visit_list(walk: _Walk, schema: Mapping[str, Json], data: list[Json], path: Path) -> Json:
    items = schema.get("items")
    if items is None:
        return data
    filled = [_visit(walk, items, item, (*path, index)) for index, item in enumerate(data)]
    if all(new is old for new, old in zip(filled, data, strict=True)):
        return data
    return filled


def _check_scalar(walk: _Walk, schema: Mapping[str, Json], data: Json, path: Path) -> None:
    if "enum" in schema and data not in schema["enum"]:
        walk.problems.append(wrong_choice(path, schema["enum"], data))
    if data.__class__ is not str:
        if "minimum" in schema and data < schema["minimum"]:
            walk.problems.append(too_small(path, schema["minimum"]))
        return
    length = len(data)
    if length > schema.get("maxLength", length):
        walk.problems.append(too_long(path, schema["maxLength"], data))
    elif length < schema.get("minLength", 0):
        walk.problems.append(empty_text(path))
    elif "pattern" in schema and not re.fullmatch(schema["pattern"], data):
        walk.problems.append(wrong_form(path, schema["pattern"], data))


def _is_whole(data: Json) -> bool:
    return data.__class__ is int or (data.__class__ is float and data.is_integer())


_FITS: Mapping[str, Callable[[Json], bool]] = MappingProxyType(
    {
        "object": lambda data: data.__class__ is dict,
        "array": lambda data: data.__class__ is list,
        "string": lambda data: data.__class__ is str,
        "boolean": lambda data: data.__class__ is bool,
        "integer": _is_whole,
        "number": lambda data: data.__class__ is int or data.__class__ is float,
    }
)
