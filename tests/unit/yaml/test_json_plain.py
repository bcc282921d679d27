"""What `json` reads is what libyaml reads."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.yaml.document import Keys, YamlError
from kyvsim.yaml.list_items import read_json
from kyvsim.yaml.text import load_first

NUMBERS = ("0", "-0", "1", "-1", "1.5", "1e3", "1E-3", "-0.0", "1e999", "9007199254740993")
NUMBERS += ("9223372036854775807", "9223372036854775808", "18446744073709551616", "1e21", "0.1")
WORDS = (
    '"\\u0000"',
    '"\\u003c\\u0085\\ufeff\\uffff"',
    "true",
    "false",
    "null",
    '""',
    '"a b"',
    '"é"',
    '"\\u00e9"',
    '"\\u0142\\n"',
    '"1"',
    '"no"',
)
ODD = ("NaN", "Infinity", "01", "+1", "'a'", "a", '"\\ud83d\\ude00"', '"\\/"', '"\t"', '"\x7f"')
ODD += ('"\x85"', '"\u2028"', '"\\x"', '"\ud800"', "// a", "")


def check(text, *, floats):
    found = read_json(text, floats=floats)
    if found is None:
        return False
    whole = load_first(text, floats=floats, keys=Keys.STRICT)
    assert repr(found) == repr(whole.data)
    assert not whole.ignored_line
    return True


@pytest.mark.parametrize("floats", [True, False])
@pytest.mark.parametrize("value", [*NUMBERS, *WORDS])
def test_values_are_read_the_same(value, floats):
    assert check(f'{{"a": {value}, "b": [{value}]}}\n', floats=floats)


@pytest.mark.parametrize("value", ODD)
def test_what_libyaml_reads_otherwise_is_left_to_it(value):
    assert read_json(f'{{"a": {value}}}\n') is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": {"labels": null}}',
        '{"a"\n: 1}',
        '{"a" : 1}',
        '{"a" \n  : 1}',
        '{"a": 1} {"b": 2}',
        '{"a":\t1}',
        '{"a": 1,}',
        "[1]",
        '{"' + "a" * 1100 + '": 1}',
        '{"a": ' + "[" * 20000 + "]" * 20000 + "}",
    ],
)
def test_odd_texts_are_left_to_libyaml(text):
    assert read_json(text) is None


TEXTS = st.text(max_size=8) | st.sampled_from(("<<", "=", "labels", "a: b", "a #b", "\\", "/"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(
    st.dictionaries(TEXTS, VALUES, max_size=4),
    st.sampled_from((None, 1, 4)),
    st.booleans(),
    st.booleans(),
)
def test_data_is_read_the_same(data, indent, ascii_only, floats):
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    try:
        check(text, floats=floats)
    except YamlError:
        pytest.fail("it is read, and is no YAML")
