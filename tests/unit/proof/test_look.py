"""Objects with one key look the same to shapes, and others do not."""

from itertools import combinations

import pytest

from kyvsim.proof import Both, DoubtError, Each, Entry, Fields, Keys, Value
from kyvsim.proof.look import compile_look


def fits(_):
    raise AssertionError("whether a value fits is not asked")


A = Fields((Entry("a", Value(fits), absent=False), Entry("b", None, absent=True)))
LIST = Fields((Entry("list", Each(A), absent=True),))
DEEP = Fields((Entry("a", Fields((Entry("b", Value(fits), absent=True),)), absent=True),))


@pytest.mark.parametrize(
    ("shape", "objects"),
    [
        (A, [{"a": "x"}, {"a": "x", "c": "y"}, {"c": [], "a": "x"}]),
        (A, [{"a": "x", "b": 1}, {"a": "x", "b": {}}]),
        (LIST, [{"list": [{"a": 1.0}]}, {"list": [{"a": 1.0, "c": {}}]}]),
        (Keys(fits), [{"x": 1, "y": 2}, {"x": 2, "y": 1}]),
        (A, [{"a": ["x", 1]}, {"a": ["x", 1], "c": 1}]),
    ],
)
def test_what_no_shape_asks_for_makes_no_difference(shape, objects):
    assert len(set(map(compile_look([shape]), objects))) == 1


@pytest.mark.parametrize(
    ("shape", "objects"),
    [
        (Value(fits), ["1", "true", 1, 1.0, True, 0, 0.0, -0.0, False, None, ""]),
        (Value(fits), [[], ["1"], [1], [1.0], [True], ["1", "1"], [None], None, "1", "[]"]),
        (A, [["x", 1], {"a": "x", "b": 1}, ["x"], {"a": "x"}]),
        (LIST, [{"list": ["x"]}, {"list": [["x"]]}, {"list": "x"}, {"list": [{"a": "x"}]}]),
        (A, [{"a": None}, {}, {"b": None}, {"a": None, "b": None}, None, "a", 1]),
        (LIST, [{"list": some} for some in ([], [{}], [{}, {}], [{"a": 1}], [1], None, "", 1)]),
        (Keys(fits), [{}, {"x": 1}, {"x": 1, "y": 1}, None, "x"]),
        (Both((A, Keys(fits))), [{"a": 1}, {"a": 1, "c": 1}, {"a": 2}]),
        (
            DEEP,
            [{"a": {"b": "x"}}, {"a": "x"}, {"a": ["x"]}, {"a": {}}, {}, {"a": {"b": None}}, []],
        ),
    ],
)
def test_what_a_shape_asks_for_makes_one(shape, objects):
    look = compile_look([shape])
    for one, other in combinations(objects, 2):
        assert look(one) != look(other), (one, other)


@pytest.mark.parametrize("value", [{"a": {}}, {"a": [[]]}, {"a": [{}]}, [{}]])
def test_structure_where_a_scalar_is_asked_for_is_in_doubt(value):
    with pytest.raises(DoubtError):
        compile_look([A])(value)


@pytest.mark.parametrize("value", ["{{ x }}", ["a", "b {{ x }}"], {"{{ x }}": 1}])
def test_texts_that_may_ask_for_something_else_are_in_doubt(value):
    with pytest.raises(DoubtError):
        compile_look([Keys(fits)])(value)


def test_several_shapes_make_one_key():
    look = compile_look([A, LIST])
    assert look({"a": 1, "list": []}) != look({"a": 1})
    assert look({"a": 1, "list": []}) == look({"a": 1, "list": [], "c": 2})
