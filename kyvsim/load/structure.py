"""What does not fit the schema of a document, in our words, and the schemas of our own files.

Codes: KV012 a field that does not exist, KV013 a value of another type, KV014 a text that is none
of the choices, KV015 a field that is missing, KV016 a value out of its bounds, KV017 fields that do
not go together or fit no form.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.package_data import read_table
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.source import Document, Path
from kyvsim.schema.findings import SchemaFinding, duplicates, findings_as_written
from kyvsim.schema.node import TYPE_NAMES, SchemaNode, completed, schemas_of


class Problem(NamedTuple):
    """Where data does not fit, and how."""

    code: str
    path: Path
    message: str


_TYPES = MappingProxyType(
    {
        "object": "a mapping",
        "array": "a list",
        "string": "text",
        "boolean": "a boolean",
        "integer": "a whole number",
        "number": "a number",
        "null": "null",
    }
)


def load_schemas(file_name: str) -> Mapping[str, SchemaNode]:
    """Return the schemas of a file in `load/schemas`, by apiVersion/kind."""
    return schemas_of(read_table(__file__, "schemas", file_name))


def check(schema: SchemaNode, data: Json) -> tuple[Json, tuple[Problem, ...]]:
    """Return `data` with defaults filled in (sharing what has none), and what does not fit.

    A null where none is allowed counts as a missing field, as it does for the API server.
    """
    filled = completed(data, schema)
    found = findings_as_written(filled, schema)
    of_wrong_type = {one.path for one in found if one.word == "type"}
    found += (one for one in duplicates(filled, schema) if one.path not in of_wrong_type)
    return filled, tuple(map(worded, found))


def diagnostics(document: Document, problems: Iterable[Problem]) -> tuple[Diagnostic, ...]:
    """Return `problems` as errors with their positions in `document`."""
    return tuple(
        Diagnostic(problem.code, Severity.ERROR, problem.message, document.locate(problem.path))
        for problem in problems
    )


def show_path(path: Path) -> str:
    """Return a path as it is written in messages, such as `spec.rules[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if step.__class__ is int else f".{step}"
    return text.removeprefix(".") or "the document"


def worded(finding: SchemaFinding) -> Problem:
    """Return in our words what does not fit."""
    return _WORDS.get(finding.word, _otherwise)(finding, show_path(finding.path))


def not_one_of(path: Path, names: Iterable[str]) -> Problem:
    """Return that the mapping at `path` has none or too many of some fields."""
    listed = ", ".join(f"`{name}`" for name in names)
    return Problem("KV017", path, f"`{show_path(path)}` must have exactly one of {listed}")


def _unknown(finding: SchemaFinding, shown: str) -> Problem:
    hint = likely(str(finding.path[-1]), finding.limit)
    return Problem("KV012", finding.path, f"unknown field `{shown}`{hint}")


def _type(finding: SchemaFinding, shown: str) -> Problem:
    wanted = " or ".join(_TYPES[one] for one in finding.limit)
    found = _TYPES[TYPE_NAMES[finding.value.__class__]]
    return Problem("KV013", finding.path, f"`{shown}` must be {wanted}, not {found}")


def _choice(finding: SchemaFinding, shown: str) -> Problem:
    listed = ", ".join(f"`{value}`" for value in finding.limit)
    text = f"`{shown}` must be one of {listed}, not `{finding.value}`"
    return Problem("KV014", finding.path, text)


def _required(finding: SchemaFinding, _: str) -> Problem:
    name = show_path((*finding.path, finding.limit))
    return Problem("KV015", finding.path, f"`{name}` is required")


def _key(finding: SchemaFinding, _: str) -> Problem:
    *above, key = finding.path
    text = f"`{key}` is no valid key in `{show_path(tuple(above))}`"
    return Problem("KV016", finding.path, text)


def _pattern(finding: SchemaFinding, shown: str) -> Problem:
    text = f"`{shown}`: `{finding.value}` does not fit `{finding.limit}`"
    return Problem("KV016", finding.path, text)


def _format(finding: SchemaFinding, shown: str) -> Problem:
    return Problem("KV016", finding.path, f"`{shown}`: `{finding.value}` is no {finding.limit}")


def _least(finding: SchemaFinding, shown: str) -> Problem:
    return Problem("KV016", finding.path, f"`{shown}` must be at least {finding.limit}")


def _too_long(finding: SchemaFinding, shown: str) -> Problem:
    size = len(finding.value)
    text = f"`{shown}` has {size} characters, more than the {finding.limit} allowed"
    return Problem("KV016", finding.path, text)


def _too_short(finding: SchemaFinding, shown: str) -> Problem:
    return Problem("KV016", finding.path, f"`{shown}` must not be empty")


def _too_few(finding: SchemaFinding, shown: str) -> Problem:
    noun = "item" if finding.limit == 1 else "items"
    text = f"`{shown}` must have at least {finding.limit} {noun}, not {len(finding.value)}"
    return Problem("KV016", finding.path, text)


def _duplicate(finding: SchemaFinding, _: str) -> Problem:
    own = finding.value
    key = next(iter(own.values()), None) if own.__class__ is dict else own
    text = f"`{show_path(finding.path)}` repeats `{key}`"
    return Problem("KV016", finding.path, text)


def _one_of(finding: SchemaFinding, shown: str) -> Problem:
    if all(choice.keys() == {"required"} for choice in finding.limit):
        names = [name for choice in finding.limit for name in choice["required"]]
        return not_one_of(finding.path, names)
    return Problem("KV017", finding.path, f"`{shown}` fits none of the forms allowed")


def _not(finding: SchemaFinding, shown: str) -> Problem:
    names = finding.limit.get("required", ())
    if finding.limit.keys() != {"required"}:
        return _otherwise(finding, shown)
    listed = " and ".join(f"`{name}`" for name in names)
    return Problem("KV017", finding.path, f"`{shown}` must not have both {listed}")


def _otherwise(finding: SchemaFinding, shown: str) -> Problem:
    return Problem("KV017", finding.path, f"`{shown}` does not fit `{finding.word}`")


_WORDS: Mapping[str, Callable[[SchemaFinding, str], Problem]] = MappingProxyType(
    {
        "unknown": _unknown,
        "type": _type,
        "enum": _choice,
        "required": _required,
        "propertyNames": _key,
        "pattern": _pattern,
        "format": _format,
        "minimum": _least,
        "maxLength": _too_long,
        "minLength": _too_short,
        "minItems": _too_few,
        "duplicate": _duplicate,
        "oneOf": _one_of,
        "anyOf": _one_of,
        "not": _not,
    }
)
