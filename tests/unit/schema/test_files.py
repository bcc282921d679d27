"""Each file of schemas has the words that the engine reads, and the names that it defines."""

import json
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "kyvsim"
FILES = [*PACKAGE.glob("schema/*.json"), *PACKAGE.glob("load/schemas/*.json")]
PLAIN = {"array", "boolean", "integer", "number", "object", "string"}
WORDS = {
    *("type", "nullable", "default", "enum", "format", "pattern", "form", "required", "properties"),
    *("items", "additionalProperties", "propertyNames", "either", "anyOf", "oneOf", "allOf", "not"),
    *("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "minProperties"),
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
    *("x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-validations", "x-kubernetes-map-type", "description"),
}


def inner(schema):
    yield from (schema.get("properties") or {}).values()
    for word in ("either", "anyOf", "oneOf", "allOf"):
        yield from schema.get(word, ())
    for word in ("items", "additionalProperties", "propertyNames", "not"):
        if schema.get(word, True) is not True:
            yield schema[word]


def everything(schema):
    yield schema
    if not isinstance(schema, str):
        for one in inner(schema):
            yield from everything(one)


def parts(table):
    for one in table["schemas"].values():
        yield from everything(one)
    for name, kind in table["kinds"].items():
        if "/" in name or "versions" not in next(iter(kind.values()), ()):
            yield from everything(kind)
            continue
        for facts in kind.values():
            for version in facts["versions"].values():
                yield from everything(version["schema"])


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def table(request):
    return json.loads(request.param.read_text(encoding="utf-8"))


def test_every_name_is_that_of_a_schema_or_of_a_plain_type_and_every_schema_is_used(table):
    named = {one for one in parts(table) if isinstance(one, str)}
    assert named - PLAIN == table["schemas"].keys()


def test_every_word_is_one_that_is_read(table):
    found = {word for one in parts(table) if not isinstance(one, str) for word in one}
    assert found <= WORDS
