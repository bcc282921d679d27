import pytest
from shown_shapes import compile_unseen, is_shown

from kyvsim.engine.prefilter import (
    BothShapes,
    FieldShape,
    ItemShape,
    KeysShape,
    MapShape,
    UndecidableError,
    ValueShape,
    fits_null,
    together,
)

A = ValueShape(lambda value: value == "a")
TEXT = ValueShape(lambda value: value.__class__ is str)


def _field(key, shape, *, absent=False):
    return MapShape((FieldShape(key, shape, absent),))


@pytest.mark.parametrize(
    ("shape", "having", "lacking"),
    [
        (A, ["a"], ["b", None, True, 1.0, [], {}]),
        (_field("x", A), [{"x": "a"}, {"x": "a", "y": 1}], [{}, {"x": "b"}, {"x": None}, [], "x"]),
        (_field("x", A, absent=True), [{"x": "a"}, {}], [{"x": "b"}, {"x": None}, None]),
        (_field("x", None, absent=True), [{}, {"y": 1}], [{"x": None}, {"x": 1}, None]),
        (MapShape(()), [{}, {"x": 1}], [None, [], "x"]),
        (ItemShape(A), [[], ["a"], ["a", "a"]], [["a", "b"], [None], None, {}, "a"]),
        (ItemShape(A, counted=True), [["a"]], [[], ["b"], ["a", "b"], None]),
        (KeysShape("a".__ne__), [{}, {"b": 1}], [{"a": 1}, {"a": 1, "b": 1}, [], None]),
        (BothShapes((TEXT, ValueShape(bool))), ["x"], ["", 1.0, True]),
    ],
)
def test_a_shape_is_shown_of_what_has_it_and_of_nothing_else(shape, having, lacking):
    assert [value for value in having if not is_shown(shape, value)] == []
    assert [value for value in lacking if is_shown(shape, value)] == []


def test_one_of_several_counted_lists_needs_an_element():
    shape = MapShape(
        tuple(FieldShape(key, ItemShape(TEXT, counted=True), absent=True) for key in "ab")
    )
    assert [
        is_shown(shape, obj) for obj in ({"a": ["x"]}, {"a": [], "b": ["x"]}, {"a": []}, {})
    ] == [
        True,
        True,
        False,
        False,
    ]


def test_each_shape_has_a_bit_of_its_own_however_much_they_share():
    shapes = [
        _field("x", A),
        _field("x", TEXT),
        _field("x", None, absent=True),
        _field("l", ItemShape(_field("y", A)), absent=True),
        _field("l", ItemShape(_field("y", TEXT), counted=True), absent=True),
        KeysShape("l".__ne__),
    ]
    walk = compile_unseen(shapes)
    for obj in ({"x": "a"}, {"x": "b", "l": []}, {"l": [{"y": "b"}]}, {"l": [{"y": "a"}]}, [], {}):
        expected = sum(1 << n for n, shape in enumerate(shapes) if not is_shown(shape, obj))
        assert walk(obj) == expected, obj


def test_verdicts_of_texts_are_remembered():
    asked = []
    walk = compile_unseen([ValueShape(lambda value: not asked.append(value))])
    asked.clear()
    assert [walk("x"), walk("x"), walk("y")] == [0, 0, 0]
    assert asked == ["x", "y"]


def test_of_an_object_with_a_doubt_nothing_is_shown():
    def doubt(value):
        if value == "strange":
            raise UndecidableError
        return True

    walk = compile_unseen([_field("x", ValueShape(doubt)), TEXT, MapShape(())])
    assert [walk({"x": "fine"}), walk({"x": "strange"})] == [2, 7]


def test_an_object_that_is_nested_too_deeply_is_left_alone():
    def deep(_):
        raise RecursionError

    assert compile_unseen([KeysShape(deep), MapShape(())])({"x": 1}) == 3


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        (ValueShape(lambda value: value is None), True),
        (A, False),
        (MapShape(()), False),
        (BothShapes((ValueShape(lambda value: not value), A)), False),
    ],
)
def test_null_fits_values_at_most(shape, fits):
    assert fits_null(shape) is fits
    assert is_shown(shape, None) is fits


def test_one_shape_stands_for_itself():
    assert together([A]) is A
