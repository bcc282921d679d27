"""Objects completed by schemas."""

import pytest

from kyvsim.schema.node import NamedSchemas, completed, stored

TEXT = {"type": "string"}
WITH_DEFAULT = {"type": "object", "properties": {"a": {**TEXT, "default": "d"}}}


def of(**words):
    spec = {"type": "object", **words}
    return NamedSchemas().node({"type": "object", "properties": {"spec": spec}})


CASES = [
    ({"properties": {"a": TEXT}}, {"a": "x", "b": 1}, {"a": "x"}),
    ({"x-kubernetes-preserve-unknown-fields": True}, {"b": 1}, {"b": 1}),
    ({"x-kubernetes-embedded-resource": True}, {"kind": "A", "b": 1}, {"kind": "A"}),
    ({"additionalProperties": TEXT}, {"b": "x"}, {"b": "x"}),
    ({"additionalProperties": "string"}, {"b": None}, {}),
    ({"additionalProperties": True}, {"b": 1}, {"b": 1}),
    ({"properties": {"a": {**TEXT, "default": "d"}}}, {}, {"a": "d"}),
    ({"properties": {"a": {**TEXT, "default": "d"}}}, {"a": None}, {"a": "d"}),
    ({"properties": {"a": {**WITH_DEFAULT, "default": {}}}}, {}, {"a": {"a": "d"}}),
    ({"properties": {"a": "string"}}, {"a": None}, {}),
    ({"properties": {"a": {**TEXT, "nullable": True}}}, {"a": None}, {"a": None}),
]


@pytest.mark.parametrize(("words", "sent", "kept"), CASES)
def test_what_an_api_server_stores(words, sent, kept):
    obj = {"kind": "X", "metadata": {"name": "x"}, "spec": sent, "more": 1}
    assert stored(obj, of(**words)) == {"kind": "X", "metadata": {"name": "x"}, "spec": kept}


def test_items_of_lists_are_completed_by_definitions():
    known = NamedSchemas({"item": WITH_DEFAULT})
    properties = {"l": {"type": "array", "items": "item"}}
    schema = known.node({"type": "object", "properties": properties})
    assert stored({"l": [{}, {"b": 1}]}, schema) == {"l": [{"a": "d"}, {"a": "d"}]}
    assert completed({"l": [{}, {"b": 1}]}, schema) == {"l": [{"a": "d"}, {"a": "d", "b": 1}]}


def test_what_has_all_is_returned_as_it_is():
    data = {"spec": {"a": {"a": "x"}, "unknown": [None, {}]}}
    assert completed(data, of(properties={"a": WITH_DEFAULT})) is data


def test_the_schema_of_the_fitting_type_completes():
    schema = of(properties={"a": {"either": ["string", WITH_DEFAULT]}})
    assert completed({"spec": {"a": {}}}, schema) == {"spec": {"a": {"a": "d"}}}
    assert completed({"spec": {"a": "x"}}, schema) == {"spec": {"a": "x"}}
