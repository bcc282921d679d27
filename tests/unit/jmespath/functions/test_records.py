from datetime import UTC, datetime

import pytest

from kyvsim.jmespath import QueryError, System, compile_query
from kyvsim.jmespath.functions import FAMILIES, family, functions
from kyvsim.kubernetes.go_text import to_json
from kyvsim.model.ports import Meter

KYVERNO = [
    "add",
    "base64_decode",
    "base64_encode",
    "compare",
    "divide",
    "equal_fold",
    "image_normalize",
    "is_external_url",
    "items",
    "label_match",
    "lookup",
    "md5",
    "modulo",
    "multiply",
    "object_from_lists",
    "parse_json",
    "parse_yaml",
    "path_canonicalize",
    "pattern_match",
    "random",
    "regex_match",
    "regex_replace_all",
    "regex_replace_all_literal",
    "replace",
    "replace_all",
    "round",
    "semver_compare",
    "sha1",
    "sha256",
    "split",
    "subtract",
    "sum",
    "time_add",
    "time_after",
    "time_before",
    "time_between",
    "time_diff",
    "time_now",
    "time_now_utc",
    "time_parse",
    "time_since",
    "time_to_cron",
    "time_truncate",
    "time_utc",
    "to_boolean",
    "to_lower",
    "to_upper",
    "trim",
    "trim_prefix",
    "truncate",
    "x509_decode",
]
WITHOUT_EXAMPLE = {"time_now", "time_now_utc", "x509_decode"}


def test_a_signature_has_the_name_of_its_function_and_types_in_short():
    assert functions()["to_boolean"].signature == "to_boolean(string) bool"
    assert functions()["length"].signature == "length(string|array|object) number"


class Noon:
    def now(self):
        return datetime(2024, 6, 15, 12, 0, 0, tzinfo=UTC)


class First:
    def below(self, _):
        return 0


ENV = System(clock=Noon(), entropy=First(), meter=Meter())
EXAMPLES = [
    pytest.param(example, id=example.expression)
    for function in functions().values()
    for example in function.examples
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples(example):
    found = compile_query(example.expression, ENV).evaluate(example.data)
    assert to_json(found) == to_json(example.output)
    assert found.__class__ is example.output.__class__


def test_every_function_of_upstream_is_there():
    assert set(KYVERNO) <= set(functions())


def test_no_name_is_taken_twice():
    assert sum(len(family(title)) for title in FAMILIES) == len(functions())


def test_every_record_has_a_note_and_an_example():
    assert all(function.note for function in functions().values())
    lacking = {name for name, function in functions().items() if not function.examples}
    assert lacking == WITHOUT_EXAMPLE


@pytest.mark.parametrize("name", sorted(set(KYVERNO) - {"time_now", "time_now_utc"}))
def test_no_arguments_and_a_missing_field_are_query_errors(name):
    for call in (f"{name}()", f"{name}(missing)"):
        with pytest.raises(QueryError):
            compile_query(call, ENV).evaluate({})
