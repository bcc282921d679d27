import copy
from fnmatch import fnmatchcase
from functools import partial

import pytest

from kyvsim.patch.nodes import PatchError, has_anchors, modifier
from kyvsim.patch.preprocess_anchors import ConditionsFailed, compile_preprocess


def matches(pattern, value):
    if isinstance(pattern, list) or pattern == "*":
        return True
    if isinstance(pattern, dict):
        return all(
            key.strip("()") in value and matches(below, value[key.strip("()")])
            for key, below in pattern.items()
        )
    return fnmatchcase(str(value), str(pattern))


def prepared(patch, resource):
    before = copy.deepcopy((patch, resource))
    found = compile_preprocess(patch, lambda pattern: partial(matches, pattern))(resource)
    assert (patch, resource) == before
    return found


def containers(*items):
    return {"spec": {"containers": list(items)}}


POD = containers(
    {"name": "c1", "image": "nginx:1", "pull": "Never"},
    {"name": "c2", "image": "redis"},
    {"image": "nginx:2"},
)


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        ({"a": {"+(b)": 1}}, {"a": {"b": 1.0}}),
        ({"spec": {"+(containers)": [1]}}, {}),
        ({"+(spec)": {"x": 1}, "y": "z"}, {"y": "z"}),
        ({"(spec)": {"(containers)": [{"(image)": "*"}]}, "y": "z"}, {"y": "z"}),
        ({"(spec)": {"containers": "*"}, "y": "z"}, {"(spec)": {"containers": "*"}, "y": "z"}),
        ({"(spec)": {"+(x)": 1}, "y": "z"}, {"(spec)": {"x": 1.0}, "y": "z"}),
        ({"(no)": {"+(x)": 1}, "y": "z"}, ConditionsFailed),
        ({"a": {"(spec)": {"containers": "*"}}}, ConditionsFailed),
        ({"=(a)": "b", "X(c)": "d", "^(e)": [1]}, {"=(a)": "b", "X(c)": "d", "^(e)": [1.0]}),
        ({"a": {"b": {}}, "c": [], "d": [{}]}, {"c": []}),
        ({"a": None}, {"a": None}),
    ],
)
def test_maps(patch, after):
    if after is ConditionsFailed:
        with pytest.raises(ConditionsFailed):
            prepared(patch, POD)
    else:
        assert prepared(patch, POD) == after


@pytest.mark.parametrize(
    ("element", "after"),
    [
        ({"(image)": "nginx*", "tty": True}, [{"name": "c1", "tty": True}]),
        ({"(name)": "*", "tty": True}, [{"name": "c1", "tty": True}, {"name": "c2", "tty": True}]),
        ({"(name)": "c*"}, None),
        ({"(name)": "x", "tty": True}, None),
        ({"<(name)": "c1", "tty": True}, None),
        ({"(name)": "*", "+(pull)": "Always"}, None),
        (
            {"(name)": "*", "+(tty)": True},
            [{"name": "c1", "tty": True}, {"name": "c2", "tty": True}],
        ),
    ],
)
def test_elements_with_anchors_are_templates(element, after):
    found = prepared(containers(element), POD)
    assert found == ({} if after is None else containers(*after))


def test_the_first_element_decides_on_additions_for_all():
    patch = containers({"(name)": "*", "+(pull)": "Always"})
    turned = containers(*reversed(POD["spec"]["containers"][:2]))
    assert prepared(patch, turned) == containers(
        {"name": "c2", "pull": "Always"}, {"name": "c1", "pull": "Always"}
    )


def test_an_element_without_anchors_stays_beside_templates():
    found = prepared(containers({"name": "new"}, {"(image)": "redis", "x": "y"}), POD)
    assert found == containers({"name": "new"}, {"name": "c2", "x": "y"})


def test_a_second_template_survives_the_first_ones_removal():
    patch = containers({"(name)": "c1", "a": "x"}, {"(name)": "c2", "b": "y"})
    found = prepared(patch, POD)
    # The second removal takes the place that the element had before the first: a wrong one.
    assert found == containers({"(name)": "c2", "b": "y"}, {"name": "c2", "b": "y"})


@pytest.mark.parametrize(
    ("patch", "everywhere"),
    [
        ({"(kind)": "Pod"}, False),
        ({"spec": {"(missing)": "*"}}, False),
        ({"spec": {"<(missing)": "*"}}, True),
        (containers({"<(image)": "busybox", "tty": True}), True),
        ({"spec": {"other": [{"<(image)": "busybox"}]}}, True),
        ({"spec": {"(containers)": "busybox"}}, False),
    ],
)
def test_conditions_that_fail(patch, everywhere):
    with pytest.raises(ConditionsFailed) as caught:
        prepared(patch, POD)
    assert caught.value.everywhere is everywhere


def test_one_match_is_enough_for_a_global_condition():
    patch = {**containers({"<(image)": "redis"}), "metadata": {"a": "b"}}
    assert prepared(patch, POD) == {"metadata": {"a": "b"}}


def test_an_emptied_element_stays_where_another_one_goes_for_it():
    found = prepared(containers({"(name)": "x"}, {"name": "a"}, {"b": {}}), POD)
    # Two go: the template, and by then the wrong place is beyond the end.
    assert found == containers({"name": "a"})
    found = prepared(containers({"b": {}}, {"b": {}}, {"name": "a"}), POD)
    assert found == containers({})


def test_a_patch_gives_the_same_for_an_object_whatever_it_was_given_before():
    patch = containers({"(name)": "*", "(image)": "nginx*", "+(pull)": "Always", "tty": True})
    shared = compile_preprocess(patch, lambda pattern: partial(matches, pattern))
    turned = containers(*reversed(POD["spec"]["containers"]))
    for resource in (POD, turned, {"spec": {}}, POD, turned):
        assert shared(resource) == prepared(patch, resource)


def test_conditions_see_texts_and_floats():
    seen = []

    def spy(pattern):
        return lambda value: seen.append((pattern, value)) is None

    patch = {"(a)": 5, "(b)": {"c": 5}, "(d)": None}
    found = compile_preprocess(patch, spy)({"a": 5, "b": {"c": 5}, "d": True})
    assert found == {"(b)": {"c": 5.0}}
    assert seen == [("5", "5"), ({"c": 5.0}, {"c": 5.0}), ("null", "true")]
    assert [type(value["c"]) for value in seen[1]] == [float, float]


def test_a_list_where_the_object_has_none():
    with pytest.raises(
        PatchError, match="failed to preProcess rule: wrong node kind: expected Seq"
    ):
        prepared({"spec": [{"(name)": "x"}]}, POD)


@pytest.mark.parametrize(
    ("key", "found"),
    [("(a) ", ""), ("+(a)\t", "+"), (" <(a)\n", "<"), ("(a)x", None), ("a ", None)],
)
def test_space_around_an_anchor_does_not_count(key, found):
    assert modifier(key) == found


def test_what_counts_as_an_anchor():
    assert has_anchors({"a": [{"b": {"+(c)": 1}}]})
    assert has_anchors({"a": ["(looks like one)"]})
    assert not has_anchors({"=(a)": 1, "b()": 2, "(c": 3, "d": "x(y)"})
