import random

import pytest

from kyvsim.report.object_text import changed_yaml, marked_yaml, yaml_lines


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
