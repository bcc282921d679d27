"""Results are known again by what an object looks like, as long as that happens."""

from kyvsim.compile.recall import _KEPT, Recall
from kyvsim.proof import Entry, Fields, Value
from kyvsim.proof.look import compile_look

SHAPE = Fields((Entry("a", Value(bool), absent=False),))
RESULTS = ("what a rule said",)


def recall():
    return Recall(compile_look([SHAPE]))


def test_what_is_kept_is_known_of_objects_that_look_the_same():
    known = recall()
    assert known.results({"a": 1}) is None
    known.keep({"a": 1}, RESULTS)
    assert known.results({"a": 1, "b": 2}) is RESULTS
    assert known.results({"a": 2}) is None


def test_what_is_in_doubt_is_neither_kept_nor_known():
    known = recall()
    known.keep({"a": {}}, RESULTS)
    assert known.results({"a": {}}) is None


def test_it_gives_up_where_hardly_any_object_is_known_again():
    known = recall()
    for number in range(_KEPT + 1):
        known.keep({"a": number}, RESULTS)
    known.keep({"a": "again"}, RESULTS)
    assert known.results({"a": "again"}) is None


def test_it_begins_anew_where_they_are():
    known = recall()
    for number in range(_KEPT + 1):
        known.keep({"a": number}, RESULTS)
        assert known.results({"a": number}) is RESULTS
    assert known.results({"a": 0}) is None
