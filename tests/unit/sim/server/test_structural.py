"""Objects of custom kinds: pruned, completed, and refused with the API server's words."""

import pytest

from kyvsim.sim.server.structural import Schema, shaped
from kyvsim.sim.server.structural_problems import structural_problems
from kyvsim.sim.server.structural_rules import broken_rules

ONE_OF = "must validate one and only one schema (oneOf)."
TEXT = {"type": "string"}


def of(**properties):
    return Schema({"type": "object", "properties": {"spec": {"type": "object", **properties}}})


def problems(schema, spec):
    return list(structural_problems({"spec": spec}, schema))


@pytest.mark.parametrize(
    ("node", "sent", "kept"),
    [
        ({"properties": {"a": TEXT}}, {"a": "x", "b": 1}, {"a": "x"}),
        ({"x-kubernetes-preserve-unknown-fields": True}, {"b": 1}, {"b": 1}),
        ({"additionalProperties": TEXT}, {"b": "x"}, {"b": "x"}),
        ({"properties": {"a": {**TEXT, "default": "d"}}}, {}, {"a": "d"}),
        ({"properties": {"a": {**TEXT, "default": "d"}}}, {"a": None}, {"a": "d"}),
        ({"properties": {"a": TEXT}}, {"a": None}, {}),
        ({"properties": {"a": {**TEXT, "nullable": True}}}, {"a": None}, {"a": None}),
    ],
)
def test_fields_are_kept_and_completed(node, sent, kept):
    obj = {"kind": "X", "metadata": {"name": "x"}, "spec": sent, "more": 1}
    assert shaped(obj, of(**node)) == {
        "kind": "X",
        "metadata": {"name": "x"},
        "spec": kept,
    }


def test_items_of_lists_are_completed_through_shared_schemas():
    item = {"type": "object", "properties": {"a": {**TEXT, "default": "d"}}}
    schema = Schema({"type": "object", "properties": {"l": {"type": "array", "items": 0}}}, [item])
    assert shaped({"l": [{}, {"b": 1}]}, schema) == {"l": [{"a": "d"}, {"a": "d"}]}


@pytest.mark.parametrize(
    ("node", "spec", "told"),
    [
        (
            {"properties": {"a": {"type": "integer"}}},
            {"a": "x"},
            'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
        ),
        ({"required": ["a"]}, {}, "spec.a: Required value"),
        (
            {"properties": {"a": {**TEXT, "enum": ["x", "y"]}}},
            {"a": "z"},
            'spec.a: Unsupported value: "z": supported values: "x", "y"',
        ),
        (
            {"properties": {"a": {**TEXT, "pattern": "^b+$"}}},
            {"a": "z"},
            "spec.a: Invalid value: \"z\": spec.a in body should match '^b+$'",
        ),
        (
            {"properties": {"a": {"type": "integer", "minimum": 1}}},
            {"a": 0},
            "spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 1",
        ),
        (
            {"properties": {"a": {**TEXT, "maxLength": 2}}},
            {"a": "abc"},
            "spec.a: Too long: may not be more than 2 bytes",
        ),
        (
            {"properties": {"a": {"type": "array", "minItems": 1}}},
            {"a": []},
            "spec.a: Invalid value: 0: spec.a in body should have at least 1 items",
        ),
        (
            {"properties": {"a": {"type": "array", "x-kubernetes-list-type": "set"}}},
            {"a": ["x", "x"]},
            'spec.a[1]: Duplicate value: "x"',
        ),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1, "b": 1},
            f'<nil>: Invalid value: "": "spec" {ONE_OF} Found 2 valid alternatives',
        ),
        (
            {"not": {"required": ["a", "b"]}},
            {"a": 1, "b": 1},
            '<nil>: Invalid value: "": "spec" must not validate the schema (not)',
        ),
    ],
)
def test_what_does_not_fit_is_told(node, spec, told):
    assert problems(of(**node), spec) == [told]


def test_numbers_may_be_texts_where_a_schema_says_so():
    schema = of(properties={"a": {"x-kubernetes-int-or-string": True}})
    assert not problems(schema, {"a": 1})
    assert not problems(schema, {"a": "1"})
    assert "must be of type integer,string" in problems(schema, {"a": []})[0]


@pytest.mark.parametrize(("old", "told"), [(None, 0), ({"a": 2}, 1), ({"a": 0}, 0)])
def test_rules_in_cel_see_the_object_before(old, told):
    rule = {"rule": "self.a >= oldSelf.a", "message": "only upwards"}
    schema = of(**{"x-kubernetes-validations": [rule]})
    before = {"spec": old} if old is not None else None
    found = list(broken_rules({"spec": {"a": 1}}, before, schema))
    assert found == ['spec: Invalid value: "object": only upwards'] * told
