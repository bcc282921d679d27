"""`mutate.patchStrategicMerge` and `mutate.patchesJson6902`: objects with and without a change."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
