import pytest

from kyvsim.load.edits import NoEditError, edits_of, with_edits
from kyvsim.model.diagnostic import ChangeKind, TextChange
from kyvsim.model.source import Location

CASES = [
    ("a: 'In' # x\n", ChangeKind.VALUE, (1, 1, "a"), "AnyIn", "a: 'AnyIn' # x\n"),
    ("{a: {b: In}}\n", ChangeKind.VALUE, (1, 6, "b"), "AnyIn", "{a: {b: AnyIn}}\n"),
    ("a: yes # x\n", ChangeKind.QUOTE, (1, 1, "a"), "", 'a: "yes" # x\n'),
    ("{a: {b: 1.10}}\n", ChangeKind.QUOTE, (1, 6, "b"), "", '{a: {b: "1.10"}}\n'),
    ('{"a": {"b": 1}}', ChangeKind.KEY, (1, 8, "b"), "c", '{"a": {"c": 1}}'),
    ("a:\n  n: x  # y\n", ChangeKind.ENTRY, (2, 3, "n"), "m:\n- x", "a:\n  m:\n  - x  # y\n"),
    ("a: 1\nb: 2\nc: 3\n", ChangeKind.REMOVE, (2, 1, "b"), "", "a: 1\nc: 3\n"),
    ("a: 1\nb: 2 # y\nc: 3\n", ChangeKind.REMOVE, (2, 1, "b"), "", "a: 1\n# y\nc: 3\n"),
    ("a: 1\nb:\n- 2\n\n# z\nc: 3", ChangeKind.REMOVE, (2, 1, "b"), "", "a: 1\n\n# z\nc: 3"),
    ("a: |\n  t\n  u\nb: 2\n", ChangeKind.REMOVE, (1, 1, "a"), "", "b: 2\n"),
    ("- a: 1\n  b: 2\n", ChangeKind.REMOVE, (1, 3, "a"), "", "- b: 2\n"),
    ("a:\n  # y\n  b: 2\n", ChangeKind.ADD, (1, 1, "a"), "c: 1", "a:\n  c: 1\n  # y\n  b: 2\n"),
    ("# y\nb: 2\n", ChangeKind.ADD, (2, 1, ""), "c: 1\nd: 2", "# y\nc: 1\nd: 2\nb: 2\n"),
    (
        "m:\n  # one\n  r:\n  - a\n\n  # two\n  s: |\n    x\nn: 1\n",
        ChangeKind.ITEM,
        (1, 1, "m"),
        "any",
        "m:\n  # one\n  any:\n  - r:\n    - a\n\n    # two\n    s: |\n      x\nn: 1\n",
    ),
    ("a: 1\r\nb: 2\r\n", ChangeKind.ENTRY, (1, 1, "a"), "c:\n  d: 1", "c:\r\n  d: 1\r\nb: 2\r\n"),
    ("a: x\n", ChangeKind.VALUE, (1, 1, "a"), "{{ x }}", 'a: "{{ x }}"\n'),
    ("a: x\n", ChangeKind.VALUE, (1, 1, "a"), '{{ "x" }}', "a: '{{ \"x\" }}'\n"),
    ("a: [b, c]\n", ChangeKind.VALUE, (1, 8, "1"), "", 'a: [b, ""]\n'),
    ("a:\n- b # x\n", ChangeKind.VALUE, (2, 3, "0"), "c: d", 'a:\n- "c: d" # x\n'),
    (
        "a: |  # x\n  b x\n\n  c\n",
        ChangeKind.VALUE,
        (1, 1, "a"),
        "b x\n\ncd\n",
        "a: |  # x\n  b x\n\n  cd\n",
    ),
    (
        "a: >-\n  x + x\n  - y\n",
        ChangeKind.VALUE,
        (1, 1, "a"),
        "x + z - y",
        "a: >-\n  x + z\n  - y\n",
    ),
    (r'a: "\"b\" + c"', ChangeKind.VALUE, (1, 1, "a"), "'b' + c", "a: \"'b' + c\""),
    (r'a: "\"b\" + c"', ChangeKind.VALUE, (1, 1, "a"), '"b" + "d"', r'a: "\"b\" + \"d\""'),
    ("a: 'b''s c'", ChangeKind.VALUE, (1, 1, "a"), "b's 'd'", "a: 'b''s ''d'''"),
    ("a: 'x' # x\n", ChangeKind.UNQUOTE, (1, 1, "a"), "", "a: x # x\n"),
    ("é: 1\n---\nb: 2\n", ChangeKind.VALUE, (3, 1, "b"), "3", "é: 1\n---\nb: 3\n"),
]
REFUSED = [
    ("a: 1\n", ChangeKind.REMOVE, (1, 1, "a"), "would be empty"),
    ("a: &x {b: 1}\nc: *x\n", ChangeKind.VALUE, (2, 1, "c"), "shared"),
    ("a: &x 1\n", ChangeKind.VALUE, (1, 1, "a"), "shared"),
    ("a: !x 1\n", ChangeKind.VALUE, (1, 1, "a"), "shared"),
    ("a:\n  !x 1\n", ChangeKind.VALUE, (1, 1, "a"), "shared"),
    ("[&x 1]\n", ChangeKind.VALUE, (1, 2, "0"), "shared"),
    ("a: {b: 1, c: 2}\n", ChangeKind.REMOVE, (1, 5, "b"), "flow style"),
    ("a: {b: 1}\n", ChangeKind.ADD, (1, 1, "a"), "not a block map"),
    ("a: |\n  x\n", ChangeKind.VALUE, (1, 1, "a"), "differs from its source"),
    ("a: x\n  y\n", ChangeKind.VALUE, (1, 1, "a"), "several lines"),
    ("a: {b: 1}\n", ChangeKind.VALUE, (1, 1, "a"), "not a scalar"),
    ("- &x 1\n- *x\n", ChangeKind.VALUE, (1, 3, "0"), "shared"),
    ("a: 1\n", ChangeKind.UNQUOTE, (1, 1, "a"), "not in quotes"),
    ("a: 'x'\n", ChangeKind.QUOTE, (1, 1, "a"), "not a plain word"),
    ("a: [x]\n", ChangeKind.QUOTE, (1, 1, "a"), "not a plain word"),
    ("a: 1\n", ChangeKind.VALUE, (1, 1, "b"), "not written at this position"),
    ("- a: 1 # y\n  b: 2\n", ChangeKind.REMOVE, (1, 3, "a"), "comments"),
    ("a: [\n", ChangeKind.REMOVE, (1, 1, "a"), "cannot be read"),
]


def change(way, place, text=""):
    line, column, key = place
    return TextChange(way, Location("f", line, column), key, text)


@pytest.mark.parametrize(("text", "way", "place", "new", "expected"), CASES)
def test_changes_one_place_and_leaves_the_rest_as_it_is_written(text, way, place, new, expected):
    edits = edits_of(text, [change(way, place, new)])
    assert with_edits(text, edits) == expected


@pytest.mark.parametrize(("text", "way", "place", "why"), REFUSED)
def test_refuses_what_the_text_does_not_say_plainly(text, way, place, why):
    with pytest.raises(NoEditError, match=why):
        edits_of(text, [change(way, place, "x")])


def test_makes_several_changes_in_the_order_of_the_text():
    changes = [change(ChangeKind.REMOVE, (3, 1, "c")), change(ChangeKind.KEY, (1, 1, "a"), "z")]
    assert with_edits("a: 1\nb: 2\nc: 3\n", edits_of("a: 1\nb: 2\nc: 3\n", changes)) == (
        "z: 1\nb: 2\n"
    )


def test_reads_texts_in_which_a_node_contains_itself():
    text = "a: 1\nb: &x [*x]\n"
    edits = edits_of(text, [change(ChangeKind.VALUE, (1, 1, "a"), "2")])
    assert with_edits(text, edits) == "a: 2\nb: &x [*x]\n"
    with pytest.raises(NoEditError, match="not written at this position"):
        edits_of(text, [change(ChangeKind.VALUE, (2, 9, "c"), "2")])


def test_refuses_changes_that_meet():
    changes = [change(ChangeKind.KEY, (1, 1, "a"), "z"), change(ChangeKind.REMOVE, (1, 1, "a"))]
    with pytest.raises(NoEditError, match="overlap"):
        edits_of("a: 1\nb: 2\n", changes)
