import re

import pytest

from kyvsim.equivalence.edits import edits, keys_meant, samples, wildcards
from kyvsim.equivalence.field_rules import of_one_shape
from kyvsim.kubernetes.wildcard import OPERATORS, compile_text_pattern, matches
from kyvsim.model.field_reference import Segment
from kyvsim.schema.merge_types import find_type

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "a", "image": "nginx"}]},
}
IMAGE = ("spec", "containers", Segment.ELEMENT, "image")
TYPE = find_type("v1", "Pod")


def results(path, values=(), chosen=0, obj=POD, sizes=()):
    return [edit(obj) for edit in edits(TYPE, path, values, sizes)[chosen]]


def images(obj):
    """The images of an object's containers, None where it has no list of such."""
    spec = obj.get("spec")
    found = spec.get("containers") if isinstance(spec, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        return None
    return [one.get("image") for one in found]


def test_a_value_is_set_in_the_first_element():
    assert ["redis"] in [images(one) for one in results(IMAGE, ["redis"])]


def test_what_is_asked_for_is_also_taken_away_with_all_that_is_around_it():
    found = results(IMAGE, ["redis"])
    assert {"name": "a"} in [one["spec"]["containers"][0] for one in found if images(one) == [None]]
    assert any(one.get("spec") == {} for one in found)
    assert any("spec" not in one for one in found)


def test_a_further_element_stands_behind_and_before():
    found = [images(one) for one in results(IMAGE, ["redis"])]
    assert ["nginx", "redis"] in found
    assert ["redis", "nginx"] in found
    assert [] in found


def test_elements_that_are_made_have_what_they_need():
    path = ("spec", "initContainers", Segment.ELEMENT, "image")
    made = results(path, ["redis"])[0]["spec"]["initContainers"]
    assert made == [{"name": "b", "image": "redis"}]
    path = (
        "spec",
        "containers",
        Segment.ELEMENT,
        "env",
        Segment.ELEMENT,
        "valueFrom",
        "secretKeyRef",
    )
    made = results((*path, "name"), ["a"])[0]["spec"]["containers"][0]["env"]
    assert made == [{"name": "a", "valueFrom": {"secretKeyRef": {"key": "a", "name": "a"}}}]


def test_what_names_an_element_is_a_word_of_its_field():
    path = ("spec", "containers", Segment.ELEMENT, "ports", Segment.ELEMENT, "hostPort")
    made = results(path, [80])[0]["spec"]["containers"][0]["ports"]
    assert made == [{"containerPort": 1, "protocol": "TCP", "hostPort": 80}]


def test_lists_do_not_grow_without_end():
    many = {**POD, "spec": {"containers": [{"name": str(n), "image": "a"} for n in range(3)]}}
    assert max(len(images(one) or ()) for one in results(IMAGE, ["redis"], obj=many)) == 3


def test_values_of_other_types_are_odd():
    unusual = [images(one) for one in results(IMAGE, ["redis"], chosen=1)]
    assert [None] in unusual
    assert [0] in unusual
    plain = [images(one) for one in results(IMAGE, ["redis"])]
    assert [0] not in plain


def test_the_object_itself_stays_as_it_is():
    before = repr(POD)
    results(IMAGE, ["redis"])
    results(IMAGE, ["redis"], chosen=1)
    assert repr(POD) == before


def test_a_list_of_which_nothing_is_written_gets_an_element():
    made = [one["spec"].get("volumes") for one in results(("spec", "volumes")) if "spec" in one]
    assert [{"name": "a"}] in made


@pytest.mark.parametrize("path", [("spec", "containers"), IMAGE[:-1]])
def test_where_a_list_is_counted_it_has_as_many_elements_or_one_more(path):
    sizes = {len(images(one) or ()) for one in results(path, sizes=[4])}
    assert {3, 4, 5} <= sizes
    names = [
        [one["name"] for one in obj["spec"]["containers"]]
        for obj in results(path, sizes=[4])
        if len(images(obj) or ()) == 4
    ]
    assert len(set(names[0])) == 4


def test_where_a_text_is_counted_it_is_as_long_or_longer():
    path = ("metadata", "name")
    names = [one.get("metadata", {}).get("name") for one in results(path, sizes=[8])]
    assert {"a" * 8, "a" * 9, "a" * 7} <= set(names)


def test_amounts_that_are_asked_for_are_amounts():
    path = ("spec", "containers", Segment.ELEMENT, "resources", "limits")
    limits = [
        one["spec"]["containers"][0].get("resources", {}).get("limits")
        for one in results(path)
        if images(one)
    ]
    assert {"cpu": "1"} in limits


def test_a_key_that_somebody_chose_also_gives_way_to_another_one():
    path = ("spec", "containers", Segment.ELEMENT, "resources", "limits", "memory")
    obj = {**POD, "spec": {"containers": [{"name": "a", "resources": {"limits": {"memory": "1"}}}]}}
    limits = [
        (one["spec"]["containers"][0].get("resources") or {}).get("limits")
        for one in results(path, ["1"], obj=obj)
        if images(one)
    ]
    assert {"cpu": "1"} in limits


def test_a_field_of_a_type_gets_no_other_name():
    assert not any("other" in one["spec"]["containers"][0] for one in results(IMAGE) if images(one))


def test_what_is_no_amount_is_odd():
    path = ("spec", "containers", Segment.ELEMENT, "resources", "limits", "memory")
    first = results(path, ["?*"])[0]
    assert first["spec"]["containers"][0]["resources"]["limits"] == {"memory": "1"}


def test_keys_that_a_policy_lists_are_entries_of_the_map():
    labels, volumes = (
        ("metadata", "labels", Segment.KEY),
        ("spec", "volumes", Segment.ELEMENT, Segment.KEY),
    )
    found = [*keys_meant(TYPE, {labels: ("a.com/team", "no key /"), volumes: ()})]
    assert ("metadata", "labels", "a.com/team") in found
    assert ("metadata", "labels", "no key /") not in found
    assert ("spec", "volumes", Segment.ELEMENT, "hostPath") in found
    assert not [*keys_meant(None, {labels: ("a",)})]


def test_where_nobody_knows_types_the_first_way_says_what_is_a_list():
    listed, mapped = ("spec", "data", Segment.ELEMENT, "a"), ("spec", "data", Segment.KEY)
    assert [*of_one_shape([listed, mapped, ("spec", "b")])] == [listed, ("spec", "b")]
    assert [*of_one_shape([mapped, listed])] == [mapped]


def test_of_parts_that_exclude_each_other_one_is_left():
    container = ("spec", "containers", Segment.ELEMENT)
    trace = {"tcpSocket": {"port": 80}}
    obj = {**POD, "spec": {"containers": [{"name": "a", "image": "b", "startupProbe": trace}]}}
    path = (*container, "startupProbe", "httpGet", "port")
    made = [_at(one, path[:-2]) or {} for one in results(path, [8080], obj=obj)]
    assert {"httpGet": {"port": 8080}} in made
    assert not any({"httpGet", "tcpSocket"} <= one.keys() for one in made)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("metadata", "labels", "a"), "*"),
        (("spec", "volumes", Segment.ELEMENT, "emptyDir", "sizeLimit"), "-1Gi"),
        (("spec", "containers", Segment.ELEMENT, "ports", Segment.ELEMENT, "containerPort"), 0),
    ],
)
def test_what_an_api_server_refuses_comes_last(path, value):
    plain, unusual = edits(TYPE, path, [value])
    assert plain
    assert any(_at(edit(POD), path) == value for edit in unusual)
    assert not any(_at(edit(POD), path) == value for edit in plain)


def _at(value, path):
    for step in path:
        if step is Segment.ELEMENT:
            value = value[0] if isinstance(value, list) and value else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


PATTERNS = [
    "registry.example.com/*",
    "*:latest",
    "!*:latest",
    "?*",
    ">=5",
    "<10",
    "!7",
    "5-9",
    "1Gi",
    ">512Mi",
    "a | b",
    "safe-* | *-safe",
]


@pytest.mark.parametrize("pattern", [*PATTERNS, *(f"{one}5" for one in OPERATORS if one)])
def test_a_pattern_gives_values_that_fit_and_values_that_do_not(pattern):
    fits = compile_text_pattern(pattern)
    found = [*samples([pattern])]
    assert any(map(fits, found))
    if pattern != "?*":
        assert not all(map(fits, found))


def test_the_first_value_is_the_one_that_is_written():
    assert next(samples(["exact"])) == "exact"
    assert next(samples([3])) == 3
    assert next(samples([False])) is False


@pytest.mark.parametrize(
    ("written", "beside"),
    [
        (3, [4, 2, "3"]),
        (True, [False]),
        ("2Gi", ["1Gi", "3Gi", "2147483648"]),
        ("1h", ["0h", "2h", "3600", "3600000ms"]),
        ("1h30m", ["5399s", "5401s", "5400"]),
        ("*:latest", ["x:latest", "x:latestx"]),
        ("ab/*", ["ab/x", "xab/x"]),
    ],
)
def test_neighbours_are_a_step_away(written, beside):
    found = [*samples([written])]
    assert all(one in found for one in beside)


def test_what_is_written_comes_before_all_that_is_beside_it():
    assert [*samples(["a", "b"])][:2] == ["a", "b"]


@pytest.mark.parametrize(
    "expression", [r"\bjcmd\b", "^[a-z]+$", r"^v\d+\.\d+$", "^(a|b)$", "x.*y", r"a\.b"]
)
def test_regular_expressions_give_texts_that_match(expression):
    texts = [one for one in samples([expression]) if isinstance(one, str)]
    assert any(re.search(expression, one) for one in texts)
    assert not all(re.search(expression, one) for one in texts)


def test_texts_of_numbers_give_numbers_too():
    assert 1000 in [*samples(["1000"])]


def test_texts_with_wildcards_match_what_is_written():
    found = [*wildcards(["nodes/proxy", ["get"], "bad*", 1])]
    assert found[0] == "*"
    assert {"nodes/*", "*/proxy", "nodes/prox?", "g*", "ge?"} <= set(found)
    assert all(matches(one, "nodes/proxy") or matches(one, "get") for one in found)
    assert [*wildcards(["*", 1, None])] == []
