"""YAML text, its chunks and positions."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.yaml import text as text_module
from kyvsim.yaml.document import read_first
from kyvsim.yaml.lines import read_fast
from kyvsim.yaml.text import (
    DocumentText,
    Keys,
    YamlError,
    find_position,
    load_all,
    load_one,
    plain_position,
    position_by_events,
    split_chunks,
)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("a: 1\nb: [x, 2.5, ~]\n", {"a": 1, "b": ["x", 2.5, None]}),
        ('{"a": "1", "b": {"c": []}}', {"a": "1", "b": {"c": []}}),
        ("a: '1'\nb: |\n  x\n  y\nc: \"no\"\n", {"a": "1", "b": "x\ny\n", "c": "no"}),
        ("a: 1\na: 2\n", {"a": 2}),
        ("on: 1\ntrue: 2\n", {"true": 2}),
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x yes\n*x : 1\n", {"a": True, "true": 1}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("a: &x [&x 1, *x]\nb: *x\n", {"a": [1, 1], "b": 1}),
        ("a: ! yes\nb: &k ! 5\nc: ! 'x'\nd: !foo 5\n", {"a": "yes", "b": "5", "c": "x", "d": "5"}),
        ("a: !!str 5\n!!str 6: 7\n", {"a": "5", "6": 7}),
        ("  a: 1\nb: 2\n", {"a": 1}),
        ("a: 1\n...\nb: [\n", {"a": 1}),
        ("\ufeffa: 1\n", {"a": 1}),
        ("a: 1\r\nb: |\r\n  x\r\n", {"a": 1, "b": "x\n"}),
        ("[]", []),
        ("just text", "just text"),
    ],
)
def test_the_first_document_is_read(text, data):
    assert load_one(text) == data


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: &m {x: 1}\nb: {<<: *m, z: 2}\n", {"x": 1, "z": 2}),
        ("a: &m {x: 1}\nb: {x: 2, <<: *m}\n", {"x": 1}),
        ("a: &m {x: 1}\nb: {<<: *m, x: 2}\n", {"x": 2}),
        ("a: &m {x: 1}\nb: {<<: [*m, {x: 3, z: 4}]}\n", {"x": 1, "z": 4}),
        ("b: {<<: {x: 1}, <<: {z: 2}}\n", {"x": 1, "z": 2}),
        ('b: {"<<": {x: 1}}\n', {"<<": {"x": 1}}),
        ("b: {&k <<: {x: 1}}\n", {"x": 1}),
    ],
)
def test_merge_keys_work_in_place(text, data):
    assert load_one(text)["b"] == data


def test_aliases_are_copies():
    data = load_one("a: &x {b: [1, {c: 2}]}\nd: *x\ne: {<<: *x}\n")
    assert data["a"]["b"] is not data["d"]["b"]
    assert data["a"]["b"][1] is not data["d"]["b"][1]
    assert data["d"]["b"] is not data["e"]["b"]


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("a: [1\nb: 2", "did not find expected", 2, 2),
        ("a:\n\tb: 1\n", "cannot start any token", 2, 1),
        ("a: 1\nb: \u0007\n", "control characters are not allowed", 2, 4),
        ("a: *x", "unknown anchor 'x' referenced", 1, 4),
        ("*x : 1", "unknown anchor 'x' referenced", 1, 1),
        ("a: &x\n  b: *x\n", "anchor 'x' value contains itself", 2, 6),
        ("a: &x [1]\n*x : 1\n", "invalid map key", 2, 1),
        ("? [a]\n: 1\n", "invalid map key", 1, 5),
        ("a: 1\nnull: 2\n", "unsupported map key", 2, 1),
        ("a:\n- .inf\n", "json: unsupported value: +Inf", 2, 3),
        ("a: {<<: 5}", "map merge requires map or sequence of maps", 1, 9),
        ("a: {<<: [[]]}", "map merge requires map or sequence of maps", 1, 12),
        ("x: &x [{a: 1}]\na: {<<: *x}", "map merge requires map or sequence of maps", 2, 9),
        ("a: !!int x", "cannot decode !!str `x` as a !!int", 1, 4),
        ("\ud800", "lone surrogate", 1, 1),
        (b"a: 1\nb: \xff\n", "invalid UTF-8", 2, 1),
    ],
)
def test_errors_tell_where(text, message, line, column):
    with pytest.raises(YamlError) as caught:
        load_one(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("unit", ["[", "{a: ", "- "])
def test_deep_nesting_has_a_limit(unit):
    with pytest.raises(YamlError, match="nested more than 200 deep"):
        load_one(unit * 20_000)


def test_nesting_below_the_limit_is_read():
    data = load_one("[" * 200 + "]" * 200)
    depth = 0
    while data:
        data = data[0]
        depth += 1
    assert depth == 199


def test_aliases_of_aliases_have_the_same_limit():
    text = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 300))
    with pytest.raises(YamlError, match="nested more than 200 deep"):
        load_one(text)


def test_billion_laughs_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 9):
        items = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} [{items}]")
    with pytest.raises(YamlError, match="excessive aliasing"):
        load_one("\n".join(lines))


def test_many_harmless_aliases_are_read():
    text = "a: &a {x: 1, z: 2}\n" + "".join(f"k{number}: *a\n" for number in range(1_000))
    assert load_one(text)["k999"] == {"x": 1, "z": 2}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a: 1\nb: {c: 1, c: 2}\n", "c"),
        ("a: 1\n'a': 2\n", "a"),
        ("b: &m {x: 1}\nd: {<<: *m, x: 2}\n", "x"),
        ("b: &m {x: 1}\nd: {x: 2, <<: *m}\n", "x"),
    ],
)
def test_strict_reading_refuses_duplicate_keys(text, key):
    with pytest.raises(YamlError, match=f'key "{key}" already set in map'):
        load_one(text, keys=Keys.STRICT)


def test_floats_everywhere():
    data = load_one("a: 1\nb: [2, &x 3, !!int 4, *x]\n5: y\n", floats=True)
    assert data == {"a": 1.0, "b": [2.0, 3.0, 4.0, 3.0], "5": True}
    assert {item.__class__ for item in data["b"]} == {float}


def test_streams():
    assert list(load_all("---\na: 1\n---\n# none\n--- # note\nb: 2")) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "line"), [("a: 1\n---\nb: 2\n--- junk\nc: 3\n", 4), ("a: 1\n---\n\nb: [\n", 5)]
)
def test_stream_errors_count_lines_of_the_stream(text, line):
    with pytest.raises(YamlError) as caught:
        list(load_all(text))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n", 0),
        ("a: 1\n...\n", 0),
        ("  a: 1\nb: 2\n", 2),
        ("{}\n{}\n", 2),
        ("a: 1\n...\nb", 3),
    ],
)
def test_ignored_text_is_told(text, line):
    assert read_first(text).ignored_line == line


@pytest.mark.parametrize(
    ("text", "place", "closing"),
    [
        ("a: {b: c?d}", (1, 9), "}"),
        ("a: [x?y]", (1, 6), "]"),
        ("a: {b: x, c: {d: e}, f: g?}", (1, 26), "}"),
        ("a: {b: 1,\n  c: [d?]}", (2, 8), "]"),
    ],
)
def test_a_question_mark_ends_a_plain_text_in_brackets(text, place, closing):
    with pytest.raises(YamlError, match=f"did not find expected ',' or '{closing}'") as caught:
        load_one(text)
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize("text", ["a: b?c [d]", "a: {b: 'c?d'}", "a: [b]\nc: d?e", 'a: ["?"]'])
def test_a_question_mark_elsewhere_is_text(text):
    assert load_one(text)["a"]


@pytest.mark.parametrize(
    ("text", "go_text"),
    [
        ("a: [", "yaml: line 1: did not find expected node content"),
        ("a: [1\nb: 2", "yaml: line 1: did not find expected ',' or ']'"),
        ("x: 1\na: [1, 2\nb: 3\n", "yaml: line 2: did not find expected ',' or ']'"),
        ("x: 1\na:\n\tb: 1\n", "yaml: line 3: found character that cannot start any token"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: -.inf", "json: unsupported value: -Inf"),
        ("a: [.nan]", "json: unsupported value: NaN"),
    ],
)
def test_errors_are_worded_as_go_words_them(text, go_text):
    with pytest.raises(YamlError) as caught:
        load_one(text)
    assert caught.value.go_text == go_text


def cut(text):
    """Return chunks without where they are from, which has to be what they hold."""
    found = list(split_chunks(text))
    assert [one.excerpt().text for one in found] == [one.text for one in found]
    return [one._replace(stream="", start=0) for one in found]


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("", []),
        ("# c\n\n  # d\n", []),
        ("---\n---\n", []),
        ("a: 1", [("a: 1\n", 1)]),
        ("---\na: 1\n---\nb: 2\n", [("a: 1\n", 2), ("b: 2\n", 4)]),
        ("# head\n---\na: 1\n", [("a: 1\n", 3)]),
        ("a: 1\n--- # note\nb: 2", [("a: 1\n", 1), ("b: 2\n", 3)]),
        ("a: 1\n---   \n# none\n---\nb: 2", [("a: 1\n", 1), ("b: 2\n", 5)]),
        ("a: 1\r\n---\r\nb: 2\r\n", [("a: 1\n", 1), ("b: 2\n", 3)]),
        ("a: |\n  x\n  ---\n  y\n", [("a: |\n  x\n  ---\n  y\n", 1)]),
        ("\ufeff---\na: 1\n", [("a: 1\n", 2)]),
        ("---", []),
    ],
)
def test_streams_are_cut_at_separators(text, chunks):
    assert cut(text) == [DocumentText(*chunk) for chunk in chunks]


@pytest.mark.parametrize("line", ["---foo", "--- junk", "--- {a: 1}", "----", "--- |"])
def test_a_bad_separator_ends_the_stream(line):
    text = f"a: 1\n{line}\nb: 2\n---\nc: 3\n"
    assert cut(text) == [DocumentText("a: 1\n", 1), DocumentText("", 2, line)]


def test_the_last_line_has_an_end_whatever_is_written():
    assert [one.text for one in split_chunks("a: |\n  b")] == ["a: |\n  b\n"]


LONG = f"# {'x' * (1 << 20)}\n"

TEXT = """\
# a comment
kind: Pod
metadata: {name: x, labels: {y: 1}}
spec:
  containers:
  - name: a
    image: b
  -   name: c
  kinds: [[u, v]]
spec2: &s
  q: 1
spec3: *s
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), (2, 1)),
        (("kind",), (2, 1)),
        (("metadata", "labels"), (3, 21)),
        (("metadata", "labels", "true"), (3, 30)),
        (("metadata", "labels", "y"), (3, 21)),
        (("spec", "containers"), (5, 3)),
        (("spec", "containers", 0), (6, 5)),
        (("spec", "containers", 0, "image"), (7, 5)),
        (("spec", "containers", 1, "name"), (8, 7)),
        (("spec", "containers", 7, "name"), (5, 3)),
        (("spec", "containers", "0"), (5, 3)),
        (("spec", "kinds", 0, 1), (9, 15)),
        (("spec", "kinds", 0, 1, "x"), (9, 15)),
        (("spec2", "q"), (11, 3)),
        (("spec3", "q"), (12, 1)),
        (("nothing", "here"), (2, 1)),
    ],
)
def test_positions(path, place, monkeypatch):
    assert find_position(TEXT, path) == place
    assert find_position(TEXT + LONG, path) == place
    for size in (1, 20, 60):
        monkeypatch.setattr(text_module, "_FINE", size)
        assert find_position(f"{TEXT}# parts of {size} by themselves\n", path) == place


def test_the_last_of_duplicate_keys_counts():
    text = "a: {x: 1}\na: {y: 1}\n"
    assert find_position(text, ("a", "x")) == (2, 1)
    assert find_position(text + LONG, ("a", "x")) == (2, 1)


def test_positions_before_an_error():
    assert find_position("a: 1\nb: 2\nc: [", ("b",)) == (2, 1)


def test_only_the_first_document_counts():
    assert find_position("a: 1\n---\nb: 2\n", ("b",)) == (1, 1)


@pytest.mark.slow
def test_asking_for_every_item_of_a_long_list_reads_the_text_a_few_times(monkeypatch):
    count = 100
    item = "- metadata:\n    name: a\n" + "".join(f"  n{key}: 'x'\n" for key in range(900))
    text = "kind: List\nitems:\n" + item * count
    read = []

    def parse(part, *, parse=text_module.parse_events):
        read.append(len(part))
        return parse(part)

    monkeypatch.setattr(text_module, "parse_events", parse)
    length = item.count("\n")
    for index in range(count):
        line = 3 + index * length
        assert find_position(text, ("items", index)) == (line, 3)
        assert find_position(text, ("items", index, "metadata", "name")) == (line + 1, 5)
        assert find_position(text, ("items", index, "n7")) == (line + 9, 3)
    assert sum(read) < 3 * len(text)


def test_places_in_flow_lists_on_one_line():
    item = "{name: a, inner: [{b: 1}, {c: 2}], last: x}"
    text = f"items: [{', '.join([item] * 900)}]\n"
    for number in (0, 1, 899):
        start = len("items: [") + number * (len(item) + 2)
        for name in ("name", "inner", "last"):
            column = start + item.index(name) + 1
            assert find_position(text, ("items", number, name)) == (1, column)
        column = start + item.index("c: 2") + 1
        assert find_position(text, ("items", number, "inner", 1, "c")) == (1, column)


# Where a node stands by lines is where it stands by libyaml's events.

ROOT = Path(__file__).parents[3]

LINE_POSITIONS_TEXT = """\
# a comment
kind: Pod

metadata:
  name: 'a'
  "labels": {x: 1, y: [2]}
  annotations:
    note: |
      one: 1

        - two
    folded: >-
      a: b
      c
    plain: a text
      of two lines
    quoted : 'a: b
      # ''c'' '
  none:
spec:
  containers:
  - name: a  # the first
    ports:
    - containerPort: 80
    args: [a, "b"]
  -   name: b
      script: |-
        x: 1
  - c
  - |
    d: 1
  - [u, v]
last: true
"""
PIECES = (
    "\n",
    "\n\n",
    "  ",
    "- ",
    "-   ",
    "k: v\n",
    "# c\n",
    "|",
    "a: |\n",
    ": ",
    "x",
    "[a]",
    "\n- b",
    "\n       y",
    "'",
)


def paths_of(data, path=()):
    yield path
    yield (*path, "nowhere")
    yield (*path, 7, "nowhere")
    parts = enumerate(data) if isinstance(data, list) else getattr(data, "items", tuple)()
    for key, value in parts:
        yield from paths_of(value, (*path, key))


def count_of_places(text):
    """Return how many places of a text lines tell, none of them wrong."""
    data = read_fast(text)
    if data is None:
        return 0
    found = {path: plain_position(text, path) for path in paths_of(data)}
    told = {path: place for path, place in found.items() if place is not None}
    wrong = {p: (place, position_by_events(text, p)) for p, place in told.items()}
    assert not {path: both for path, both in wrong.items() if both[0] != both[1]}
    assert {path: plain_position(text, path, is_plain=True) for path in found} == found
    return len(told)


def test_places_of_a_text():
    assert count_of_places(LINE_POSITIONS_TEXT) > 60
    assert plain_position(LINE_POSITIONS_TEXT, ("spec", "containers", 1, "script")) == (27, 7)
    assert plain_position(LINE_POSITIONS_TEXT, ("spec", "containers", 3)) == (30, 5)
    assert plain_position(LINE_POSITIONS_TEXT, ("spec", "containers", 9, "x")) == (21, 3)
    assert plain_position(LINE_POSITIONS_TEXT, ("metadata", "labels", "x")) is None


def test_json_that_was_read_quickly_is_left_to_events():
    text = '{"a": {"b": 1}}\n'
    assert plain_position(text, ("a", "b"), is_plain=True) is None
    assert find_position(text, ("a", "b"), is_plain=True) == (1, 8)


def test_what_is_not_plain_is_left_to_events():
    assert plain_position("a: &b 1\n", ("a",)) is None
    assert plain_position(f"a: 1\n{'b: 2 # ' + 'x' * 20_000}\n", ("a",)) is None


def test_places_of_all_yaml_here():
    texts = {
        chunk.text
        for folder in ("fixtures", "policies")
        for file in sorted((ROOT / folder).rglob("*.yaml"))
        for chunk in split_chunks(file.read_text(encoding="utf-8"))
    }
    told = [count_of_places(text) for text in sorted(texts) if len(text) < 6_000]
    assert sum(map(bool, told)) > len(told) * 0.9


@given(
    st.lists(
        st.tuples(st.integers(0, len(LINE_POSITIONS_TEXT)), st.sampled_from(PIECES)), max_size=4
    )
)
def test_places_of_changed_texts(changes):
    text = LINE_POSITIONS_TEXT
    for place, piece in changes:
        text = text[:place] + piece + text[place:]
    count_of_places(text)
