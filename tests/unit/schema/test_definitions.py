from kyvsim.schema.definitions import defined_schema

ROOT = {"type": "object", "properties": {"spec": {"type": "object"}}}


def definition(**spec):
    version = {"name": "v1", "schema": {"openAPIV3Schema": ROOT}}
    return {"spec": {"group": "x.io", "names": {"kind": "A"}, "versions": [version], **spec}}


def test_the_schema_is_that_of_the_version():
    found = defined_schema("x.io/v1", "A", [{}, definition()])
    assert found is not None
    assert found.words == ROOT


def test_what_is_not_defined_has_none():
    assert defined_schema("x.io/v2", "A", [definition()]) is None
    assert defined_schema("y.io/v1", "A", [definition()]) is None
    assert defined_schema("x.io/v1", "A", [definition(preserveUnknownFields=True)]) is None
    assert defined_schema("x.io/v1", "A", [definition(versions=[{"name": "v1"}])]) is None
