"""Our structural schemas as JSON Schema, which editors complete and check by."""

from collections.abc import Mapping

from kyvsim.kube.objects import Json
from kyvsim.schema.node import Node, SchemaRef

_DIALECT = "http://json-schema.org/draft-07/schema#"
_KEPT = ("type", "description", "enum", "minLength", "maxLength", "minimum", "required")


def json_schema(schema: Node, title: str) -> Json:
    """Return a schema as JSON Schema (draft 07), with the named ones that it refers to."""
    known = schema.named.table
    return {
        "$schema": _DIALECT,
        "title": title,
        **_converted(schema.words, known),
        "definitions": {name: _converted(words, known) for name, words in known.items()},
    }


def _converted(ref: SchemaRef, known: Mapping[str, Json]) -> Json:
    if isinstance(ref, str):
        return {"$ref": f"#/definitions/{ref}"} if ref in known else {"type": ref}
    found = {name: ref[name] for name in _KEPT if name in ref}
    if "form" in ref:
        found["pattern"] = f"^({ref['form']})$"
    if "either" in ref:
        found["anyOf"] = [_converted(one, known) for one in ref["either"]]
    if "items" in ref:
        found["items"] = _converted(ref["items"], known)
    if ref.get("type") == "object":
        found |= _members(ref, known)
    return found


def _members(ref: Mapping[str, Json], known: Mapping[str, Json]) -> Json:
    properties = ref.get("properties") or {}
    found: dict[str, Json] = {}
    if properties:
        found["properties"] = {name: _converted(one, known) for name, one in properties.items()}
    if "x-kubernetes-preserve-unknown-fields" not in ref:
        found["additionalProperties"] = False
    if "oneOf" in ref:
        found["oneOf"] = ref["oneOf"]
    return found
