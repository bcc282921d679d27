import copy

import pytest

from kyvsim.kubernetes.discovery import NO_KINDS
from kyvsim.load.resources import complete, load_resources

POD = "apiVersion: v1\nkind: Pod\n"
WIDGET = {
    "kind": "CustomResourceDefinition",
    "spec": {"group": "e.io", "scope": "Cluster", "names": {"kind": "Widget", "plural": "widgets"}},
}


def load(text, **options):
    documents, remarks = load_resources(["-"], text.encode(), **options)
    return [one.data for one in documents], [(one.code, str(one.location)) for one in remarks]


@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        (POD, {"namespace": "default"}),
        (POD + "metadata: {name: x}\n", {"name": "x", "namespace": "default"}),
        (POD + "metadata: {namespace: a}\n", {"namespace": "a"}),
        (POD + "metadata: {namespace: ''}\n", {"namespace": "default"}),
        (POD + "metadata: {namespace: 5}\n", {"namespace": "default"}),
        (POD + "metadata:\n", None),
        (POD + "metadata: []\n", []),
        ("apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", {"name": "x"}),
        ("apiVersion: e.io/v1\nkind: Widget\n", {"namespace": "default"}),
    ],
)
def test_the_default_namespace_is_written_where_kinds_have_one(text, metadata):
    assert load(text)[0][0]["metadata"] == metadata


def test_definitions_given_apart_tell_the_scope():
    text = "apiVersion: e.io/v1\nkind: Widget\nmetadata: {name: x}\n"
    assert load(text, crds=[WIDGET])[0][0]["metadata"] == {"name": "x"}


@pytest.mark.parametrize("field", ["annotations", "labels", "matchLabels", "nodeSelector", "data"])
def test_null_maps_become_empty(field):
    text = POD + f"metadata: {{namespace: a, {field}: }}\nspec: [{{x: {{{field}: ~}}}}]\n"
    (found,), _ = load(text)
    assert found["metadata"][field] == {}
    assert found["spec"] == [{"x": {field: {}}}]


def test_other_nulls_and_lists_of_lists_stay():
    (found,), _ = load(POD + "metadata:\nspec: {x: , y: [[{labels: }]]}\n")
    assert found["spec"] == {"x": None, "true": [[{"labels": None}]]}


def test_the_given_object_is_left_as_it_is():
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": None}, "spec": {"a": [1.0]}}
    before = copy.deepcopy(data)
    assert complete(data, NO_KINDS)["metadata"] == {"labels": {}, "namespace": "default"}
    assert data == before


def test_a_complete_object_is_not_copied():
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "labels": {}}}
    assert complete(data, NO_KINDS) is data


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("just text\n", ("KV020", "<stdin>:1:1")),
        ("- a\n", ("KV020", "<stdin>:1:1")),
        ("kind: Pod\n", ("KV021", "<stdin>:1:1")),
        ("apiVersion: v1\n", ("KV022", "<stdin>:1:1")),
        ("apiVersion: v1\nkind: ''\n", ("KV022", "<stdin>:1:1")),
        ("apiVersion: v1\nkind: 5\n", ("KV022", "<stdin>:2:1")),
        ("kind: Pod\napiVersion: 1\n", ("KV021", "<stdin>:2:1")),
        ("kind: Pod\napiVersion: a/b/c\n", ("KV021", "<stdin>:2:1")),
    ],
)
def test_objects_without_a_type_are_refused(text, remark):
    assert load(text) == ([], [remark])


def test_good_resources_beside_bad_ones_are_kept():
    found, remarks = load(POD + "---\nkind: x\n---\na: [\n---\n" + POD)
    assert len(found) == 2
    assert [code for code, _ in remarks] == ["KV006", "KV021"]


def test_all_numbers_are_floats():
    (found,), _ = load(POD + "spec: {a: 9007199254740993, b: [1]}\n")
    assert found["spec"] == {"a": 9007199254740992.0, "b": [1.0]}
    assert found["spec"]["b"][0].__class__ is float
