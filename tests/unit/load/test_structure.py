import pytest

from kyvsim.load.structure import check, show_path
from kyvsim.schema.node import NamedSchemas

SHARED = NamedSchemas(
    {
        "part": {
            "type": "object",
            "properties": {"a": "string", "b": "string", "c": {"type": "string", "default": "see"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            "not": {"required": ["b", "c"]},
        }
    }
)
SCHEMA = SHARED.node(
    {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 5, "form": "[a-z]+"},
            "on": {"type": "boolean", "default": True},
            "count": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "free": {"x-kubernetes-preserve-unknown-fields": True},
            "empty": {"type": "string", "nullable": True},
            "parts": {"type": "array", "items": "part"},
            "labels": {
                "type": "object",
                "propertyNames": {"type": "string", "form": "[a-z]+"},
                "additionalProperties": "string",
            },
        },
    }
)


@pytest.mark.parametrize(
    ("data", "code", "path", "part"),
    [
        ([], "KV013", (), "must be a mapping, not a list"),
        ({}, "KV015", (), "`name` is required"),
        ({"name": None}, "KV015", (), "`name` is required"),
        ({"name": 5}, "KV013", ("name",), "text, not a whole number (write it in quotes)"),
        ({"name": "abcdef"}, "KV016", ("name",), "6 characters, more than the 5 allowed"),
        ({"name": "A"}, "KV016", ("name",), "does not match"),
        ({"name": "a\n"}, "KV016", ("name",), "does not match"),
        ({"name": "a", "on": "yes"}, "KV013", ("on",), "must be a boolean, not text"),
        ({"name": "a", "on": 1}, "KV013", ("on",), "must be a boolean, not a whole number"),
        ({"name": "a", "count": True}, "KV013", ("count",), "a whole number, not a boolean"),
        ({"name": "a", "count": 1.5}, "KV013", ("count",), "a whole number, not a number"),
        ({"name": "a", "count": 0}, "KV016", ("count",), "at least 1"),
        ({"name": "a", "mode": "fsat"}, "KV014", ("mode",), "one of `fast`, `slow`, not `fsat`"),
        ({"name": "a", "cuont": 1}, "KV012", ("cuont",), "did you mean `count`?"),
        ({"name": "a", "parts": [{"a": "x", "x": 1}]}, "KV012", ("parts", 0, "x"), "`parts[0].x`"),
        ({"name": "a", "parts": [{}]}, "KV017", ("parts", 0), "exactly one of `a`, `b`"),
        ({"name": "a", "parts": [{"a": "x", "b": "y", "c": "z"}]}, "KV017", ("parts", 0), "one of"),
        ({"name": "a", "parts": [{"b": "y", "c": "z"}]}, "KV017", ("parts", 0), "not have both"),
        ({"name": "a", "parts": [None]}, "KV013", ("parts", 0), "not null"),
        ({"name": "a", "labels": {"A": "x"}}, "KV016", ("labels", "A"), "not a valid key"),
        ({"name": "a", "labels": {"a": 1}}, "KV013", ("labels", "a"), "must be text"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(data, code, path, part):
    _, problems = check(SCHEMA, data)
    assert (code, path) in [(problem.code, problem.path) for problem in problems]
    assert any(part in problem.message for problem in problems)


def test_defaults_are_filled_in_without_changing_the_data():
    data = {"name": "a", "parts": [{"a": "x"}], "free": {"deep": [1, None]}}
    filled, problems = check(SCHEMA, data)
    assert problems == ()
    assert filled == {**data, "on": True, "parts": [{"a": "x", "c": "see"}]}
    assert data["parts"] == [{"a": "x"}]
    assert filled["free"] is data["free"]


def test_data_without_missing_defaults_is_returned_as_it_is():
    data = {"name": "a", "on": False, "parts": [{"a": "x", "c": "y"}]}
    filled, _ = check(SCHEMA, data)
    assert filled is data


def test_null_is_a_missing_field_unless_it_is_allowed():
    filled, problems = check(SCHEMA, {"name": "a", "on": None, "mode": None, "empty": None})
    assert problems == ()
    assert filled == {"name": "a", "on": True, "empty": None}


def test_whole_floats_are_whole_numbers():
    assert check(SCHEMA, {"name": "a", "count": 2.0})[1] == ()


def test_show_path():
    assert show_path(("spec", "rules", 0, "name")) == "spec.rules[0].name"
    assert show_path(()) == "the document"


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"name": "a", "parts": [{"a": "x", "labels": {}}]}, "the document"),
        ({"name": "a", "inner": {}, "depth": 1}, "inner"),
        ({"name": "a", "depth": 1}, "inner"),
        ({"name": "a", "shared": 1}, ""),
        ({"name": "a", "inner": {"further": {"depth": 1}}}, "inner"),
        ({"name": "a", "parts": [{"a": "x", "depth": 1}]}, ""),
        ({"name": "a", "inner": {"spec": {}}}, ""),
        ({"name": "a", "inner": {"dept": 1}}, ""),
    ],
)
def test_where_a_misplaced_field_is_known(data, place):
    words = {"properties": {"depth": "integer", "further": {"type": "object", "properties": {}}}}
    inner = {"type": "object", **words}
    other = {"type": "object", "properties": {"shared": "integer"}}
    words["properties"]["shared"] = "integer"
    fields = {**SCHEMA.properties, "inner": inner, "spec": other}
    _, problems = check(SHARED.node({"type": "object", "properties": fields}), data)
    (message,) = (one.message for one in problems if one.code == "KV012")
    shown = message.partition(": it is a field of ")[2]
    assert shown == (f"`{place}`" if place else "")
