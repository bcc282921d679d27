"""The types of objects in CEL are those of the schemas that they are made from."""

import json
import os
from pathlib import Path

import pytest

TABLE = Path(__file__).parents[2] / "kyvsim" / "schema" / "cel_types.jsonl"
MODULES = Path(os.environ.get("GOMODCACHE", Path.home() / "go" / "pkg" / "mod"))
SCHEMAS = (
    MODULES
    / "sigs.k8s.io/kubectl-validate@v0.0.5-0.20260105161640-a97ccfaca20b"
    / "pkg/openapiclient/builtins/1.35"
)


@pytest.fixture
def make(script):
    return script("make_cel_types").make


def test_the_table_is_what_the_script_makes(make):
    if not SCHEMAS.exists():
        pytest.skip("the schemas of Kubernetes are not here")
    assert make(SCHEMAS) == TABLE.read_text("utf-8")


def test_what_the_script_makes_of_a_document(make, tmp_path):
    meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    of_meta = {"allOf": [{"$ref": f"#/components/schemas/{meta}"}]}
    gvk = {"group": "example.com", "version": "v1", "kind": "Thing"}
    strings = {"": "s", "byte": "y", "date-time": "t", "duration": "u", "uuid": "s"}
    fields = {
        "metadata": of_meta,
        **{f"s{index}": {"type": "string", "format": one} for index, one in enumerate(strings)},
        "part": {"$ref": "#/components/schemas/Part"},
        "size": {"$ref": "#/components/schemas/Quantity"},
        "port": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        "list": {"type": "array", "items": {"type": "integer"}},
        "free": {"type": "object", "additionalProperties": {"type": "number"}},
        "sizes": {
            "type": "object",
            "additionalProperties": {"$ref": "#/components/schemas/Quantity"},
        },
    }
    schemas = {
        meta: {"type": "object", "properties": {"name": {"type": "string"}}},
        "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        "Part": {
            "type": "object",
            "properties": {
                "on": {"type": "boolean"},
                "inner": {"$ref": "#/components/schemas/Part"},
            },
        },
        "Thing": {
            "type": "object",
            "x-kubernetes-group-version-kind": [gvk],
            "properties": fields,
        },
        "ThingList": {
            "type": "object",
            "x-kubernetes-group-version-kind": [{**gvk, "kind": "ThingList"}],
            "properties": {"metadata": of_meta, "items": {"type": "array"}},
        },
    }
    folder = tmp_path / "apis" / "example.com"
    folder.mkdir(parents=True)
    (folder / "v1.json").write_text(json.dumps({"components": {"schemas": schemas}}))
    letters = {f"s{index}": letter for index, letter in enumerate(strings.values())}
    assert [json.loads(line) for line in make(tmp_path).splitlines()] == [
        {"kinds": {"example.com/v1": {"Thing": 0}}, "metadata": 1},
        {
            "f": {
                "free": {"m": "n"},
                "list": {"l": "i"},
                "metadata": 1,
                "part": 2,
                "port": "*",
                **letters,
            }
        },
        {"f": {"name": "s"}},
        {"f": {"inner": 2, "on": "b"}},
    ]
