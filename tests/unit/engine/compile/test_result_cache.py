"""Results are known again by what a walk finds of the shapes of a turn."""

from types import SimpleNamespace

import pytest

from kyvsim.engine.compile.policy_set import _KEPT, ResultCache
from kyvsim.engine.prefilter import (
    BothShapes,
    FieldShape,
    ItemShape,
    KeysShape,
    MapShape,
    ValueShape,
    compile_walk,
)

RESULTS = (SimpleNamespace(message="what a rule said"),)


def _field(key, shape, *, absent=True):
    return MapShape((FieldShape(key, shape, absent),))


TEXT = ValueShape(lambda value: value == "a" if value.__class__ is str else None)
FLAG = _field("a", TEXT, absent=False)
LIST = _field("l", ItemShape(FLAG))
NESTED = _field("l", ItemShape(_field("m", ItemShape(TEXT))))


def recalled(shape, first, second):
    """Return whether the results for one object are those for another one, too."""
    trace, marks = compile_walk([shape, MapShape((FieldShape("other", None, absent=True),))])
    cache = ResultCache(marks[:1])
    assert cache.results(first, trace(first)) is None
    cache.keep(first, RESULTS)
    return cache.results(second, trace(second)) is RESULTS


@pytest.mark.parametrize(
    ("shape", "objects"),
    [
        (FLAG, [{"a": "b"}, {"a": "c"}, {"a": "b", "other": 1}]),
        (FLAG, [{}, {"b": "a"}]),
        (LIST, [{"l": [{"a": "a"}, {"a": "b"}]}, {"l": [{"a": "a", "b": 1}, {"a": "c"}]}]),
        (NESTED, [{"l": [{"m": ["a"]}, {"m": ["b"]}]}, {"l": [{"m": ["a"]}, {"m": ["c"]}]}]),
        (LIST, [{"l": [{"a": "b"}, *[{"a": "a"}] * size]} for size in (1, 2, 3)]),
        (NESTED, [{"l": [{"m": ["a"] * size}, *[{}] * size]} for size in (1, 2, 3)]),
        (KeysShape("a".__ne__), [{"a": 1}, {"b": 1, "a": 2}]),
    ],
)
def test_objects_of_which_the_same_is_found_have_the_same_results(shape, objects):
    assert all(recalled(shape, one, other) for one in objects for other in objects)


@pytest.mark.parametrize(
    ("shape", "objects"),
    [
        (FLAG, [{"a": "b"}, {}, {"a": "a"}]),
        (
            LIST,
            [
                {"l": [{"a": "a"}, {"a": "b"}]},
                {"l": [{"a": "b"}, {"a": "a"}]},
                {"l": [{"a": "a"}, {}]},
                {"l": [{"a": "b"}]},
                {"l": [{"a": "b"}, {"a": "b"}]},
            ],
        ),
        (
            NESTED,
            [
                {"l": [{"m": ["b"]}, {"m": ["a"]}]},
                {"l": [{"m": ["a"]}, {"m": ["b"]}]},
                {"l": [{"m": ["b", "a"]}]},
                {"l": [{"m": ["a", "b"]}, {}]},
                {"l": [{"m": []}, {"m": ["a", "b"]}]},
                {"l": [{"m": ["a", "b"]}, {"m": ["b"]}]},
                {"l": [{"m": ["a", "b"]}, {}, {"m": ["b"]}]},
                {"l": []},
                {"l": [{}]},
            ],
        ),
        (
            BothShapes((FLAG, _field("b", TEXT))),
            [{"a": "b"}, {"a": "a", "b": "b"}, {"a": "b", "b": "b"}],
        ),
        (
            MapShape((FieldShape("a", None, absent=True), *FLAG.entries)),
            [{}, {"a": "a"}, {"a": "b"}],
        ),
    ],
)
def test_others_have_not(shape, objects):
    every = [(one, other) for one in objects for other in objects if one is not other]
    assert [pair for pair in every if recalled(shape, *pair)] == []


@pytest.mark.parametrize(
    ("shape", "obj"),
    [
        (FLAG, {"a": 1.0}),
        (FLAG, {"a": {}}),
        (FLAG, []),
        (LIST, {"l": "b"}),
        (LIST, {"l": [{"a": "b"}, None]}),
        (KeysShape({}.get), {"a": 1}),
        (KeysShape("a".__ne__), [1]),
    ],
)
def test_what_is_not_wholly_known_is_neither_kept_nor_known(shape, obj):
    assert not recalled(shape, obj, obj)


def test_results_are_kept_for_the_object_that_was_asked_for():
    trace, marks = compile_walk([FLAG])
    cache, obj = ResultCache(marks), {"a": "b"}
    cache.keep(obj, RESULTS)
    assert cache.results(obj, trace(obj)) is None
    cache.keep({"a": "b"}, RESULTS)
    assert cache.results(obj, trace(obj)) is None


def test_equal_results_are_the_same_ones_and_others_are_not():
    cache = ResultCache(())
    said = [(SimpleNamespace(message="no", path=path),) for path in "aab"]
    first, second, other = (cache.keep({}, results) for results in said)
    assert first is second is said[0]
    assert other is said[2]


def test_it_begins_anew_where_too_much_is_known():
    trace, marks = compile_walk([LIST])
    cache = ResultCache(marks)
    objects = [{"l": [*[{"a": "a"}] * size, {"a": "b"}]} for size in range(_KEPT + 1)]
    for obj in objects:
        assert cache.results(obj, trace(obj)) is None
        cache.keep(obj, RESULTS)
        assert cache.results(obj, trace(obj)) is RESULTS
    assert cache.results(objects[0], trace(objects[0])) is None
