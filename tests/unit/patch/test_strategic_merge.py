import copy

import pytest

from kyvsim.patch.nodes import PatchError
from kyvsim.patch.strategic_merge import apply_strategic_merge


def never(pattern):
    raise AssertionError(pattern)


def merge(resource, patch):
    before = copy.deepcopy((resource, patch))
    found = apply_strategic_merge(patch, resource, never)
    assert (resource, patch) == before
    return found


def pod(**spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def custom(**spec):
    return {"apiVersion": "example.com/v1", "kind": "W", "metadata": {"name": "p"}, "spec": spec}


def named(*names):
    return [{"name": name} for name in names]


def test_maps_merge_and_nulls_delete():
    found = merge(custom(a={"x": 1.0, "y": 2.0}, b="k"), {"spec": {"a": {"y": None, "z": 3}}})
    assert found["spec"] == {"a": {"x": 1.0, "z": 3}, "b": "k"}


@pytest.mark.parametrize(
    "patch",
    [
        {},
        {"spec": {}},
        {"spec": {"count": 5}},
        {"spec": {"missing": None}},
        {"spec": {"new": {}}},
        {"spec": {"words": ["a", "b"]}},
        {"spec": {"new": {"deep": {"deeper": {}}}}},
        {"spec": {"$patch": "merge"}},
    ],
)
def test_the_resource_itself_comes_back_when_nothing_changes(patch):
    resource = custom(count=5.0, words=["a", "b"], nil=None)
    assert merge(resource, patch) is resource


def test_what_is_not_touched_is_shared():
    resource = pod(containers=named("a", "b"), tolerations=[{"key": "k"}])
    found = merge(resource, {"spec": {"containers": [{"name": "b", "image": "i"}]}})
    assert found["metadata"] is resource["metadata"]
    assert found["spec"]["tolerations"] is resource["spec"]["tolerations"]
    assert found["spec"]["containers"][1] is resource["spec"]["containers"][0]


def test_patch_elements_come_first():
    resource = pod(containers=[{"name": "c1"}, {"name": "c2", "tty": True}])
    patch = {"spec": {"containers": [{"name": "c2", "image": "i"}, {"name": "c3"}]}}
    assert merge(resource, patch)["spec"]["containers"] == [
        {"name": "c2", "image": "i", "tty": True},
        {"name": "c3"},
        {"name": "c1"},
    ]


def test_lists_of_custom_resources_are_replaced():
    found = merge(custom(containers=named("a", "b")), {"spec": {"containers": named("c")}})
    assert found["spec"]["containers"] == named("c")


def test_an_embedded_object_is_merged_by_its_own_kind():
    resource = custom(inner=pod(containers=named("a")))
    found = merge(resource, {"spec": {"inner": {"spec": {"containers": named("b")}}}})
    assert found["spec"]["inner"]["spec"]["containers"] == named("b", "a")


def test_sets_of_scalars_unite():
    resource = pod()
    resource["metadata"]["finalizers"] = ["a", "b"]
    found = merge(resource, {"metadata": {"finalizers": ["c", "b"]}})
    assert found["metadata"]["finalizers"] == ["c", "b", "a"]


def ports(*ports):
    return pod(containers=[{"name": "c", "ports": list(ports)}])


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        (
            [{"containerPort": 80.0, "protocol": "TCP"}],
            [{"containerPort": 80, "protocol": "TCP", "name": "web"}],
            [{"containerPort": 80.0, "protocol": "TCP", "name": "web"}],
        ),
        (
            [{"containerPort": 80.0, "protocol": "TCP"}],
            [{"containerPort": 80, "protocol": "UDP"}],
            [
                {"containerPort": 80.0, "protocol": "UDP"},
                {"containerPort": 80.0, "protocol": "TCP"},
            ],
        ),
        (
            [{"containerPort": 80.0, "protocol": "TCP"}],
            [{"containerPort": 80, "name": "web"}],
            [{"containerPort": 80.0, "protocol": "TCP"}],
        ),
        (
            [{"containerPort": 80.0}],
            [{"containerPort": 80, "name": "web"}],
            [{"containerPort": 80.0, "name": "web"}],
        ),
    ],
)
def test_lists_with_two_keys(before, patch, after):
    found = merge(ports(*before), {"spec": {"containers": [{"name": "c", "ports": patch}]}})
    assert found["spec"]["containers"][0]["ports"] == after


def test_doubled_names_merge_even_without_a_patch():
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    found = merge(pod(containers=[{"name": "c", "env": env}]), {"metadata": {"labels": {"x": "y"}}})
    assert found["spec"]["containers"][0]["env"] == [
        {"name": "A", "value": "3"},
        {"name": "B", "value": "2"},
    ]


def test_an_element_without_its_key_takes_all_others_away():
    found = merge(pod(containers=named("a", "b")), {"spec": {"containers": [{"image": "x"}]}})
    assert found["spec"]["containers"] == []


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        ([{"name": "a", "$patch": "delete"}], [{"name": "b"}]),
        ([{"$patch": "replace"}, {"name": "c"}], [{"name": "c"}]),
        (
            [{"name": "a", "$patch": "replace", "image": "x"}],
            [{"name": "a", "tty": True}, {"name": "b"}],
        ),
        (
            [{"name": "b", "$patch": "merge", "x": 1}],
            [{"name": "b", "x": 1}, {"name": "a", "tty": True}],
        ),
        ([{"name": "c"}, {"$patch": "replace"}], [{"name": "c"}]),
        (
            [{"name": "c", "ports": [{"$patch": "replace"}, {"containerPort": 80}]}],
            [
                {"name": "c", "ports": [{"containerPort": 80}]},
                {"name": "a", "tty": True},
                {"name": "b"},
            ],
        ),
    ],
)
def test_directives_in_lists(patch, after):
    resource = pod(containers=[{"name": "a", "tty": True}, {"name": "b"}])
    assert merge(resource, {"spec": {"containers": patch}})["spec"]["containers"] == after


def test_a_list_of_elements_goes_as_a_whole():
    assert merge(pod(containers=named("a")), {"spec": {"containers": [{"$patch": "delete"}]}}) == {
        **pod(),
        "spec": {},
    }


def test_directives_in_a_list_that_is_new():
    bare = {key: value for key, value in pod().items() if key != "spec"}
    ports = [{"containerPort": 80, "x": None}, {"$patch": "delete"}]
    for given, left in ((ports, {}), (ports[:1], {"ports": [{"containerPort": 80}]})):
        patch = {"spec": {"containers": [{"name": "c", "ports": given}]}}
        assert merge(bare, patch)["spec"] == {"containers": [{"name": "c", **left}]}


def test_directives_in_maps():
    resource = custom(a={"x": 1.0}, b={"x": 1.0}, c={"x": 1.0})
    patch = {
        "a": {"$patch": "replace", "y": 2, "z": None},
        "b": {"$patch": "delete"},
        "c": {"$patch": "merge", "y": 2},
        "d": {"$patch": "delete", "y": 2},
        "e": {"$patch": "replace", "y": 2},
        "f": {"$patch": "nonsense"},
    }
    assert merge(resource, {"spec": patch})["spec"] == {
        "a": {"y": 2},
        "c": {"x": 1.0, "y": 2},
        "e": {"y": 2},
        "f": {"$patch": "nonsense"},
    }


def test_empty_maps_leave_the_patch_and_empty_lists_stay():
    found = merge(pod(), {"spec": {"volumes": [{"name": "v", "emptyDir": {}}], "args": []}})
    assert found["spec"] == {"volumes": [{"name": "v"}], "args": []}


def test_a_text_stays_a_text():
    resource = custom(text="x", number=1.0, flag=True)
    found = merge(resource, {"spec": {"text": 5, "number": "5", "flag": 5}})
    assert found["spec"] == {"text": "5", "number": "5", "flag": 5}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (
            {"spec": {"map": "text"}},
            'wrong node kind: expected MappingNode but got ScalarNode: node contents:\n"text"\n',
        ),
        (
            {"spec": {"list": {"a": "b"}}},
            (
                "wrong node kind: expected SequenceNode but got MappingNode: "
                'node contents:\n{"a": "b"}\n'
            ),
        ),
        (
            {"spec": {"map": [{"a": "b"}]}},
            (
                "failed to preProcess rule: wrong node kind: expected SequenceNode but got "
                'MappingNode: node contents:\n{"x": 1}\n'
            ),
        ),
        ({"spec": {"map": {"$patch": "foo"}}}, "unknown patch strategy 'foo'"),
        ({"$patch": "delete"}, "filter cannot create or delete objects"),
        *(
            (
                patch,
                (
                    "failed to preProcess rule: wrong node kind: expected MappingNode but got "
                    f"{kind}: node contents:\n{shown}\n"
                ),
            )
            for patch, kind, shown in (
                ("x", "ScalarNode", '"x"'),
                (5.0, "ScalarNode", "5"),
                (True, "ScalarNode", "true"),
                ([1.0], "SequenceNode", "[1]"),
            )
        ),
    ],
)
def test_errors(patch, message):
    with pytest.raises(PatchError) as caught:
        merge(custom(map={"x": 1.0}, list=[1.0]), patch)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("before", "patch", "shown"),
    [
        ({"": {"x": 1.0}}, {"other": 1.0}, '{"": {"x": 1}}'),
        ({"": {"": 2.0}, "b": 1.0}, {"b": 2.0}, '{"": 2}'),
        ({"b": 1.0}, {"": {"x": 1.0}}, '{"b": 1}'),
        ({"b": 1.0}, {"a": {"b": {"": 1.0}}}, '{"": 1}'),
        ({"b": {"c": {"": 1.0}}}, {"a": 1.0}, '{"": 1}'),
    ],
)
def test_a_field_without_a_name_cannot_be_merged(before, patch, shown):
    """Recorded: the reference refuses it wherever it walks, not in lists that it replaces."""
    with pytest.raises(PatchError) as caught:
        merge(custom(**before), {"spec": patch})
    assert caught.value.message == (
        f"wrong node kind: expected ScalarNode but got MappingNode: node contents:\n{shown}\n"
    )


def test_a_field_without_a_name_inside_of_a_replaced_list():
    assert merge(custom(b=[{"": 1.0}]), {"spec": {"a": [{"": 2.0}]}}) == custom(
        b=[{"": 1.0}], a=[{"": 2.0}]
    )


def test_a_patch_that_lists_maps_wants_a_list_to_change():
    with pytest.raises(PatchError, match="expected SequenceNode but got MappingNode"):
        merge(custom(), [{"a": "b"}])


MANY = [{"name": f"c-{n}", "image": "i"} for n in range(40)]
ODD = ({"name": "c-7", "tty": True}, {"image": "i"}, {"name": 5.0}, {"name": None}, {}, 5, None)


def among(pattern):
    return lambda value: value in pattern.split("|")


def merge_one(items, patch):
    return apply_strategic_merge({"spec": {"containers": [patch]}}, pod(containers=items), among)


@pytest.mark.parametrize("odd", [*([one] for one in ODD), []], ids=str)
@pytest.mark.parametrize("more", [{}, {"+(tty)": True}, {"(image)": "i"}], ids=str)
@pytest.mark.parametrize("key", ["(name)", "<(name)"])
def test_a_condition_on_a_text_picks_the_same_elements_of_a_long_list(key, more, odd):
    """Elements are found by their text; of what is no plain text each element is looked at."""
    items = [*MANY, *odd]
    ends = []
    for name in ("c-7", "c-7|never"):
        try:
            ends.append(merge_one(items, {key: name, "image": "j", **more}))
        except PatchError as error:
            ends.append(str(error))
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("patch", "first"),
    [
        ({"name": "c-7", "tty": True}, [{"name": "c-7", "image": "i", "tty": True}]),
        ({"name": "c-7", "$patch": "delete"}, []),
        ({"name": "c-99", "image": "j"}, [{"name": "c-99", "image": "j"}]),
    ],
    ids=str,
)
def test_others_of_a_long_list_stay_as_they_are_in_their_order(patch, first):
    others = [one for one in MANY if one["name"] != patch["name"]]
    assert merge_one(MANY, patch)["spec"]["containers"] == [*first, *others]
