import pytest

from kyvsim.jmespath.functions import QueryError, function_named
from kyvsim.jmespath.functions.strings import base64_decode, parse_json, parse_yaml


@pytest.mark.parametrize(
    ("text", "decoded"),
    [("w6k=", "é"), ("aG\nk=\r\n", "hi"), ("", ""), ("aGl=", "hi"), ("gICA", "\ufffd" * 3)],
)
def test_base64(text, decoded):
    assert base64_decode(text) == decoded


def test_base64_encode():
    assert function_named("base64_encode").code("é") == "w6k="


@pytest.mark.parametrize(
    ("text", "place"),
    [("aGk", 3 - 3), ("aGk==", 4), ("aG k=", 2), ("a===", 1), ("ab=c", 3), ("-_==", 0), ("YQ=", 3)],
)
def test_bad_base64(text, place):
    with pytest.raises(QueryError) as caught:
        base64_decode(text)
    assert caught.value.message == f"illegal base64 data at input byte {place}"


def test_json_numbers_are_floats():
    found = parse_json('{"a": [1, 12345678901234567890], "a2": "\\ud800x"}')
    assert found == {"a": [1.0, 12345678901234567890.0], "a2": "\ufffdx"}
    assert all(number.__class__ is float for number in found["a"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("1 2", "invalid character '2' after top-level value"),
        ("[1 2]", "invalid character '2' after array element"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ("-Infinity", "invalid character 'I' in numeric literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
        ("1e400", "json: cannot unmarshal number 1e400 into Go value of type float64"),
    ],
)
def test_bad_json(text, problem):
    with pytest.raises(QueryError) as caught:
        parse_json(text)
    assert caught.value.message == problem


def test_deep_json_is_an_error_and_no_crash():
    with pytest.raises(QueryError):
        parse_json("[" * 100_000)


def test_yaml():
    assert parse_yaml("a: yes\nb: 010\nc: '1'") == {"a": True, "b": 8.0, "c": "1"}
    assert parse_yaml("") is None
    for bad in ("[1", "a: .nan", "\tx"):
        with pytest.raises(QueryError):
            parse_yaml(bad)
