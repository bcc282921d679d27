"""Items of lists."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.yaml.document import Keys, YamlError, read_first
from kyvsim.yaml.text import cut_list, find_position, read_json

# A list that is cut at its items is the list, and its items stand where they stand.

ITEM = """\
apiVersion: v1
kind: Pod
metadata:
  labels:
    app: x
  name: NAME
spec:
  containers:
  - name: a
    args: [-a, 1]
    note: |
      - not an item

      - nor this
"""


def in_yaml(column, *names, head="apiVersion: v1\n", tail="kind: List\nmetadata:\n  a: 1\n"):
    first, deep = " " * column + "- ", " " * (column + 2)
    lines = [
        f"{deep if number else first}{line}\n" if line else "\n"
        for name in names
        for number, line in enumerate(ITEM.replace("NAME", name).splitlines())
    ]
    return f"{head}items:\n{''.join(lines)}{tail}"


def in_json(*names, **style):
    items = [read_first(ITEM.replace("NAME", name)).data for name in names]
    whole = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"items": [{}]}}
    return json.dumps(whole, **style) + "\n"


LISTS = [
    in_yaml(0, "a"),
    in_yaml(0, "a", "b", "c"),
    in_yaml(2, "a", "b"),
    in_yaml(4, "a", "b", tail=""),
    in_yaml(0, "a", "b", head="", tail="kind: List\n# the end\n"),
    in_yaml(0, "a", "b", head="# a list\n\nkind: List\n", tail="\n# the end\n"),
    in_json("a", "b", indent=4),
    in_json("a", "b", "c"),
    in_json("a", "b", separators=(",", ":")),
    # Items that libyaml reads.
    in_yaml(0, "a", "!!str b", "c"),
    in_yaml(2, '"b\\\n      c"', "d"),
    in_yaml(0, "a", "b").replace("    app: x", "    "),
    in_json("a", "b").replace('{"app": "x"}', "null"),
    in_json("a", "b", indent=1).replace('"labels":', '"labels" :'),
    in_json("a", "b").replace('"x"', "NaN"),
]


def paths(data, path=()):
    yield path
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from paths(value, (*path, key))


@pytest.mark.parametrize("floats", [True, False])
@pytest.mark.parametrize("text", LISTS)
def test_items_are_those_of_the_list_and_in_their_places(text, floats):
    cut = cut_list(text, floats=floats)
    whole = read_first(text, floats=floats).data
    assert repr([one.data for one in cut.items]) == repr(whole["items"])
    assert cut.envelope == {**whole, "items": []}
    for number, item in enumerate(cut.items if floats else ()):
        for path in (*paths(item.data), ("metadata", "namespace"), ("none",)):
            line, column = find_position(item.place.text, path)
            shift = item.place.shift if line == 1 else 0
            there = (line + item.place.line - 1, column + shift)
            assert there == find_position(text, ("items", number, *path)), path


@pytest.mark.parametrize(
    "text",
    [
        in_yaml(0, "a", "&b c"),
        in_yaml(0, "a", "*b"),
        in_yaml(0, "a", '"b'),
        in_yaml(0, "a", "[b"),
        in_yaml(0, "a: b"),
        in_yaml(0, "a", tail="kind: [\n"),
        in_yaml(0, "a", tail="items: []\n"),
        in_yaml(0, "a", tail="- b\nkind: List\n"),
        in_yaml(0, "a", tail="other:\n- b\n"),
        in_yaml(0, "a", tail="...\nb: 1\n"),
        in_yaml(2, "a", tail="- b: 1\n"),
        "items: []\nkind: List\n",
        "spec:\n  items:\n  - a: 1\n",
        "spec: |\n  x\n items:\n - a: 1\n",
        in_json("a").replace('"kind": "Pod"', '"kind": "Pod", "kind": "Pod"'),
        in_json("a").replace('"kind": "List"', '"kind": "List", "items": []'),
        in_json("a").replace('"x"', '"\\ud83d\\ude00"'),
        in_json("a") + "{}",
        '{"spec": {"items": [{"a": 1}]}}',
        '{"items": [{"a": 1}, 2], "kind": "List"}',
        '{"items": [{"a": 1}',
    ],
)
def test_what_is_not_plain_is_not_cut(text):
    assert cut_list(text) is None


def test_items_on_one_line_have_texts_no_longer_than_they_are():
    texts = [in_json(*(f"n{n}" for n in range(count))) for count in (50, 100)]
    sizes = [sum(len(one.place.text) for one in cut_list(text).items) for text in texts]
    assert sizes[1] < 2.1 * sizes[0]


def test_a_part_of_a_line_is_given_without_the_rest_of_it():
    text = in_json("a", "b")
    place = cut_list(text).items[1].place
    start = text.index('"b"')
    assert place.line_of_whole(1) == text.rstrip("\n")
    assert place.line_of_whole(1, start, start + 3) == '"b"'
    assert place.line_of_whole(1, start) == text[start:].rstrip("\n")
    assert place.line_of_whole(2, 0, 5) == ""


# What `json` reads is what libyaml reads.

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
    whole = read_first(text, floats=floats, keys=Keys.STRICT)
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
