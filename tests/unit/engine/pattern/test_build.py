import pytest

from kyvsim.engine import pattern as patterns
from kyvsim.engine.pattern import FailureKind
from kyvsim.model.ports import Budget, BudgetError, Meter
from kyvsim.policy.read import pattern_node, read_pattern

POD = {
    "metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "web", "tier": "front"}},
    "spec": {
        "hostNetwork": True,
        "replicas": 3.0,
        "containers": [
            {"name": "web", "image": "nginx:1.25", "ports": [{"containerPort": 80.0}]},
            {"name": "side", "image": "redis:latest"},
        ],
        "words": ["one", "two"],
        "grid": [["a"], ["b"]],
        "nothing": None,
    },
}


def compile_pattern(pattern, meter=None):
    return patterns.compile_pattern(pattern_node(pattern, ()), meter=meter)


def compile_any_pattern(alternatives, meter=None):
    read = [read_pattern(one, ("anyPattern", index)) for index, one in enumerate(alternatives)]
    return patterns.compile_any_pattern(read, meter=meter)


def outcome(pattern, value=None):
    failure = compile_pattern(pattern)(POD if value is None else value)
    return None if failure is None else (failure.kind, failure.path or failure.message)


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "?*"}]},
        {"replicas": ">2", "missing": "<10"},
        {"=(missing)": {"a": "b"}, "X(absent)": "null"},
        {"(hostNetwork)": True, "words": ["one | two"]},
        {"containers": [{"(name)": "web", "image": "nginx:*"}]},
        {"^(containers)": [{"image": "*:latest"}, {"name": "web"}]},
        {"<(hostNetwork)": "true", "replicas": 3},
        {"<(absent)": "x"},
        {"grid": [["a"]]},
        {"containers": "*"},
        {"nothing": None},
    ],
)
def test_matches(spec):
    assert outcome({"spec": spec}) is None


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"containers": [{"image": "!*:latest"}]}, "/spec/containers/1/image/"),
        (
            {"containers": [{"ports": [{"containerPort": "<80"}]}]},
            "/spec/containers/0/ports/0/containerPort/",
        ),
        ({"hostNetwork": "false"}, "/spec/hostNetwork/"),
        ({"X(nothing)": "null"}, "/spec/nothing/"),
        ({"nothing": "*"}, "/spec/"),
        ({"=(replicas)": {"a": "b"}}, "/spec/replicas/"),
        ({"words": ["one"]}, "/spec/words/"),
        ({"words": []}, "/spec/words/"),
        ({"replicas": [1]}, "/spec/replicas/"),
        ({"^(containers)": [{"name": "other"}]}, "/spec/containers/"),
        ({"grid": [["a"], ["a"]]}, "/spec/grid/1/"),
    ],
)
def test_fails_at(spec, path):
    assert outcome({"spec": spec}) == (FailureKind.FAIL, path)


def test_a_condition_that_does_not_match_skips():
    assert outcome({"spec": {"(replicas)": ">5", "hostNetwork": "false"}}) == (
        FailureKind.SKIP,
        (
            "conditional anchor mismatch: "
            "resource value '3' does not match '>5' at path /spec/replicas/"
        ),
    )


def test_a_condition_on_an_absent_key_skips():
    assert outcome({"spec": {"(absent)": "x"}}) == (
        FailureKind.SKIP,
        "conditional anchor mismatch: conditional anchor key doesn't exist in the resource",
    )


def test_a_global_anchor_that_does_not_match_skips():
    assert outcome({"spec": {"<(replicas)": "5"}}) == (
        FailureKind.SKIP,
        "global anchor mismatch: resource value '3' does not match '5' at path /spec/replicas/",
    )


def test_a_list_all_of_whose_elements_skip_skips_with_all_their_texts():
    kind, message = outcome({"spec": {"containers": [{"(name)": "x", "image": "y"}]}})
    assert kind is FailureKind.SKIP
    assert message.split("; ") == [
        f"conditional anchor mismatch: resource value '{name}' does not match 'x' "
        f"at path /spec/containers/{index}/name/"
        for index, name in enumerate(["web", "side"])
    ]


def test_a_failure_beside_an_existence_anchor_whose_key_never_occurs_is_an_error():
    spec = {"^(absent)": [{"a": "b"}], "hostNetwork": "false"}
    assert outcome({"spec": spec}) == (
        FailureKind.ERROR,
        "resource value 'true' does not match 'false' at path /spec/hostNetwork/",
    )


def test_a_list_of_lists_that_is_too_short_is_an_error():
    assert outcome({"spec": {"grid": [["a"], ["b"], ["c"]]}}) == (
        FailureKind.ERROR,
        (
            "validate Array failed, array length mismatch, "
            "resource Array len is 2 and pattern Array len is 3"
        ),
    )


def test_one_skip_among_anchors_counts_unless_it_comes_from_a_list():
    assert outcome({"spec": {"(hostNetwork)": True, "(replicas)": 9}})[0] is FailureKind.SKIP
    mixed = {"(hostNetwork)": True, "=(containers)": [{"(name)": "none"}], "replicas": 4}
    assert outcome({"spec": mixed}) == (FailureKind.FAIL, "/spec/replicas/")


def test_words_of_a_skip_in_the_object_make_it_a_skip():
    pattern = {"a": "b"}
    assert outcome(pattern, {"a": "c"})[0] is FailureKind.FAIL
    assert outcome(pattern, {"a": "global anchor mismatch"})[0] is FailureKind.SKIP


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"app.*/name": "web"}, None),
        ({"app.*/name": "db"}, "/metadata/labels/app.kubernetes.io/name/"),
        ({"=(none*)": "x"}, None),
        ({"none*": "x"}, "/metadata/labels/none*/"),
        ({"X(ti*)": "x"}, "/metadata/labels/tier/"),
        ({"tier": 5}, None),
    ],
)
def test_label_keys_may_be_wildcards(labels, expected):
    found = outcome({"metadata": {"labels": labels}})
    assert found == (None if expected is None else (FailureKind.FAIL, expected))


def test_an_expanded_key_stays_for_the_rest_of_a_list():
    check = compile_pattern({"items": [{"metadata": {"labels": {"app*": "x"}}}]})
    first, second = ({"metadata": {"labels": {name: "x"}}} for name in ("app1", "app2"))
    assert check({"items": [first, first]}) is None
    assert check({"items": [second, second]}) is None
    assert check({"items": [first, second]}).path == "/items/1/metadata/labels/app1/"


def test_numbers_of_any_pattern_are_floats():
    assert compile_pattern({"a": 5})({"a": "5.0"}) is not None
    assert compile_any_pattern([{"a": 5}])[0]({"a": "5.0"}) is None


NO_LIST = (
    "validation rule failed at path /a/, resource does not satisfy the expected overlay pattern"
)
ONLY_LISTS = "Existence ^ () anchor can be used only on list/array type resource"
NO_MAPS = "Pattern has to be of type map to compare against items in resource"
SKIPS = "conditional anchor mismatch"
TWO_STRUCTURES = "pattern and resource have different structures. Path: /a/. Expected"


@pytest.mark.parametrize(
    ("pattern", "obj", "message"),
    [
        ({"a": []}, {"a": ["x"]}, "pattern Array empty"),
        ({"a": []}, {"a": 1.5}, NO_LIST),
        ({"a": [{"b": "c"}]}, {"a": 1.5}, NO_LIST),
        ({"a": ["b"]}, {"a": {}}, NO_LIST),
        ({"a": [["b"]]}, {"a": None}, NO_LIST),
        (
            {"^(a)": "b"},
            {"a": ["x"]},
            "invalid pattern type string: Pattern has to be of list to compare against resource",
        ),
        ({"^(a)": ["b"]}, {"a": ["x"]}, f"invalid pattern type []interface {{}}: {NO_MAPS}"),
        ({"^(a)": "b"}, {"a": "x"}, f"invalid resource type string: {ONLY_LISTS}"),
        ({"^(a)": [{"b": "c"}]}, {"a": True}, f"invalid resource type bool: {ONLY_LISTS}"),
        (
            {"^(a)": [{"b": "c"}]},
            {"a": [{"b": "d"}]},
            "existence anchor validation failed at path /a/",
        ),
        ({"a": {"b": "c"}}, {"a": 1}, f"{TWO_STRUCTURES} map[string]interface {{}}, found int64"),
        ({"a": {"b": "c"}}, {}, f"{TWO_STRUCTURES} map[string]interface {{}}, found <nil>"),
        (
            {"a": {"X(b)": None}},
            {"a": {"b": 1.0}},
            "negation anchor matched in resource: /a/b/ is not allowed",
        ),
        ({"a": {"b": "*"}}, {"a": {}}, "/a//b not found"),
        ({"a": True}, {"a": "no"}, "resource value 'no' does not match 'true' at path /a/"),
        ({"a": None}, {"a": {}}, "resource value 'map[]' does not match '<nil>' at path /a/"),
        (
            {"(a)": {"(b)": "c"}},
            {"a": {}},
            f"{SKIPS}: {SKIPS}: conditional anchor key doesn't exist in the resource",
        ),
        (
            {"<(a)": "b"},
            {"a": "c"},
            "global anchor mismatch: resource value 'c' does not match 'b' at path /a/",
        ),
    ],
)
def test_messages_are_the_references(pattern, obj, message):
    assert compile_pattern(pattern)(obj).message == message


def test_the_texts_of_truth_fit_texts_and_truth():
    for text, truth in (("true", True), ("false", False)):
        matches = compile_pattern({"a": text})
        fitting = [truth, text, [truth, text], []]
        assert [matches({"a": value}) for value in fitting] == [None] * 4
        assert all(matches({"a": value}) for value in (not truth, None, 1.0, "x", [not truth]))


def test_a_label_that_is_no_text_is_not_checked():
    matches = compile_pattern({"metadata": {"annotations": {"a": 1.0, "b*": True, "c?": "d"}}})
    assert matches({"metadata": {"annotations": {"a": "x", "c1": "d"}}}) is None
    assert matches({"metadata": {"annotations": {"c1": "e"}}}).path == "/metadata/annotations/c1/"
    assert matches({"metadata": {"annotations": "x"}}).path == "/metadata/annotations/"


def steps(keys, tags, compiled):
    """Return the steps that a pattern with so many wildcard keys takes on so many labels."""
    meter = Meter(Budget(rule=0, resource=0))
    given = meter.left
    pattern = {"metadata": {"labels": {f"*k{number}*": "?*" for number in range(keys)}}}
    obj = {"metadata": {"labels": {f"app-{number}": "x" for number in range(tags)}}}
    if compiled is compile_any_pattern:
        (check,) = compiled([pattern], meter=meter)
    else:
        check = compiled(pattern, meter=meter)
    check(obj)
    return given - meter.left


@pytest.mark.parametrize("compiled", [compile_pattern, compile_any_pattern])
def test_wildcard_keys_count_the_labels_that_they_are_compared_with(compiled):
    assert steps(30, 100, compiled) == 30 * 100
    assert steps(3, 10, compiled) == 0  # as many as a policy writes
    assert steps(60, 200, compiled) == 4 * steps(30, 100, compiled)


def test_only_labels_that_begin_like_a_wildcard_key_count():
    meter = Meter(Budget(rule=40))
    labels = {f"{start}-{number}": "x" for start in "abc" for number in range(20)}
    obj = {"metadata": {"labels": labels}}
    fits = {"metadata": {"labels": {"b-*1": "x"}}}
    assert compile_pattern(fits, meter=meter)(obj) is None
    assert meter.left == 20
    with pytest.raises(BudgetError):
        compile_pattern({"metadata": {"labels": {"*-1": "x"}}}, meter=meter)(obj)
