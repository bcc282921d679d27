"""The types of objects in CEL."""

import pytest

from kyvsim.cel.types import show
from kyvsim.kubernetes.discovery import NO_KINDS, GivenSchema, KindFacts
from kyvsim.schema.cel_types import escape, object_fields

FIELDS = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "spec": {
            "type": "object",
            "properties": {
                "namespace": {"type": "string"},
                "a-b": {"type": "integer"},
                "3d": {"type": "integer"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "any": {"x-kubernetes-preserve-unknown-fields": True},
                "port": {"x-kubernetes-int-or-string": True},
                "parts": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"on": {"type": "boolean"}}},
                },
            },
        },
    },
}


def custom(schema):
    facts = KindFacts("things", True, ("v1",), {"v1": GivenSchema(schema)})
    return {("example.com", "Thing"): facts}


def test_the_fields_of_a_custom_kind_are_those_of_its_schema():
    found = object_fields("example.com/v1", "Thing", custom(FIELDS))
    assert {name: show(kind) for name, kind in found["Thing1.spec"].items()} == {
        "__namespace__": "string",
        "namespace": "string",
        "a__dash__b": "int",
        "free": "Thing1.spec.free",
        "port": "dyn",
        "parts": "list(Thing1.spec.parts.@idx)",
    }
    assert found["Thing1.spec.free"] == {}
    assert {name: show(kind) for name, kind in found["Thing1.spec.parts.@idx"].items()} == {
        "on": "bool"
    }
    assert "labels" in found["Thing1.metadata"]
    assert show(found["Thing1"]["kind"]) == "string"


@pytest.mark.parametrize(
    ("api_version", "kinds"),
    [
        ("example.com/v2", custom(FIELDS)),
        ("example.com/v1", NO_KINDS),
        ("example.com/v1", custom({"x-kubernetes-preserve-unknown-fields": True})),
    ],
)
def test_a_kind_without_a_schema_has_no_types(api_version, kinds):
    assert object_fields(api_version, "Thing", kinds) is None


def test_an_object_inside_itself_has_no_fields():
    found = object_fields("apiextensions.k8s.io/v1", "CustomResourceDefinition", NO_KINDS)
    schema = "CustomResourceDefinition1.spec.versions.@idx.schema.openAPIV3Schema"
    assert found[f"{schema}.not"] == {}
    assert show(found[schema]["not"]) == f"{schema}.not"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("name", "name"),
        ("in", "__in__"),
        ("a.b-c/d", "a__dot__b__dash__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("9a", ""),
        ("a b", ""),
    ],
)
def test_names_of_fields_are_escaped(name, expected):
    assert escape(name) == expected
