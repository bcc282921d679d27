"""A shape that holds means that evaluation gives the outcome; so these are asked both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shown_shapes import assert_same_where_known, compile_unseen, is_shown

from kyvsim.engine.conditions import ConditionError, compile_conditions
from kyvsim.engine.conditions.operators import OPERATORS
from kyvsim.engine.conditions.shape import (
    confirming_shape,
    elements_shape,
    is_seen_whole,
    reads_only,
    refuting_shape,
)
from kyvsim.engine.prefilter import ValueShape
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.policy.read import read_conditions

START = ("request", "object")
TEXTS = ("a", "b", "", "a*", "{{ x }}", "1h", "3")
LEAVES = st.sampled_from([*TEXTS, True, False, None, 0.0, 3.0, 3])
OBJECTS = st.dictionaries(
    st.sampled_from("klm"),
    st.recursive(
        LEAVES,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["n", "name", "a"]), inner, max_size=2)
        ),
    ),
)
WAYS = (
    "k",
    "k || 'a'",
    "k || `0`",
    "k.n || ''",
    "k[]",
    "k[].n",
    "k[*].n",
    "k[].n[]",
    "[k, l][].n",
    "[k, l][].n[] || `[]`",
    "k[] || 'b'",
    "k.keys(@)",
    "k.keys(@)[]",
    "k[].keys(@)[]",
    "k[].n.keys(@)[] || 'b'",
    "[k, l][].keys(@)[]",
    "k.keys(@)[?@ != 'name']",
)
CONDITIONS = st.builds(
    lambda way, operator, value, turned: {
        ("value" if turned else "key"): f"{{{{ request.object.{way} }}}}",
        ("key" if turned else "value"): value,
        "operator": operator,
    },
    st.sampled_from(WAYS),
    st.sampled_from([one.name for one in OPERATORS]),
    st.sampled_from(["a", "", "1h", 3, True, ["a", "b"], ["a*", "name"], [], "1-3"]),
    st.booleans(),
)
BLOCKS = st.builds(
    lambda name, conditions: {name: conditions},
    st.sampled_from(["any", "all"]),
    st.lists(CONDITIONS, min_size=1, max_size=2),
)


class Scope:
    """A request that brings an object."""

    deleting = False

    def __init__(self, obj):
        self.data = {"request": {"object": with_floats(obj)}}

    def root(self, _):
        return self.data


@given(BLOCKS, OBJECTS)
def test_what_a_shape_shows_is_how_the_block_ends(system, block, obj):
    conditions = read_conditions(block, ())
    for shape_of, wanted in ((refuting_shape, False), (confirming_shape, True)):
        shape = shape_of(conditions, START)
        if shape is not None and is_shown(shape, obj):
            evaluate = compile_conditions(conditions, system)
            assert evaluate(Scope(obj)).met is wanted


@given(BLOCKS, st.lists(OBJECTS, min_size=2, max_size=12))
def test_what_is_found_of_a_shape_is_all_that_a_block_looks_at(system, block, objects):
    conditions = read_conditions(block, ())
    shape = refuting_shape(conditions, START)
    if shape is None or not is_seen_whole(conditions):
        return
    evaluate = compile_conditions(conditions, system)

    def say(obj):
        try:
            return evaluate(Scope(obj))
        except ConditionError as error:
            return str(error)

    assert_same_where_known(shape, with_floats(objects), say)


@pytest.mark.parametrize(
    ("block", "having", "lacking"),
    [
        (
            {"all": [{"key": "{{ request.object.k[] }}", "operator": "AnyNotIn", "value": ["a"]}]},
            [{}, {"k": []}, {"k": ["a", "a"]}],
            [{"k": ["b"]}, {"k": [["a"]]}, {"k": "a"}, {"k": [None]}],
        ),
        (
            {"any": [{"key": "{{ request.object.k }}", "operator": "Equals", "value": "a"}]},
            [{"k": "b"}, {"k": None}, {"k": 1.0}],
            [{}, {"k": "a"}, {"k": 1}, {"k": {}}],
        ),
        (
            {"all": [{"key": "x", "operator": "AnyNotIn", "value": "{{ request.object.k[] }}"}]},
            [{"k": ["x"]}, {"k": ["y", "x"]}],
            [{}, {"k": []}, {"k": ["y"]}, {"k": ["x", "{{ y }}"]}, {"k": ["x", 1.0]}],
        ),
    ],
)
def test_refuting_shapes(block, having, lacking):
    walk = compile_unseen([refuting_shape(read_conditions(block, ()), START)])
    assert [obj for obj in having if walk(obj)] == []
    assert [obj for obj in lacking if not walk(obj)] == []


@pytest.mark.parametrize(
    "block",
    [
        None,
        {},
        {"any": []},
        {"any": [{"key": "a", "operator": "Strange", "value": "b"}]},
        [{"key": "{{ request.object.k }}", "operator": "Equals", "value": "a"}],
        {"any": [{"key": "{{ request.object.k }}", "operator": "Equals", "value": "{{ x }}"}]},
        {"any": [{"key": "{{ element.k }}", "operator": "Equals", "value": "a"}]},
        {"any": [{"key": "{{ request.object.k[] }}", "operator": "AllIn", "value": ["a"]}]},
    ],
)
def test_blocks_that_are_left_to_evaluation(block):
    assert refuting_shape(read_conditions(block, ()), START) is None
    assert confirming_shape(read_conditions(block, ()), START) is None


def test_lists_with_elements():
    walk = compile_unseen(
        [elements_shape("request.object.[k, l][]", ValueShape(lambda value: value == "a"), *START)]
    )
    assert [walk(obj) for obj in ({"k": ["a"]}, {"k": [], "l": ["a"]})] == [0, 0]
    assert [walk(obj) for obj in ({}, {"k": []}, {"k": ["b"]}, {"k": "a"})] == [1, 1, 1, 1]
    nested = compile_unseen(
        [elements_shape("request.object.k.l", ValueShape(lambda value: value == "a"), *START)]
    )
    assert nested({"k": {"l": ["a"]}}) == 0
    assert [nested(obj) for obj in ({}, {"k": {"l": ["a", "b"]}}, {"k": {"l": "a"}})] == [1, 1, 1]
    assert elements_shape("request.object", ValueShape(bool), *START) is None
    assert elements_shape("request.object.k || `[]`", ValueShape(bool), *START) is None
    assert elements_shape("request.object.k.keys(@)[]", ValueShape(bool), *START) is None


OPERATION = {"key": "{{ request.operation || 'X' }}", "operator": "Equals", "value": "CREATE"}
NAME = {"key": "{{ request.object.metadata.name }}", "operator": "Equals", "value": "a"}


@pytest.mark.parametrize(
    ("block", "asks"),
    [
        ({"all": [OPERATION]}, True),
        ({"any": [OPERATION]}, True),
        ({"any": [NAME]}, False),
        ({"any": [OPERATION], "all": [OPERATION]}, True),
        ([OPERATION], True),
        ([{"any": [OPERATION]}], True),
        (None, True),
        ({"all": [OPERATION, NAME]}, False),
        ({"all": [{**OPERATION, "value": "{{ x }}"}]}, False),
        ({"all": [{**OPERATION, "value": {"a": "b"}}]}, False),
    ],
)
def test_blocks_that_ask_for_the_operation_only(block, asks):
    assert reads_only(read_conditions(block, ()), "request", "operation") is asks


def test_an_absent_field_without_default_is_an_error_and_shows_nothing(system):
    block = {"all": [{"key": "{{ request.object.k }}", "operator": "NotEquals", "value": "a"}]}
    conditions = read_conditions(block, ())
    assert not is_shown(confirming_shape(conditions, START), {})
    with pytest.raises(ConditionError):
        compile_conditions(conditions, system)(Scope({}))
