"""Make `kyvsim/load/schemas/crd.json`: the CRDs of all policy kinds as one JSON Schema.

    python tests/package_data/make_crd_schemas.py ../shared/schemas/kyverno.json

Prints the file's text. `kinds` holds a schema for each apiVersion/kind, `$defs` what occurs more
than once. Kubernetes' own words become JSON Schema's: an object without open ends gets
`additionalProperties: false`, `nullable` a second type, a list with keys `uniqueBy`.
"""

import json
import runpy
import sys
from pathlib import Path

GROUPS = ("kyverno.io/", "policies.kyverno.io/")
NOT_WRITTEN_BY_USERS = ("UpdateRequest",)
COPIED = ("type", "required", "enum", "pattern", "format", "minItems", "oneOf", "not")
COPIED += ("minLength", "maxLength", "minimum")
MINIMUM_SHARED_TEXT = 60
EITHER = "(has(self.{0}) && !has(self.{1})) || (!has(self.{0}) && has(self.{1}))"

HERE = Path(__file__).parent
METADATA = runpy.run_path(str(HERE / "make_schemas.py"))["METADATA"]
share_repeated = runpy.run_path(str(HERE / "repeated_schemas.py"))["share_repeated"]


def convert(schema):
    """Return the structural schema of a CRD as JSON Schema."""
    out = {name: schema[name] for name in COPIED if name in schema}
    if schema.get("nullable"):
        out["type"] = [schema["type"], "null"]
    further = schema.get("additionalProperties")
    if "properties" in schema:
        out["properties"] = {
            name: convert(child) for name, child in sorted(schema["properties"].items())
        }
    if isinstance(further, dict):
        out["additionalProperties"] = convert(further)
    elif schema.get("type") == "object" and not is_open(schema):
        out["additionalProperties"] = False
    if "items" in schema:
        out["items"] = convert(schema["items"])
    if schema.get("x-kubernetes-list-type") in {"map", "set"}:
        out["uniqueBy"] = schema.get("x-kubernetes-list-map-keys", [])
    if "keys" in schema:
        out["propertyNames"] = {"pattern": schema["keys"]}
    if "required" in schema:
        # Defaults are filled in before anything is checked.
        properties = schema.get("properties", {})
        out["required"] = [
            name for name in schema["required"] if "default" not in properties.get(name, {})
        ]
    for validation in schema.get("x-kubernetes-validations", ()):
        out["oneOf"] = either(validation["rule"])
    return out


def is_open(schema):
    return bool(schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("open"))


def either(rule):
    """Return the choice that a CEL rule makes; no other kind of rule is known."""
    names = ("expression", "template")
    assert rule == EITHER.format(*names), rule
    return [{"required": [name]} for name in names]


def from_compact(schema):
    """Return a schema of `make_schemas.py`, as that of metadata is, in Kubernetes' words."""
    out = {name: value for name, value in schema.items() if name not in {"properties", "more"}}
    if "properties" in schema:
        out["properties"] = {
            name: from_compact(child) for name, child in schema["properties"].items()
        }
    if "items" in schema:
        out["items"] = from_compact(schema["items"])
    if "more" in schema:
        out["additionalProperties"] = from_compact(schema["more"])
    return out


def make(source):
    """Return the text of the package data for the CRD schemas in `source`."""
    kinds = {}
    for name, entry in sorted(source.items()):
        if not name.startswith(GROUPS) or name.endswith(NOT_WRITTEN_BY_USERS):
            continue
        schema = json.loads(json.dumps(entry["schema"]))
        schema["properties"]["metadata"] = from_compact(METADATA)
        schema["required"] = sorted({*schema.get("required", ()), "metadata"})
        kinds[name] = json.loads(json.dumps(convert(schema)))
    shared = {}

    def refer(schema):
        number = str(len(shared))
        shared[number] = schema
        return {"$ref": f"#/$defs/{number}"}

    kinds = share_repeated(kinds, MINIMUM_SHARED_TEXT, refer)
    return json.dumps({"kinds": kinds, "$defs": shared}, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    sys.stdout.write(make(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
