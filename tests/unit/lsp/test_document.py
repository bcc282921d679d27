"""What stands before a position of a text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.lsp.document import read_text, steps_before


@pytest.mark.parametrize(
    ("before", "typed"),
    [
        ("", ""),
        ("spec", "spec"),
        ("  key: request.obj", "request.obj"),
        ("  key: '{{ request.", "request."),
        ("  value: a b", "b"),
        ("  value: a ", ""),
        ("  - $anchor-x", "$anchor-x"),
        (f'{{"a": "{"1" * 100_000}" x', "x"),
    ],
    ids=lambda text: text[:20],
)
def test_the_word_before_a_position(before, typed):
    text = read_text(f"{before}\n")
    assert text.cursor(0, len(before)).typed == typed


def entries(text):
    return [(one.path, one.value, one.line, one.value_column) for one in read_text(text).entries]


def test_flow_collections_on_one_line_are_read():
    text = "a: {b: c, 'd': [e, \"f g\", {h: i}], k: http://x} # y: z\nb:\n- [p, [q]]\n- r\n"
    assert entries(text)[1:] == [
        (("a", "b"), "c", 0, 7),
        (("a", "d"), "", 0, 15),
        (("a", "d", 0), "e", 0, 16),
        (("a", "d", 1), "f g", 0, 20),
        (("a", "d", 2, "h"), "i", 0, 30),
        (("a", "k"), "http://x", 0, 38),
        (("b",), "", 1, 2),
        (("b", 0), "[p, [q]]", 2, 2),
        (("b", 0, 0), "p", 2, 3),
        (("b", 0, 1, 0), "q", 2, 7),
        (("b", 1), "r", 3, 2),
    ]


@pytest.mark.parametrize(
    "text", ["a: [[[[", "a: {b: c}}}", "a: ]", "a: {:,", "a: [,,]", "a: [" * 50]
)
def test_flow_collections_that_are_not_closed(text):
    assert entries(text)[0][0] == ("a",)


def test_deep_flow_collections_are_not_read_further():
    depth = 5000
    found = entries(f"a: {'[' * depth}{'b,' * depth}\n")
    assert len(found) == 1


@pytest.mark.parametrize(
    ("before", "steps"),
    [
        ("variables.", ("variables",)),
        ("a && object.spec.re", ("object", "spec")),
        ("object.?spec.containers[0].", ("object", "spec", "containers", "[]")),
        ("size(object.spec.containers[?x].", ("object", "spec", "containers", "[]")),
        ("object", ()),
        ("1 + ", ()),
        (".", ()),
        ("]" * 10_000 + ".", ()),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_names_before_a_position(before, steps):
    text = read_text(f"a: {before}\n")
    assert steps_before(text.cursor(0, len(before) + 3)) == steps


WORDS = st.text("ab-_/.: ,[]{}#'", min_size=1, max_size=6).map(str.strip).filter(bool)
DATA = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


def leaves(data, path):
    """Yield the path and value of each scalar."""
    if isinstance(data, str):
        yield path, data
        return
    for step, inner in data.items() if isinstance(data, dict) else enumerate(data):
        yield from leaves(inner, (*path, step))


@given(data=DATA)
def test_flow_collections_have_the_entries_of_their_data(data):
    value = json.dumps(data, ensure_ascii=False)
    found = [(path, text) for path, text, *_ in entries(f"a: {value}\n")]
    assert [one for one in found[not isinstance(data, str) :] if one[1]] == [*leaves(data, ("a",))]
