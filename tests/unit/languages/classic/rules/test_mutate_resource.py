"""`mutate.patchStrategicMerge` and `mutate.patchesJson6902`: objects with and without a change."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kyvsim.engine.compile.compiled import Evaluation
from kyvsim.languages.classic.rules.mutate_resource import (
    apply_patch,
    compile_patcher,
    filled_patcher,
    object_to_patch,
)
from kyvsim.patch.nodes import PatchError

# mutate resource


MUTATED = "mutated Pod/web in namespace shop"
NOTHING = "no patches applied"


def merge(**spec):
    return {"patchStrategicMerge": {"spec": spec}}


def json_patch(text):
    return {"patchesJson6902": text}


LEFT_ALONE = [
    (merge(hostNetwork=False), {"hostNetwork": False}),
    (merge(**{"+(priority)": 5}), {"priority": 3}),
    (merge(**{"(nodeName)": "n1", "priority": 5}), {"nodeName": "n2"}),
    (merge(nodeName=None), {}),
    (json_patch("[]"), {}),
    (json_patch("- {op: remove, path: /spec/nodeName}"), {}),
    (json_patch('[{"op": "replace", "path": "/spec/a", "value": "b"}]'), {"a": "b"}),
]

FIRES = [
    (merge(hostNetwork=False), {"hostNetwork": True}, {"hostNetwork": False}),
    (merge(**{"+(priority)": 5}), {}, {"priority": 5}),
    (merge(nodeName=None), {"nodeName": "n1", "a": "b"}, {"a": "b"}),
    (merge(nodeName="{{ request.object.metadata.name }}"), {}, {"nodeName": "web"}),
    (
        merge(containers=[{"name": "b", "image": "2"}]),
        {"containers": [{"name": "a", "image": "1"}]},
        {"containers": [{"name": "b", "image": "2"}, {"name": "a", "image": "1"}]},
    ),
    (
        merge(containers=[{"(name)": "*", "tty": True}]),
        {"containers": [{"name": "a"}, {"name": "b"}]},
        {"containers": [{"name": "a", "tty": True}, {"name": "b", "tty": True}]},
    ),
    (json_patch("- {op: add, path: /spec/a/b, value: 1}"), {}, {"a": {"b": 1}}),
    (json_patch("- {op: remove, path: /spec/a}"), {"a": "1", "b": "2"}, {"b": "2"}),
    (
        json_patch("- {op: add, path: /spec/a, value: '{{ request.object.metadata.name }}'}"),
        {},
        {"a": "web"},
    ),
]


@pytest.mark.parametrize(
    ("patch", "spec"),
    [
        ("- {op: move, from: /spec/a, path: /spec/a}", {"a": 1, "b": 2}),
        ("- {op: remove, path: /spec/a}\n- {op: add, path: /spec/a, value: x}", {"a": "x", "b": 1}),
        (
            '[{"op": "replace", "path": "/spec/a", "value": {"y": 1, "x": 2}}]',
            {"a": {"x": 2, "y": 1}},
        ),
        ('[{"op": "add", "path": "/spec/a", "value": 1.0}]', {"a": 1}),
        ('[{"op": "add", "path": "/spec/a", "value": "<"}]', {"a": "<"}),
    ],
)
def test_a_patch_that_only_writes_the_object_in_another_way_counts(run, pod, verdicts, patch, spec):
    """upstream compares JSON texts."""
    before = pod(**spec)
    found = run({"mutate": json_patch(patch)}, before)
    assert verdicts(found) == [("r", "pass", MUTATED)]
    assert found.object == before


@pytest.mark.parametrize(
    ("patch", "spec"),
    [
        ("- {op: move, from: /spec/b, path: /spec/b}", {"b": 2, "a": 1}),
        (
            "- {op: remove, path: /spec/b}\n- {op: add, path: /spec/b, value: {q: 1, p: 2}}",
            {"b": {"p": 2, "q": 1}, "a": 1},
        ),
        (
            '[{"op": "replace", "path": "/spec/a", "value": {"x": 2, "y": 1.5}}]',
            {"a": {"y": 1.5, "x": 2}},
        ),
    ],
)
def test_a_patch_that_writes_the_object_in_the_same_way_does_not(run, pod, verdicts, patch, spec):
    found = run({"mutate": json_patch(patch)}, pod(**spec))
    assert verdicts(found) == [("r", "skip", NOTHING)]


@pytest.mark.parametrize(
    ("spec", "verdict"),
    [
        ({"a": "x", "b": "y"}, ("r", "skip", "0 elements processed")),
        # What was patched has whole numbers as ints, which are no floats to Go.
        ({"a": 1.0, "b": 2.5}, ("r", "pass", MUTATED)),
        ({"a": "x", "b": [{"c": 1.0}]}, ("r", "pass", MUTATED)),
    ],
)
def test_a_loop_that_only_writes_the_object_in_another_way(run, pod, verdicts, spec, verdict):
    patch = {"list": "['x']", **json_patch("- {op: move, from: /spec/a, path: /spec/a}")}
    assert verdicts(run({"mutate": {"foreach": [patch]}}, pod(**spec))) == [verdict]


@pytest.mark.parametrize(
    ("labels", "status", "after"),
    [
        ({"tier": "z"}, "pass", {"tier": "x"}),
        ({"other": "z"}, "pass", {"other": "z", "tier": "y"}),
        (None, "error", None),
    ],
)
def test_an_anchor_and_a_key_of_one_name(run, pod, verdicts, labels, status, after):
    """Where the whole map gets into the object, upstream cannot read it back."""
    before = pod()
    before["metadata"] |= {"labels": labels} if labels else {}
    merged = {"patchStrategicMerge": {"metadata": {"labels": {"tier": "x", "+(tier)": "y"}}}}
    found = run({"mutate": merged}, before)
    ((_, ended, message),) = verdicts(found)
    assert ended == status
    assert found.object["metadata"].get("labels") == after
    if status == "error":
        assert message == (
            "failed to patch resource: yaml: unmarshal errors:\n"
            '  line 1: mapping key "tier" already defined at line 1'
        )


def test_a_patch_that_changes_nothing_of_what_is_deleted():
    """upstream's text of no object is `null`, and that of what a merge leaves of it is `{}`."""
    outcome = apply_patch(lambda: nothing, nothing := object_to_patch(Evaluation(None, None, None)))
    assert outcome.status == "error"
    assert outcome.message == (
        "failed to unmarshal patched resource: Object 'Kind' is missing in '{}'"
    )


@pytest.mark.parametrize(("body", "spec"), LEFT_ALONE)
def test_a_patch_that_changes_nothing(run, pod, verdicts, body, spec):
    before = pod(**spec)
    found = run({"mutate": body}, before)
    assert verdicts(found) == [("r", "skip", NOTHING)]
    assert found.object is before


@pytest.mark.parametrize(("body", "spec", "after"), FIRES)
def test_a_patch_that_changes_the_object(run, pod, verdicts, body, spec, after):
    found = run({"mutate": body}, pod(**spec))
    assert verdicts(found) == [("r", "pass", MUTATED)]
    assert found.object == {**pod(), "spec": after}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            merge(a="{{ request.object.spec.missing }}"),
            "variable substitution failed: failed to resolve request.object.spec.missing at path ",
        ),
        (json_patch("- {op: replace, path: /spec/a, value: 1}"), "failed to patch resource: "),
        (json_patch("- {op: test, path: /spec, value: 1}"), "failed to patch resource: "),
    ],
)
def test_a_patch_that_cannot_be_applied(run, pod, verdicts, body, message):
    before = pod()
    found = run({"mutate": body}, before)
    ((_, status, text),) = verdicts(found)
    assert status == "error"
    assert text.startswith(message)


def test_a_variable_without_value_anywhere_in_the_rule_ends_it(run, pod, verdicts):
    rule = {
        "context": [{"name": "c", "variable": {"value": "{{ request.object.spec.missing }}"}}],
        "mutate": merge(a="b"),
    }
    ((_, status, message),) = verdicts(run(rule, pod()))
    assert (status, message.partition(":")[0]) == ("error", "variable substitution failed")


def test_cluster_scoped_objects_are_told_by_kind_and_name(run, thing, verdicts):
    rule = {
        "match": {"any": [{"resources": {"kinds": ["Namespace"]}}]},
        "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}},
    }
    found = run(rule, thing("Namespace", "shop", ""))
    assert verdicts(found) == [("r", "pass", "mutated Namespace/shop")]


def test_untouched_parts_are_shared_with_the_object_before(run, pod):
    before = pod(containers=[{"name": "a"}], nodeName="n1")
    after = run({"mutate": merge(nodeName="n2")}, before).object
    assert before["spec"]["nodeName"] == "n1"
    assert after["metadata"] is before["metadata"]
    assert after["spec"]["containers"] is before["spec"]["containers"]


def test_numbers_are_whole_after_a_patch(run, pod):
    after = run({"mutate": merge(a="b")}, pod(priority=5, ratio=0.5)).object
    assert [type(after["spec"][name]) for name in ("priority", "ratio")] == [int, float]


WORDS = st.sampled_from(["a", "b", "c"])
PARTS = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=6,
)


@settings(deadline=None)
@given(
    st.dictionaries(WORDS, PARTS),
    st.sampled_from([merge(x="z"), json_patch("- {op: add, path: /spec/x, value: z}")]),
)
def test_whatever_a_patch_does_not_name_is_shared(run, pod, spec, body):
    before = pod(**spec)
    after = run({"mutate": body}, before).object
    assert after["spec"]["x"] == "z"
    assert "x" not in before["spec"]
    assert all(after["spec"][name] is before["spec"][name] for name in spec)
    assert after["metadata"] is before["metadata"]


# patches


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"n": 2.0}}


def test_a_patch_without_a_change_gives_the_very_object():
    assert compile_patcher({"patchStrategicMerge": {"spec": {"n": 2}}}).apply(POD) is POD
    assert compile_patcher({"patchesJson6902": "[]"}).apply(POD) is POD


def test_a_changed_object_is_read_back_with_whole_numbers():
    changed = compile_patcher({"patchStrategicMerge": {"spec": {"m": "x"}}}).apply(POD)
    assert changed["spec"] == {"n": 2, "m": "x"}
    assert type(changed["spec"]["n"]) is int


def test_a_merge_comes_before_a_json_patch():
    both = {"patchStrategicMerge": {"spec": {"m": "x"}}, "patchesJson6902": "[{"}
    assert compile_patcher(both).apply(POD)["spec"]["m"] == "x"


def test_an_unreadable_patch_says_so_when_it_is_applied():
    patcher = compile_patcher({"patchesJson6902": "[{"})
    with pytest.raises(PatchError):
        patcher.apply(POD)


@pytest.mark.parametrize(("wanted", "applies"), [("1", False), (">1", True), ("<2 | 2", True)])
def test_conditions_in_a_merge_are_patterns(wanted, applies):
    patch = {"patchStrategicMerge": {"spec": {"(n)": wanted, "m": "x"}}}
    assert ("m" in compile_patcher(patch).apply(POD)["spec"]) is applies


def test_blocks_filled_alike_are_taken_apart_once():
    first, again, other = (
        filled_patcher({"patchStrategicMerge": {"metadata": {"labels": {"a": text}}}})
        for text in ("1", "1", "2")
    )
    assert first is again
    assert other is not first


def test_values_that_are_equal_and_not_alike_are_told_apart():
    made = [
        filled_patcher({"patchStrategicMerge": {"spec": {"m": value}}}).apply(POD)["spec"]["m"]
        for value in (1, True, 1.5, "1", 0, False)
    ]
    assert [repr(one) for one in made] == ["1", "True", "1.5", "'1'", "0", "False"]


def test_a_block_with_what_no_document_has_is_taken_apart_each_time():
    block = {"patchStrategicMerge": {"metadata": {"labels": {"a": object()}}}}
    assert filled_patcher(block) is not filled_patcher(block)
