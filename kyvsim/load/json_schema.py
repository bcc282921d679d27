"""Our structural schemas as JSON Schema, which editors complete and check by."""

from collections.abc import Mapping

from kyvsim.kube.objects import Json
from kyvsim.load.structure import Schema, SchemaRef

_DIALECT = "http://json-schema.org/draft-07/schema#"
_KEPT = ("type", "description", "enum", "minLength", "maxLength", "minimum", "required")


def json_schema(schema: Schema, title: str) -> Json:
    """Return a schema as JSON Schema (draft 07); shared ones become definitions by their title."""
    names = tuple(one["title"] for one in schema.shared)
    shared = {one["title"]: _converted(one, names) for one in schema.shared}
    return {
        "$schema": _DIALECT,
        "title": title,
        **_converted(schema.root, names),
        "definitions": shared,
    }


def _converted(ref: SchemaRef, names: tuple[str, ...]) -> Json:
    if isinstance(ref, int):
        return {"$ref": f"#/definitions/{names[ref]}"}
    found = {name: ref[name] for name in _KEPT if name in ref}
    if "pattern" in ref:
        found["pattern"] = f"^({ref['pattern']})$"
    if "either" in ref:
        found["anyOf"] = [_converted(one, names) for one in ref["either"]]
    if "items" in ref:
        found["items"] = _converted(ref["items"], names)
    if ref.get("type") == "object":
        found |= _members(ref, names)
    return found


def _members(ref: Mapping[str, Json], names: tuple[str, ...]) -> Json:
    properties = ref.get("properties") or {}
    found: dict[str, Json] = {}
    if properties:
        found["properties"] = {name: _converted(one, names) for name, one in properties.items()}
    if "open" not in ref:
        found["additionalProperties"] = False
    if "oneOf" in ref:
        found["oneOf"] = [{"required": [name]} for name in ref["oneOf"]]
    return found
