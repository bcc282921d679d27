"""JSON is read and written as the standard library does, and its module waits for errors."""

import json
import subprocess
import sys
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.light.json_text import encode_basestring, read_json, reader, write_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
TEXTS = [
    "",
    " ",
    "{}",
    " \n\t\r[1, 2.5, -3e2]\r\n ",
    '{"a": [true, false, null], "a": "\\u00e9\\n"}',
    "NaN",
    "-Infinity",
    "[Infinity]",
    "1 2",
    "[1,]",
    '{"a"}',
    '"a\nb"',
    '"\\x"',
    "\ufeff{}",
    "\u00a0[]",
    "nul",
    "[" * 100_000,
    "12345678901234567890123",
]


def answer(read, text):
    """Return what reading a text gives, as a text, or its error."""
    try:
        return repr(read(text))
    except (ValueError, RecursionError) as error:
        return type(error), str(error), getattr(error, "pos", None)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_read_as_by_json(text):
    assert answer(read_json, text) == answer(json.loads, text)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_read_as_by_json_with_the_same_hooks(text):
    hooks = {"parse_int": len, "parse_float": str, "parse_constant": list}
    hooks["object_pairs_hook"] = tuple
    assert answer(reader(**hooks), text) == answer(partial(json.loads, **hooks), text)


@given(VALUES, st.booleans())
def test_values_are_written_as_by_json(value, ensure_ascii):
    written = write_json(value, ensure_ascii=ensure_ascii)
    assert written == json.dumps(value, ensure_ascii=ensure_ascii)
    assert answer(read_json, written) == answer(json.loads, written)


def test_what_json_has_no_word_for_is_what_default_makes_of_it():
    assert write_json({"a": {1}}, default=str) == json.dumps({"a": {1}}, default=str)


def test_what_cannot_be_written_is_an_error():
    with pytest.raises(TypeError, match="Object of type set is not JSON serializable"):
        write_json([{1}])
    round_and_round = []
    round_and_round.append(round_and_round)
    with pytest.raises(ValueError, match="Circular reference detected"):
        write_json(round_and_round)


@given(st.text())
def test_texts_are_quoted_as_by_json(text):
    assert encode_basestring(text) == json.dumps(text, ensure_ascii=False)


def test_json_is_not_loaded_for_what_is_json():
    code = """
import sys
from kyvsim.light.json_text import read_json, write_json
read_json(write_json({"a": [1, 2.5, None]}))
print("json" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
