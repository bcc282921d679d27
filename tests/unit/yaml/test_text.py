import pytest

from kyvsim.yaml.text import Keys, YamlError, load_all, load_first, load_one


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
    assert load_first(text).ignored_line == line


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
