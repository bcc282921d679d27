import pytest

from kyvsim.schema.node import NamedSchemas, duplicates, findings, findings_as_written

TEXT = {"type": "string"}
KEYED = {
    "type": "array",
    "items": {"type": "object", "properties": {"n": "string", "v": "integer"}},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["n"],
}


def node(**words):
    return NamedSchemas({"letter": {**TEXT, "maxLength": 1}}).node(words)


def of(properties, **words):
    return node(type="object", properties=properties, **words)


CASES = [
    (node(type="integer"), "x", [("type", ())]),
    (node(type="integer"), 2.0, []),
    (node(type="integer"), 2.5, [("type", ())]),
    (node(type="number"), 2, []),
    (node(type="integer"), True, [("type", ())]),
    (node(type="string"), None, [("type", ())]),
    (node(type="string", nullable=True), None, []),
    (node(**{"x-kubernetes-int-or-string": True}), "1", []),
    (node(**{"x-kubernetes-int-or-string": True}), [], [("type", ())]),
    (node(type="string", enum=["x", "y"]), "z", [("enum", ())]),
    (node(type="string", maxLength=2, pattern="^b+$"), "abc", [("maxLength", ()), ("pattern", ())]),
    (node(type="string", minLength=1), "", [("minLength", ())]),
    (node(type="string", pattern="b"), "abc", []),
    (node(type="string", form="b"), "abc", [("pattern", ())]),
    (node(type="string", pattern="("), "abc", []),
    (node(type="string", format="date-time"), "2026-13-01T00:00:00Z", [("format", ())]),
    (node(type="integer", minimum=1), 0, [("minimum", ())]),
    (node(type="integer", minimum=1, exclusiveMinimum=True), 1, [("exclusiveMinimum", ())]),
    (node(type="integer", maximum=1), 2, [("maximum", ())]),
    (node(type="integer", maximum=1, exclusiveMaximum=True), 1, [("exclusiveMaximum", ())]),
    (node(type="array", items="letter"), ["a", "bc"], [("maxLength", (1,))]),
    (node(type="array", minItems=1), [], [("minItems", ())]),
    (node(type="array", maxItems=1), [1, 2], [("maxItems", ())]),
    (node(type="object", minProperties=1), {}, [("minProperties", ())]),
    (of({"a": "letter"}, required=["a", "b"]), {"a": "x"}, [("required", ())]),
    (node(type="object", additionalProperties="letter"), {"k": "xy"}, [("maxLength", ("k",))]),
    (node(anyOf=[{"required": ["a"]}, {"required": ["b"]}]), {}, [("anyOf", ())]),
    (node(oneOf=[{"required": ["a"]}, {"required": ["b"]}]), {"a": 1, "b": 1}, [("oneOf", ())]),
    (node(allOf=[{"required": ["a"]}, {"required": ["b"]}]), {"a": 1}, [("allOf", ())]),
    (node(**{"not": {"required": ["a"]}}), {"a": 1}, [("not", ())]),
]


@pytest.mark.parametrize(("schema", "data", "found"), CASES)
def test_what_does_not_fit(schema, data, found):
    assert [(one.word, one.path) for one in findings(data, schema)] == found


def test_the_order_of_an_api_server_is_that_of_names():
    schema = of({"b": "letter", "a": "letter"}, required=["c"], oneOf=[{"required": ["d"]}])
    told = [(one.word, one.path) for one in findings({"b": "xx", "a": "xx"}, schema)]
    both = [("maxLength", ("a",)), ("maxLength", ("b",))]
    assert told == [("oneOf", ()), *both, ("required", ())]


def test_as_written_the_order_is_that_of_the_text_and_the_whole_comes_last():
    schema = of({"b": "letter", "a": "letter"}, required=["c"], oneOf=[{"required": ["d"]}])
    data = {"b": "xx", "x": 1, "a": "xx"}
    told = [(one.word, one.path) for one in findings_as_written(data, schema)]
    assert told == [
        ("maxLength", ("b",)),
        ("unknown", ("x",)),
        ("maxLength", ("a",)),
        ("required", ()),
        ("oneOf", ()),
    ]


def test_as_written_a_wrong_type_is_all_that_is_told_and_one_bound_is_enough():
    schema = node(type="string", enum=["x"], maxLength=1, form="y")
    assert [one.word for one in findings_as_written(5, schema)] == ["type"]
    assert [one.word for one in findings_as_written("zz", schema)] == ["maxLength", "enum"]


def test_as_written_numbers_have_the_size_of_their_format():
    schema = node(type="integer", format="int32")
    assert [one.word for one in findings_as_written(1 << 31, schema)] == ["format"]
    assert findings(1 << 31, schema) == []


def test_names_of_fields_have_a_schema_too():
    schema = node(type="object", propertyNames="letter", additionalProperties="string")
    assert [(one.word, one.path) for one in findings_as_written({"a": "x", "bb": "x"}, schema)] == [
        ("propertyNames", ("bb",))
    ]


def test_of_schemas_of_several_types_that_of_the_fitting_one_counts():
    schema = node(either=["letter", {"type": "array", "items": "letter"}])
    (one,) = findings_as_written(["a", "bb"], schema)
    assert (one.word, one.path) == ("maxLength", (1,))
    (one,) = findings_as_written(5, schema)
    assert (one.word, one.limit) == ("type", ("string", "array"))


def test_what_keeps_a_combination_from_fitting_is_inside_it():
    (one,) = findings({}, node(oneOf=[{"required": ["a"]}, {"required": ["b"]}]))
    assert (one.fitting, [part.limit for part in one.inner]) == (0, ["a"])


@pytest.mark.parametrize(
    ("schema", "data", "found"),
    [
        (node(type="array", **{"x-kubernetes-list-type": "set"}), ["x", "x"], [((1,), "x")]),
        (node(type="array", **{"x-kubernetes-list-type": "atomic"}), ["x", "x"], []),
        (node(**KEYED), [{"n": "a", "v": 1}, {"n": "a", "v": 2}], [((1,), {"n": "a"})]),
        (node(type="object", additionalProperties=KEYED), {"k": [{}, {}]}, [(("k", 1), {})]),
    ],
)
def test_items_that_repeat_an_earlier_one(schema, data, found):
    assert [(one.path, one.value) for one in duplicates(data, schema)] == found
