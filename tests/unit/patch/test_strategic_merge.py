"""Strategic merges."""

import copy
import json
import random
import sys

import pytest

from kyvsim.engine.pattern import compile_pattern
from kyvsim.patch.nodes import PatchError, read_back
from kyvsim.patch.strategic_merge import (
    ElementMerges,
    apply_strategic_merge,
    compile_strategic_merge,
)
from kyvsim.policy.read import pattern_node


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


# Loops that merge into one element of a long list at a time: the same as merging each time.

NAMES = ("a", "b", "c", "d", "e", "*", "5", "")


def condition(pattern):
    check = compile_pattern(pattern_node(pattern, ()))
    return lambda value: check(value) is None


def patcher(patch):
    merged = compile_strategic_merge(patch, condition)

    def patched(obj):
        changed = merged(obj)
        return obj if changed is obj else read_back(changed)

    return patched


def element_merges_pod(*containers, **more):
    spec = {"containers": list(containers), **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def one_by_one(obj, patches):
    for patch in patches:
        obj = patcher(patch)(obj)
    return obj


def by_elements(obj, patches):
    """Return the object after all patches, and how often all of it was merged."""
    merges, whole = ElementMerges(obj), []
    for patch in patches:
        merges.merge(patch, patcher(patch), lambda: whole.append(1), len)
    return merges.result, len(whole)


def shown(obj):
    return json.dumps(obj)  # 5 and 5.0 differ, so does the order of fields


def anchored(name, **more):
    return {"spec": {"containers": [{"(name)": name, **more}]}}


def plain(name, **more):
    return {"spec": {"containers": [{"name": name, **more}]}}


CONTAINERS = [{"name": name, "image": "x", "n": 5.0} for name in "abcd"]
CASES = {
    "conditions": [anchored(name, image="y") for name in "dcba"],
    "names": [plain(name, image="y") for name in "abcd"],
    "one element again and again": [anchored("b", **{f"f{n}": "y"}) for n in range(4)],
    "beside the list": [
        {"metadata": {"labels": {f"l{name}": name}}, **plain(name, tty=True)} for name in "dcba"
    ],
    "nested additions": [anchored(name, resources={"+(limits)": "x"}) for name in "dcba"],
    "lists in the element": [
        anchored(name, env=[{"name": "e", "value": name}]) for name in "dcbaab"
    ],
}


@pytest.mark.parametrize("patches", CASES.values(), ids=CASES)
def test_an_element_at_a_time_is_merged_as_all_of_the_object(patches):
    found, whole = by_elements(element_merges_pod(*CONTAINERS), patches)
    assert shown(found) == shown(one_by_one(element_merges_pod(*CONTAINERS), patches))
    assert whole == 1  # the first one


UNLIKE = {
    "a new element": [plain("a", tty=True), plain("z", tty=True)],
    "an element that goes": [plain("a", tty=True), plain("b", **{"$patch": "delete"})],
    "a wildcard": [plain("a", tty=True), anchored("*", image="y")],
    "two conditions": [plain("a", tty=True), {"spec": {"containers": [
        {"(name)": "b", "(image)": "x", "tty": True}]}}],
    "an addition": [plain("a", tty=True), anchored("b", **{"+(image)": "y"})],
    "a global condition": [plain("a", tty=True), {"spec": {"containers": [
        {"<(name)": "b", "tty": True}]}}],
    "two lists": [plain("a", tty=True), {"spec": {"volumes": [{"name": "v"}], "containers": [
        {"name": "b", "tty": True}]}}],
    "a list without names": [plain("a", tty=True), {"spec": {"tolerations": [{"key": "k"}]}}],
}  # fmt: skip


@pytest.mark.parametrize("patches", UNLIKE.values(), ids=UNLIKE)
def test_what_is_not_about_one_element_is_merged_as_a_whole(patches):
    found, whole = by_elements(element_merges_pod(*CONTAINERS), patches)
    assert shown(found) == shown(one_by_one(element_merges_pod(*CONTAINERS), patches))
    assert whole == 2


def random_patch(chance):
    key = chance.choice(("name", "(name)", "(name)", "(image)", "<(name)", "image"))
    element = {key: chance.choice(NAMES)}
    for _ in range(chance.randrange(3)):
        field = chance.choice(("image", "+(tty)", "(image)", "n", "env", "$patch", "name"))
        element[field] = chance.choice(
            ("x", "y", 5.0, None, [{"name": "e"}], {}, "delete", "merge")
        )
    path = chance.choice(("containers", "containers", "volumes", "tolerations"))
    patch = {"spec": {path: [element] * chance.choice((1, 1, 1, 2))}}
    if chance.randrange(4) == 0:
        patch["metadata"] = chance.choice(({"labels": {"+(a)": "b"}}, {"(name)": "q"}, None))
    return patch


def random_pod(chance):
    names = chance.sample(NAMES[:-1], chance.randrange(1, 6))
    made = [{"name": name, **({"n": 5.0} if chance.randrange(2) else {})} for name in names]
    if chance.randrange(5) == 0:
        made.append(chance.choice(({"image": "x"}, {"name": "a"}, {"name": 5.0}, None, {})))
    return element_merges_pod(*made, volumes=[{"name": "v", "a": 1.0}, {"name": "a"}])


@pytest.mark.parametrize("seed", range(40))
def test_random_loops_end_as_if_each_patch_were_merged_into_all(seed):
    chance = random.Random(seed)
    for _ in range(50):
        obj = random_pod(chance)
        patches = [random_patch(chance) for _ in range(chance.randrange(1, 7))]
        wanted = ending(one_by_one, obj, patches)
        assert ending(lambda *given: by_elements(*given)[0], obj, patches) == wanted, (obj, patches)


def ending(run, *given):
    """Return the object that a run ends with, as text, or the error."""
    try:
        return shown(run(*given))
    except PatchError as error:
        return f"error: {error}"


def calls(count):
    """Return how many calls a loop over so many containers makes."""
    obj = element_merges_pod(*({"name": f"c{n}", "image": "x"} for n in range(count)))
    made = 0

    def profile(*_):
        nonlocal made
        made += 1

    patches = [anchored(f"c{n}", image="y") for n in reversed(range(count))]
    patchers = [patcher(patch) for patch in patches]
    merges = ElementMerges(obj)
    sys.setprofile(profile)
    try:
        for patch, merged in zip(patches, patchers, strict=True):
            merges.merge(patch, merged, int, len)
        merges.result  # noqa: B018 — worked out when it is read
    finally:
        sys.setprofile(None)
    return made


def test_the_work_grows_with_the_elements():
    apply_strategic_merge({}, element_merges_pod(), condition)  # read the tables
    assert calls(400) < 2.5 * calls(200)
