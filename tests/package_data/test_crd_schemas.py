import json
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "kyvsim" / "load" / "schemas" / "crd.json"


@pytest.fixture
def make(script):
    return script("make_crd_schemas")


def test_schemas_are_what_the_script_makes(make, crd_schemas):
    assert make.make(json.loads(crd_schemas)) == DATA.read_text(encoding="utf-8")


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
def test_words_of_kubernetes_become_those_of_json_schema(make, schema, made):
    assert make.convert(schema) == made


def test_what_has_a_default_is_not_required(make):
    properties = {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}}
    made = make.convert({"properties": properties, "required": ["a", "b"]})
    assert made["required"] == ["b"]


def test_only_known_rules_in_cel_are_taken(make):
    with pytest.raises(AssertionError):
        make.convert({"x-kubernetes-validations": [{"rule": "has(self.a)"}]})
