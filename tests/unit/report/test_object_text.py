"""Objects as YAML, and the lines in which two differ."""

import random

import pytest
import yaml

from kyvsim.load.documents import parse_documents
from kyvsim.load.files import Source
from kyvsim.report.object_text import (
    changed_yaml,
    compact_lines,
    marked_yaml,
    scalar,
    to_yaml,
    yaml_lines,
)
from kyvsim.yaml.text import load_one


def test_keys_are_sorted_and_lists_stand_level_with_their_key():
    assert to_yaml({"b": [{"y": 1, "x": [2]}], "a": {}}) == ('a: {}\nb:\n- x:\n  - 2\n  "y": 1\n')


def test_whole_floats_are_written_as_ints():
    assert to_yaml({"a": 100000000.0, "b": 0.5, "c": 7}) == "a: 100000000\nb: 0.5\nc: 7\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("nginx:1.25", "nginx:1.25"),
        ("--port=80", "--port=80"),
        ("1.2.3", "1.2.3"),
        ("10m", "10m"),
        ("yes", '"yes"'),
        ("n", '"n"'),
        ("0o17", '"0o17"'),
        ("1e3", '"1e3"'),
        ("12:30", '"12:30"'),
        ("2001-12-14", '"2001-12-14"'),
        ("null", '"null"'),
        ("", '""'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ('{"a": 1}', "'{\"a\": 1}'"),
        ("\x1b[31m", '"\\u001b[31m"'),
        ("a\x85b", '"a\\u0085b"'),
    ],
)
def test_text_is_quoted_where_a_reader_would_misread_it(text, written):
    assert scalar(text) == written
    assert load_one(f"a: {written}") == {"a": text}
    assert yaml.safe_load(f"a: {written}") == {"a": text}


@pytest.mark.parametrize(
    "text",
    ["a\nb", "a\nb\n", "a\n\n\n", "\n", " a\nb", "a\n  b\n", "a \n\tb", "a\r\nb", "#a\n- b\n"],
)
@pytest.mark.parametrize(
    "wrap", [lambda t: {"k": t}, lambda t: {"k": [t, {"l": t}]}, lambda t: [[t]]]
)
def test_text_of_several_lines_reads_back(text, wrap):
    assert load_one(to_yaml({"top": wrap(text)})) == {"top": wrap(text)}


def test_nesting_costs_no_recursion():
    tree = {}
    for _ in range(5000):
        tree = {"a": tree}
    assert to_yaml(tree).endswith("a: {}\n")


@pytest.mark.parametrize("text", ["a\u202eb", "a\u2066\nb", "a\n::error::b\nc", "a\n  ##[x]"])
def test_nothing_reorders_lines_or_speaks_to_who_reads_a_log(text):
    written = to_yaml({"a": text})
    assert load_one(written) == {"a": text}
    assert not {"\u202e", "\u2066"} & set(written)
    assert not [line for line in written.splitlines() if line.lstrip().startswith(("::", "##["))]


OBJECTS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": []}},
    {"metadata": {"labels": {"a": "1", "b": "true", "c": ""}}, "spec": {"x": None, "y": 1.0}},
    {"a": ["x, y", "[z]", "{q}", "k: v", "#"], "b": "two\nlines\n", "c": {"d": "two\nlines"}},
    {"list": [{"name": "n" * 40, "image": "i" * 40}, ["x" * 30, "y" * 40], [], {}]},
]


@pytest.mark.parametrize("obj", OBJECTS)
def test_it_is_the_object_that_is_read_back(obj):
    source = Source("object", "\n".join([*compact_lines(obj), ""]))
    assert [one.data for one in parse_documents(source)] == [obj]


def test_small_parts_stand_on_one_line():
    assert compact_lines({"metadata": {"labels": {"app": "a"}, "name": "b"}}) == [
        "metadata: {labels: {app: a}, name: b}"
    ]


def test_large_parts_have_lines_of_their_own():
    lines = compact_lines({"spec": {"containers": [{"name": "a", "image": "i" * 60}]}})
    assert lines == ["spec:", "  containers:", f"  - image: {'i' * 60}", "    name: a"]


def view(before, after):
    return [f"{mark} {line}" for mark, line in marked_yaml(before, after)]


def test_added_removed_and_changed_fields():
    assert view({"a": 1, "b": 1, "c": {}}, {"a": 2, "c": {}, "d": {"e": 1}}) == [
        "- a: 1",
        "+ a: 2",
        "- b: 1",
        "  c: {}",
        "+ d:",
        "+   e: 1",
    ]


def test_a_field_before_the_first_one_leaves_the_rest_of_the_item_unmarked():
    before = {"l": [{"image": "i", "name": "c"}]}
    after = {"l": [{"args": ["x"], "image": "i", "name": "c"}]}
    assert view(before, after) == ["  l:", "+ - args:", "+   - x", "    image: i", "    name: c"]


def test_items_are_told_apart_by_name():
    before = {"l": [{"name": "a", "v": 1}, {"name": "b", "v": 1}]}
    after = {"l": [{"name": "z", "v": 1}, {"name": "a", "v": 2}, {"name": "b", "v": 1}]}
    assert view(before, after) == [
        "  l:",
        "+ - name: z",
        "+   v: 1",
        "  - name: a",
        "-   v: 1",
        "+   v: 2",
        "  - name: b",
        "    v: 1",
    ]


def test_items_without_a_name_are_paired_when_as_many_change():
    assert view([{"p": 1, "q": 1}], [{"p": 2, "q": 1}]) == ["- - p: 1", "+ - p: 2", "    q: 1"]


def test_lines_of_a_text_are_compared():
    before, after = {"k": "one\ntwo\n"}, {"k": "one\n2\n"}
    assert view(before, after) == ["  k: |", "    one", "-   two", "+   2"]


@pytest.mark.parametrize(
    ("before", "after"), [(1, True), (0, False), ({}, []), (None, {}), ("1", 1)]
)
def test_values_of_another_type_differ(before, after):
    marks = {mark for mark, _ in marked_yaml({"k": before}, {"k": after})}
    assert marks == {"-", "+"}


def test_numbers_of_the_same_value_are_the_same():
    assert view({"k": 1.0}, {"k": 1}) == ["  k: 1"]


def tree(chance, depth=0):
    kind = chance.random()
    if depth < 4 and kind < 0.4:
        return {
            chance.choice("abcdef"): tree(chance, depth + 1) for _ in range(chance.randint(0, 4))
        }
    if depth < 4 and kind < 0.7:
        return [tree(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    return chance.choice(
        [1, 2, True, None, "x", "x\ny\n", "", {"name": "n"}, {"name": "m", "a": 1}]
    )


def test_unmarked_and_added_lines_are_the_later_object():
    chance = random.Random(7)
    for _ in range(500):
        before, after = tree(chance), tree(chance)
        lines = marked_yaml(before, after)
        assert [line for mark, line in lines if mark != "-"] == yaml_lines(after)
        assert {mark for mark, _ in marked_yaml(after, after)} == {" "}


def test_every_value_that_went_away_is_marked():
    chance = random.Random(8)
    for _ in range(500):
        before, after = {"k": tree(chance), "gone": 1}, {"k": tree(chance)}
        assert ("-", "gone: 1") in marked_yaml(before, after)


def changed(chance, value):
    """Return a value with one part of it exchanged; the others are those of the value."""
    if not value or value.__class__ not in {dict, list} or chance.random() < 0.3:
        return tree(chance)
    place = chance.choice([*value] if value.__class__ is dict else range(len(value)))
    copy = value.copy()
    copy[place] = changed(chance, value[place])
    return copy


def test_what_differs_is_what_is_marked():
    chance = random.Random(9)
    for _ in range(1000):
        before = tree(chance)
        after = changed(chance, before) if chance.random() < 0.8 else tree(chance)
        marked = [one for one in marked_yaml(before, after) if one[0] != " "]
        assert changed_yaml(before, after) == marked
