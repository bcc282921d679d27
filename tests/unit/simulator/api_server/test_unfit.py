"""Objects of custom kinds that do not fit are refused with the API server's words."""

import pytest

from kyvsim.schema.node import NamedSchemas
from kyvsim.simulator.api_server.validation import schema_errors

ONE_OF = "must validate one and only one schema (oneOf)."
EITHER = [{"required": ["a"]}, {"required": ["b"]}]
TEXT = {"type": "string"}


def problems(spec, old=None, **words):
    properties = {"spec": {"type": "object", **words}}
    schema = NamedSchemas().node({"type": "object", "properties": properties})
    return schema_errors({"spec": spec}, old, schema)


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
    assert problems(spec, **node) == [told]


def test_numbers_may_be_texts_where_a_schema_says_so():
    words = {"properties": {"a": {"x-kubernetes-int-or-string": True}}}
    assert not problems({"a": 1}, **words)
    assert not problems({"a": "1"}, **words)
    assert "must be of type integer,string" in problems({"a": []}, **words)[0]


def test_what_keeps_a_choice_from_fitting_is_told_after_it():
    assert problems({}, oneOf=EITHER) == [
        f'<nil>: Invalid value: "": "spec" {ONE_OF} Found none valid',
        "spec.a: Required value",
    ]


def test_what_one_of_all_objects_to_is_told_before_them():
    assert problems({"a": 1}, allOf=EITHER) == [
        "spec.b: Required value",
        '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)',
    ]


def test_rules_in_cel_are_asked_where_nothing_else_is_wrong():
    rules = [{"rule": "self.a >= oldSelf.a", "message": "only upwards"}]
    before = {"spec": {"a": 2}}
    words = {"properties": {"a": "integer"}, "x-kubernetes-validations": rules}
    assert problems({"a": 1}, before, **words) == ['spec: Invalid value: "object": only upwards']
    assert problems({"a": 3}, before, **words) == []
    assert "only upwards" not in str(problems({"a": "x"}, before, **words))
