"""Schema errors of documents with kyvsim's messages, and the schemas of its own files.

Codes: KV012 an unknown field, KV013 a wrong type, KV014 not one of the choices, KV015 a missing
field, KV016 a value out of bounds, KV017 fields that exclude each other or match no form.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json, Path, path_text
from kyvsim.kubernetes.package_data import read_table
from kyvsim.model.diagnostic import Diagnostic, error_in, likely, nearest
from kyvsim.model.source import Document
from kyvsim.schema.node import (
    TYPE_NAMES,
    SchemaFinding,
    SchemaNode,
    SchemaRef,
    completed,
    duplicates,
    findings_as_written,
    schemas_of,
)


class Problem(NamedTuple):
    """A schema error."""

    code: str
    path: Path
    message: str


_TYPES: Mapping[str, str] = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "boolean": "a boolean",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}


def load_schemas(file_name: str) -> Mapping[str, SchemaNode]:
    """Return the schemas of a file in `load/schemas`, by apiVersion/kind."""
    return schemas_of(read_table(__file__, "schemas", file_name))


def check(schema: SchemaNode, data: object) -> tuple[Json, tuple[Problem, ...]]:
    """Return `data` with defaults, and schema errors.

    A null that is not allowed counts as missing, as in the API server.
    """
    filled = completed(data, schema)
    findings = findings_as_written(filled, schema)
    of_wrong_type = {finding.path for finding in findings if finding.word == "type"}
    findings += (one for one in duplicates(filled, schema) if one.path not in of_wrong_type)
    problems = (
        _placed(one, schema, filled) if one.word == "unknown" else worded(one) for one in findings
    )
    return filled, tuple(problems)


_EVERYWHERE = frozenset({"apiVersion", "kind", "metadata", "name", "namespace", "spec"})
"""Fields of many objects, whose right place is uncertain."""
_NEAR = 0.8


def _placed(finding: SchemaFinding, schema: SchemaNode, data: Json) -> Problem:
    """Return the error about an unknown field, with the place where the field is known.

    This is an object that contains it, or one beside it: most often, the indentation is wrong.
    """
    problem = worded(finding)
    *steps, name = finding.path
    instead = {_SUCCESSORS.get(str(name)), _MEANT.get(str(name))}
    # The same name elsewhere is better than a name here that is not very similar.
    is_near = nearest(str(name), finding.limit, _NEAR) or not instead.isdisjoint(finding.limit)
    if name in _EVERYWHERE or is_near:
        return problem
    node: SchemaNode | None = schema
    owners: list[tuple[Path, SchemaNode]] = []
    for index, step in enumerate([*steps, None]):
        if node is None:
            return problem
        node = node.meant_for(data) if node.choices else node
        owners.insert(0, (tuple(steps[:index]), node))
        if step is not None:
            data = data[step]
            node = node.items if isinstance(step, int) else node.child(str(step))
    path, own = owners.pop(0)
    beside = ((one, own.child(one)) for one in data)
    owners += [((*path, one), node) for one, node in beside if node is not None]
    places = [where for where, node in owners if name in node.properties][:1]
    if not places:
        inside = ((one, own.child(one)) for one in own.properties)
        places = [(*path, one) for one, node in inside if node and name in node.properties]
    if len(places) != 1:
        return problem
    text = problem.message.partition(": did you mean")[0]
    return problem._replace(message=f"{text}: it is a field of `{show_path(places[0])}`")


def diagnostics(document: Document, problems: Iterable[Problem]) -> tuple[Diagnostic, ...]:
    """Return `problems` as errors with their positions in `document`."""
    return tuple(
        error_in(document, problem.code, problem.message, problem.path) for problem in problems
    )


def show_path(path: Path) -> str:
    """Return a path for messages, such as `spec.rules[0].name`."""
    return path_text(path) or "the document"


def worded(finding: SchemaFinding) -> Problem:
    """Return the error for a finding."""
    code, text = _WORDS.get(finding.word, _OTHER)
    return Problem(code, finding.path, text(finding, show_path(finding.path)))


def not_one_of(path: Path, names: Iterable[str]) -> Problem:
    """Return the error that the mapping at `path` has none or several of some fields."""
    return Problem("KV017", path, _exactly_one(show_path(path), names))


def _exactly_one(shown: str, names: Iterable[str]) -> str:
    return f"`{shown}` must have exactly one of {', '.join(f'`{name}`' for name in names)}"


def _type(finding: SchemaFinding, shown: str) -> str:
    expected = " or ".join(_TYPES[type_name] for type_name in finding.limit)
    actual = _TYPES[TYPE_NAMES[finding.value.__class__]]
    is_word = [*finding.limit] == ["string"] and isinstance(finding.value, bool | int | float)
    hint = " (write it in quotes)" if is_word else ""
    what = f"`{shown}`" if finding.path else shown
    return f"{what} must be {expected}, not {actual}{hint}"


def _choice(finding: SchemaFinding, shown: str) -> str:
    listed = ", ".join(f"`{value}`" for value in finding.limit)
    near = likely(str(finding.value), map(str, finding.limit))
    if "${" in str(finding.value):
        near = ": substitute the variable first, such as with `envsubst`"
    return f"`{shown}` must be one of {listed}, not `{finding.value}`{near}"


def _too_few(finding: SchemaFinding, shown: str) -> str:
    noun = "item" if finding.limit == 1 else "items"
    return f"`{shown}` must have at least {finding.limit} {noun}, not {len(finding.value)}"


def _duplicate(finding: SchemaFinding, shown: str) -> str:
    own = finding.value
    key = next(iter(own.values()), None) if own.__class__ is dict else own
    return f"`{shown}` repeats `{key}`"


_START_OF_NAMES = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _pattern(finding: SchemaFinding, shown: str) -> str:
    text = f"`{shown}`: `{finding.value}` does not match `{finding.limit}`"
    if not finding.limit.startswith(_START_OF_NAMES) or "(" in finding.value:
        return text  # such as chainsaw's `($namespace)`
    meant = re.sub("[^a-z0-9.-]+", "-", finding.value.lower()).strip("-.")
    hint = f", such as `{meant}`" if meant else ""
    return f"{text}: names have lowercase letters, digits, `-` and `.`{hint}"


def _one_of(finding: SchemaFinding, shown: str) -> str:
    if all(choice.keys() == {"required"} for choice in finding.limit):
        return _exactly_one(
            shown, [name for choice in finding.limit for name in choice["required"]]
        )
    return f"`{shown}` matches none of the allowed forms"


def _not(finding: SchemaFinding, shown: str) -> str:
    if finding.limit.keys() != {"required"}:
        return _OTHER[1](finding, shown)
    listed = " and ".join(f"`{name}`" for name in finding.limit["required"])
    return f"`{shown}` must not have both {listed}"


_SUCCESSORS: Mapping[str, str] = {"overlay": "patchStrategicMerge", "patches": "patchesJson6902"}
"""Fields that Kyverno removed, with the fields of the same object that replaced them."""
_MEANT: Mapping[str, str] = dict.fromkeys(("label", "labels", "labelSelector"), "selector")
"""Fields of other objects that mean the same."""


def _unknown(finding: SchemaFinding, shown: str) -> str:
    name = str(finding.path[-1])
    successor = _SUCCESSORS.get(name)
    if successor in finding.limit:
        return f"unknown field `{shown}`: `{successor}` replaced it"
    if _MEANT.get(name) in finding.limit:
        return f"unknown field `{shown}`: did you mean `{_MEANT[name]}`?"
    hint = likely(name, finding.limit)
    if not hint and "matchLabels" in finding.limit:
        hint = ": labels are in `matchLabels`"
    return f"unknown field `{shown}`{hint}"


def _unit_hint(finding: SchemaFinding) -> str:
    is_number = finding.limit == "duration" and str(finding.value).isdecimal()
    return f", such as `{finding.value}s`" if is_number else ""


_OTHER: tuple[str, Callable[[SchemaFinding, str], str]] = (
    "KV017",
    lambda finding, shown: f"`{shown}` violates the schema keyword `{finding.word}`",
)
_WORDS: Mapping[str, tuple[str, Callable[[SchemaFinding, str], str]]] = {
    "unknown": ("KV012", _unknown),
    "type": ("KV013", _type),
    "enum": ("KV014", _choice),
    "required": (
        "KV015",
        lambda finding, _: f"`{show_path((*finding.path, finding.limit))}` is required",
    ),
    "propertyNames": (
        "KV016",
        lambda finding, _: (
            f"`{finding.path[-1]}` is not a valid key in `{show_path(finding.path[:-1])}`"
        ),
    ),
    "pattern": ("KV016", _pattern),
    "format": (
        "KV016",
        lambda finding, shown: (
            f"`{shown}`: `{finding.value}` is not a valid {finding.limit}{_unit_hint(finding)}"
        ),
    ),
    "minimum": ("KV016", lambda finding, shown: f"`{shown}` must be at least {finding.limit}"),
    "maxLength": (
        "KV016",
        lambda finding, shown: (
            f"`{shown}` has {len(finding.value)} characters, more than the {finding.limit} allowed"
        ),
    ),
    "minLength": ("KV016", lambda _, shown: f"`{shown}` must not be empty"),
    "minItems": ("KV016", _too_few),
    "duplicate": ("KV016", _duplicate),
    "oneOf": ("KV017", _one_of),
    "anyOf": ("KV017", _one_of),
    "not": ("KV017", _not),
}
"""The code of a finding and its text, by schema keyword."""


# Our schemas as JSON Schema, for editors.

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
"""The dialect with the best support in editors."""
_KEPT = (
    *("type", "description", "default", "enum", "pattern", "required"),
    *("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"),
)
_COMBINED = ("anyOf", "oneOf", "allOf", "not")
"""In our files, these do not contain names of schemas."""
_REFERENCE = "#/definitions/"


def json_schema(schema: SchemaNode, title: str) -> Json:
    """Return a schema as JSON Schema (draft 07), with the named schemas that it refers to."""
    known = schema.named.table
    root = _converted(schema.words, known)
    definitions: dict[str, object] = {}
    pending = [*_references(root)]
    while pending:
        name = pending.pop()
        if name not in definitions:
            definitions[name] = _converted(known[name], known)
            pending += _references(definitions[name])
    in_order = {name: definitions[name] for name in known if name in definitions}
    return {"$schema": DIALECT, "title": title, **root, "definitions": in_order}


def _references(converted: object) -> Iterator[str]:
    if isinstance(converted, dict):
        reference = converted.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(_REFERENCE)
        for value in converted.values():
            yield from _references(value)
    elif isinstance(converted, list):
        for value in converted:
            yield from _references(value)


def _converted(ref: SchemaRef, known: Mapping[str, object]) -> Json:
    if isinstance(ref, str):
        return {"$ref": f"{_REFERENCE}{ref}"} if ref in known else {"type": ref}
    result = {name: ref[name] for name in _KEPT if name in ref}
    if ref.get("nullable") and "type" in result:
        result["type"] = [result["type"], "null"]
    if "form" in ref:
        result["pattern"] = f"^({ref['form']})$"
    if "either" in ref:
        result["anyOf"] = [_converted(schema, known) for schema in ref["either"]]
    if "items" in ref:
        result["items"] = _converted(ref["items"], known)
    if ref.get("type") == "object":
        properties = ref.get("properties") or {}
        further = ref.get("additionalProperties")
        members: dict[str, object] = {}
        if properties:
            members["properties"] = {
                name: _converted(schema, known) for name, schema in properties.items()
            }
        if isinstance(further, str | Mapping):
            members["additionalProperties"] = _converted(further, known)
        elif further is not True and "x-kubernetes-preserve-unknown-fields" not in ref:
            members["additionalProperties"] = False
        result |= members
    return {**result, **{name: ref[name] for name in _COMBINED if name in ref}}
