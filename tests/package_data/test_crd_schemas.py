import importlib.util
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SOURCE = ROOT.parent / "shared" / "schemas" / "kyverno.json"
DATA = ROOT / "kyvsim" / "load" / "schemas" / "crd.json"


def script():
    spec = importlib.util.spec_from_file_location("make_crd_schemas", HERE / "make_crd_schemas.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not SOURCE.exists(), reason="the CRD schemas are not beside the checkout")
def test_schemas_are_what_the_script_makes():
    source = json.loads(SOURCE.read_text(encoding="utf-8"))
    assert script().make(source) == DATA.read_text(encoding="utf-8")


def test_schemas_are_small():
    assert DATA.stat().st_size < 60_000


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"type": "object"}, {"type": "object", "additionalProperties": False}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"type": "object"}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            {"type": "array", "uniqueBy": ["name"]},
        ),
        ({"type": "array", "x-kubernetes-list-type": "set"}, {"type": "array", "uniqueBy": []}),
        ({"type": "array", "x-kubernetes-list-type": "atomic"}, {"type": "array"}),
    ],
)
def test_words_of_kubernetes_become_those_of_json_schema(schema, made):
    assert script().convert(schema) == made


def test_what_has_a_default_is_not_required():
    properties = {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}}
    made = script().convert({"properties": properties, "required": ["a", "b"]})
    assert made["required"] == ["b"]


def test_only_known_rules_in_cel_are_taken():
    with pytest.raises(AssertionError):
        script().convert({"x-kubernetes-validations": [{"rule": "has(self.a)"}]})
