"""Our structural schemas as JSON Schema, which editors complete and check by."""

from collections.abc import Iterator, Mapping
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.schema.node import SchemaNode, SchemaRef

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
"""What all our schemas are written in: editors know it best."""
_KEPT = (
    *("type", "description", "default", "enum", "pattern", "required"),
    *("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"),
)
_COMBINED = ("anyOf", "oneOf", "allOf", "not")
"""These hold no names of schemas, in ours."""
_REFERENCE = "#/definitions/"


def json_schema(schema: SchemaNode, title: str) -> Json:
    """Return a schema as JSON Schema (draft 07), with the named ones that it leads to."""
    known = schema.named.table
    root = _converted(schema.words, known)
    definitions: dict[str, Json] = {}
    pending = [*_references(root)]
    while pending:
        name = pending.pop()
        if name not in definitions:
            definitions[name] = _converted(known[name], known)
            pending += _references(definitions[name])
    in_order = {name: definitions[name] for name in known if name in definitions}
    return {"$schema": DIALECT, "title": title, **root, "definitions": in_order}


def _references(converted: Json) -> Iterator[str]:
    """Yield the names of the schemas to which one refers."""
    if isinstance(converted, dict):
        reference = converted.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(_REFERENCE)
        for one in converted.values():
            yield from _references(one)
    elif isinstance(converted, list):
        for one in converted:
            yield from _references(one)


def _converted(ref: SchemaRef, known: Mapping[str, Json]) -> Json:
    if isinstance(ref, str):
        return {"$ref": f"{_REFERENCE}{ref}"} if ref in known else {"type": ref}
    found = {name: ref[name] for name in _KEPT if name in ref}
    if ref.get("nullable") and "type" in found:
        found["type"] = [found["type"], "null"]
    if "form" in ref:
        found["pattern"] = f"^({ref['form']})$"
    if "either" in ref:
        found["anyOf"] = [_converted(one, known) for one in ref["either"]]
    if "items" in ref:
        found["items"] = _converted(ref["items"], known)
    if ref.get("type") == "object":
        found |= _members(ref, known)
    return {**found, **{name: ref[name] for name in _COMBINED if name in ref}}


def _members(ref: Mapping[str, Json], known: Mapping[str, Json]) -> Json:
    properties = ref.get("properties") or {}
    further = ref.get("additionalProperties")
    found: dict[str, Json] = {}
    if properties:
        found["properties"] = {name: _converted(one, known) for name, one in properties.items()}
    if isinstance(further, str | Mapping):
        found["additionalProperties"] = _converted(further, known)
    elif further is not True and "x-kubernetes-preserve-unknown-fields" not in ref:
        found["additionalProperties"] = False
    return found
