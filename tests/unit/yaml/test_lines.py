"""What is read by lines is what libyaml reads, whatever the text."""

import json
import tracemalloc
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from kyvsim.kubernetes.objects import MAP_FIELDS
from kyvsim.yaml.document import Keys, YamlError, read_first, read_one
from kyvsim.yaml.lines import read_fast
from kyvsim.yaml.text import load_one, split_chunks

ROOT = Path(__file__).parents[3]
FOLDERS = ("fixtures", "policies", "tests")

POD = """\
# what a cluster gives
apiVersion: v1
kind: Pod
metadata:
  name: "web-1"
  labels:
    app.kubernetes.io/name: web
    tier: 'it''s'  # a comment
  annotations:
    note: |
      one
        two

      three
    long: >-
      folded
      text
    plain: a text
      of (two) lines
    quoted: 'it''s
      one of: three
      # lines'
    both : "another
     one"  # a comment
    f:status: {"a": [1, 0x10, no], b: {}}
spec:
  containers:
  - name: a
    image: nginx:1.25
    ports:
    - containerPort: 8080
      protocol: TCP
    - containerPort: 9.5e3
    resources:
      limits: {cpu: 500m, memory: 1Gi}
    command: [sh, "-c", '*']
  -   name: b
      args:
        - --x
        - y: z
          w:
  enabled: true
  empty:
status: {}
"""
ODD = (" ", "  ", "\n", "\n\n", "\t", "-", "- ", ":", ": ", "#", " #", "'", '"', "|", ">", "|+\n")
ODD += ("[", "]", "{", "}", "&a ", "*a", "!", "!!str ", "?", "? ", ",", "%", "@", "`", "\\", "~")
ODD += (
    "<<",
    "<<: ",
    "...",
    "\x01",
    "\x07",
    "\x85",
    "\u2028",
    "\ufeff",
    "é",
    "\U0001f600",
    "1",
    "=",
)
ODD += (
    "null",
    "labels:",
    "data: null",
    "on: ",
    "0o7",
    "1_000",
    ".inf",
    "\n     ",
    "\n    # ",
    "\\u0041",
)


def has_null_map(data):
    if isinstance(data, list):
        return any(map(has_null_map, data))
    return isinstance(data, dict) and any(
        (value is None and key in MAP_FIELDS) or has_null_map(value) for key, value in data.items()
    )


def check(text, *, floats):
    """Compare the two readings of a text; return whether it was read by lines."""
    found = read_fast(text, floats=floats)
    if found is None:
        return False
    whole = read_first(text, floats=floats, keys=Keys.STRICT)
    # Other numbers are equal, too: 1 and 1.0 and true.
    assert repr(found) == repr(whole.data)
    assert not whole.ignored_line
    assert not has_null_map(whole.data)
    return True


def chunks_of_the_repository():
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.y*ml")):
            try:
                text = file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            yield from ((file, chunk.text) for chunk in split_chunks(text) if chunk.text)


@pytest.mark.parametrize("floats", [True, False])
def test_all_yaml_of_the_repository_is_read_the_same(floats):
    found = [(file, check(text, floats=floats)) for file, text in chunks_of_the_repository()]
    # What the fuzzer found is no manifest that anybody wrote.
    read = [is_plain for file, is_plain in found if "fuzz" not in file.parts]
    assert len(read) > 200
    assert sum(read) > 0.85 * len(read)


def test_a_manifest_is_read():
    assert check(POD, floats=True)
    assert check(POD, floats=False)


@given(st.text("01289abefinoxBDEMTXZ._:-", max_size=6), st.sampled_from("0123456789"))
@example("Mi", "6")
@example("e3", "1")
@example("xF", "0")
def test_words_that_begin_with_a_digit_are_read_the_same(rest, digit):
    for floats in (False, True):
        check(f"a: {digit}{rest}\n", floats=floats)


WORDS = (
    "a",
    "/v",
    "on",
    "null",
    "~",
    "1",
    "01",
    "0x1F",
    "1e3",
    "1e400",
    "64Mi",
    "2001-01-01",
    "12:30",
)
WORDS += ('"x: y"', "'it'", '""', "x-", "-1", ".5", "a#b", "9223372036854775808", "")


@given(
    st.lists(
        st.tuples(st.sampled_from(("a", "b", "limits", "on", "null", "1")), st.sampled_from(WORDS)),
        min_size=1,
        max_size=4,
    )
)
@example([("cpu", "100m"), ("memory", "64Mi")])
@example([("limits", "null")])
@example([("a", "1"), ("a", "2")])
def test_maps_and_lists_on_one_line_are_read_the_same(entries):
    in_map = ", ".join(f"{key}: {word}" for key, word in entries)
    in_list = ", ".join(word for _, word in entries)
    for floats in (False, True):
        check(f"a: {{{in_map}}}\n", floats=floats)
        check(f"a: [{in_list}]  # a comment\n", floats=floats)


def test_a_map_on_one_line_needs_no_full_parser(monkeypatch):
    monkeypatch.setattr("kyvsim.yaml.lines.read_first", None)
    assert read_fast("a: {cpu: 100m, memory: 64Mi}\nb: [80, http]\n", floats=False) == {
        "a": {"cpu": "100m", "memory": "64Mi"},
        "b": [80, "http"],
    }


LINES_OF_TEXT = ("", "  ", "   ", "  b", "  c d ", "  e\t", "    f", "  \tg", "  # h", "  - i")


@given(st.lists(st.sampled_from(LINES_OF_TEXT), max_size=7), st.sampled_from([">", ">-", "|"]))
def test_texts_of_several_lines_are_read_the_same(lines, header):
    check("\n".join((f"a: {header}", *lines, "z: 1", "")), floats=False)


HEADS = (
    "a: b",
    "- b",
    "a: 'b",
    'a: "b',
    "a:",
    "a: 1",
    "a: b # c",
    "- a: b",
    "- 'b''",
    "k : v",
    "a: |-",
)
BELOW = (
    "c",
    "c d ",
    "c'",
    '"c"',
    "'c'' d'",
    "`c`",
    "# d",
    "c #d",
    "c#d",
    "c: d",
    "c:d",
    "- d",
    "d:",
)
BELOW += (
    "",
    "&c",
    "c:",
    "(c)",
    'c" # d',
    "c\\",
    "2",
    "null",
    "---",
    "...",
    "'",
    "''",
    "[c",
    "c\t",
    "é",
)
BELOW_AT = st.tuples(st.integers(0, 8), st.sampled_from(BELOW))


@given(
    st.lists(st.sampled_from(HEADS), min_size=1, max_size=3),
    st.lists(BELOW_AT, max_size=4),
    st.sampled_from(("", "x:\n  ", "x:\n    ", "x:\n- y:\n      ")),
)
def test_texts_that_go_on_in_the_next_lines_are_read_the_same(heads, below, outside):
    for head in heads:
        lines = "\n".join(" " * column + text for column, text in below)
        for chunk in split_chunks(f"{outside}{head}\n{lines}\nz: 1\n"):
            if chunk.text:
                try:
                    check(chunk.text, floats=False)
                except YamlError:
                    pytest.fail(f"it is read, and is no YAML: {chunk.text!r}")


@pytest.mark.parametrize(
    "text",
    [
        "a: b\n  c\n",
        "a: b \n   c \n  d\ne: f\n",
        "a: b\n  'c'\n",
        "a:\n- b\n  c\n- d: e\n      f\n",
        "a: 'b\n  c'\n",
        "a: 'b''\n  c: ''d'' # e\n  f'  # g\n",
        'a:\n  - "b\n    c"\n',
        "a:\n  b: c\n       d\n     e\nf: g\n",
        "a : b\n",
        "data:\n- a: b\n",
    ],
)
def test_texts_that_go_on_are_read_by_lines(text):
    assert check(text, floats=True)


@pytest.mark.parametrize("lines", ["  b\n\n  c\n", "\n  b\n", "  b \n  c\n", "  b\n    c\n  d\n"])
def test_lines_that_are_blank_or_indented_are_folded(lines):
    assert check(f"a: >\n{lines}", floats=False)


def test_what_is_written_alike_is_one_object():
    text = "name: x\nspec:\n  parts:\n  - limits:\n      cpu: 1\n    tags: [a]\n"
    for _ in range(1_200):  # much came again: parts are read as such
        read_fast(text)
    (first,), (second,) = (
        read_fast(one)["spec"]["parts"] for one in (text, text.replace("name: x", "name: y"))
    )
    assert first == {"limits": {"cpu": 1}, "tags": ["a"]}
    assert first["limits"] is second["limits"]
    assert first["tags"] is second["tags"]
    assert first is not second


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n",
        "a:\n      b: 1\n      b: 2\n",
        "a: &x 1\nb: 2\n",
        "a: *x\n",
        "a: !!str 5\n",
        "a:\n  <<: {b: 1}\n",
        "a: b: c\n",
        "a: b\n  c: d\n",
        "a: b\n  c:\n",
        "a: b\n\n  c\n",
        "a: b\n  # c\n  d\n",
        "a: b # c\n  d\n",
        "a: 'b'\n  c\n",
        "a: |-\n    b\n  c\n",
        "a: 1\n  b\n",
        "a:\n  b\n",
        "a: 'b\n\n  c'\n",
        "a: 'b\nc'\n",
        "a: 'b\n  c\n",
        'a: "b\\\n  c"\n',
        'a: "b\\t\n  c"\n',
        "a: 'b\n  c' d\n",
        "a: [1,\n  2]\n",
        "? a\n: b\n",
        "a:\n  b: 1\n c: 2\n",
        "a: |\n  b\n c\n",
        "a: |2\n   b\n",
        "a: >+\n  b\n",
        "a: 1\n...\nb: 2\n",
        "a: .inf\n",
        "a: \x07\n",
        "a:\tb\n",
        "a: b\x85c: d\n",
        "a:\n  labels:\nb: 1\n",
        "a:\n  labels:\n    # nothing\nb: 1\n",
        "a: {labels: }\n",
        "data: ~\n",
        "- a\n- b\n",
        "text\n",
        "# nothing\n",
        '{"a": 1}\n',
        "a: [b] c\n",
        "a: \\x01b\n".replace("\\x01", "\x01"),
        f"{'k' * 1100}: 1\n",
    ],
)
def test_what_is_not_plain_is_left_to_others(text):
    assert read_fast(text) is None
    assert read_fast(text, floats=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  b\n\n\nc: d\n",
        "a: |+\n  b\n\n\nc: d\n",
        "a:\n  - |\n    b\n     c\n\n    d\n  - e\n",
        "a:\n    - b:\n        - c: |-\n              d\n            \n          e: 1\n",
        "a:\n- b:\n  - c\n  d: 1\n-   e: f\n    g: h\n",
        "a:\n- - b\n",
        "a:\n    b: |\n      c\n  # no text\n      d\n",
        "a:\n    b:\n      c: 1\n# between\n      d: 2\n",
        "a:\n    b:\n      c: 1\n\n      d: 2\n",
        "a:\n    b: |\n\n      c\n",
        "a:\n  b: |\n      c\n    d\n",
        "      a: 1\n      b: 2\n",
        "a:\n    -   b: 1\n        c: 2\n      \n    -     d:\n             e: f\n",
        'a: "\\u0041\\n"\nb: "\\ud83d"\n"c d": \'e\'\n',
        "y: 1\n08: 2\n0x1F: 3\n1.5: 4\n1_0: 5\n~: 6\n",
        "a: " + "x" * 3000 + "\nb: |\n  " + "y" * 3000 + "\n",
        "a: 2020-01-01\nb: 12:30\nc: 0b1\nd: +1\ne: -.5\nf: 1e3\ng: 9223372036854775808\n",
    ],
)
def test_odd_shapes_are_read_the_same(text):
    for floats in (True, False):
        try:
            check(text, floats=floats)
        except YamlError:
            pytest.fail("it is read, and is no YAML")


def changed(changes):
    text = POD
    for place, size, odd in changes:
        start = place % len(text)
        text = text[:start] + odd + text[start + size :]
    return text if text.endswith("\n") else f"{text}\n"


@given(
    st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 3), st.sampled_from(ODD)),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_a_manifest_with_odd_changes_is_read_the_same(changes, floats):
    for chunk in split_chunks(changed(changes)):
        if chunk.text:
            try:
                check(chunk.text, floats=floats)
            except YamlError:
                pytest.fail(f"it is read, and is no YAML: {chunk.text!r}")


TEXTS = st.text(max_size=12) | st.sampled_from(("1", "yes", "a: b", "- a", "#", "a #b", "x\ny\n"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(
    st.dictionaries(TEXTS, DATA, max_size=4),
    st.integers(2, 6),
    st.sampled_from((True, False, None)),
    st.sampled_from((None, "'", '"', "|", ">")),
)
@example({"a": {"b": [{"c": "d"}]}}, 2, False, None)
def test_data_that_is_written_is_read_the_same(data, indent, flow, style):
    plain = json.loads(json.dumps(data))
    text = yaml.safe_dump(
        plain, indent=indent, default_flow_style=flow, default_style=style, allow_unicode=True
    )
    for chunk in split_chunks(text):
        if chunk.text:
            check(chunk.text, floats=True)


def test_what_hardly_comes_again_is_read_line_by_line_as_it_was():
    texts = [
        f"kind: Pod\nspec:\n  containers:\n  - name: c{number}\n    resources:\n      limits:\n"
        f"        cpu: {number}m\n        memory: {number}Mi\n"
        for number in range(200)
    ]
    for text in texts * 2:
        assert read_fast(text) == read_first(text).data


@given(
    st.lists(
        st.sampled_from(("- a: b", "  c: d", "- e", "f: |", "  g", "h: >-", "", "  - 'i")),
        max_size=5,
    ),
    st.sampled_from(("", "\n", "\n\n", " ", "\n ", "\n# x")),
)
def test_a_text_is_read_whole_wherever_its_last_line_ends(lines, end):
    text = "\n".join(lines) + end
    try:
        expected = read_one(text, floats=False, keys=Keys.STRICT)
    except YamlError:
        return
    assert repr(load_one(text)) == repr(expected)


@pytest.mark.parametrize("scalar", ['"' + "\\u0061" * 200_000 + '"', "'" + "''" * 200_000 + "'"])
def test_a_long_scalar_takes_memory_in_proportion(scalar):
    """An expression that could take each repetition back would hold fifty bytes for each."""
    text = f"a: {scalar}\n"
    tracemalloc.start()
    try:
        assert read_fast(text) is not None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(text)


@pytest.mark.parametrize("margin", ["", "a:\n  b:\n    c:\n      d:\n        "])
def test_long_lines_take_no_memory_after_they_were_read(margin):
    tracemalloc.start()
    for number in range(100):
        assert read_fast(f"{margin}key: {number:x<100000}\n")
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000
