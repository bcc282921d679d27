"""Structured merges."""

import copy

import pytest

from kyvsim.kubernetes.discovery import NO_KINDS, crd_kinds
from kyvsim.patch.nodes import PatchError
from kyvsim.patch.structured_merge import Foreign, apply_structured_merge, literal
from kyvsim.schema.merge_types import type_finder

# Structured merges by the types of Kubernetes, of custom resources, and without types.

FIND = type_finder(NO_KINDS)


def pod(**spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}, "finalizers": ["a/b"]},
        "spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b"}], **spec},
    }


def merged(patch, obj=None, **options):
    obj = pod() if obj is None else obj
    before = copy.deepcopy(obj)
    found = apply_structured_merge(obj, patch, FIND, **options)
    assert obj == before
    return found


def containers(*names):
    return {"spec": {"containers": [{"name": name} for name in names]}}


def named(patch, *names):
    obj = pod(containers=[{"name": name} for name in names])
    return "".join(one["name"] for one in merged(patch, obj)["spec"]["containers"])


def test_maps_merge_by_field():
    found = merged({"metadata": {"labels": {"tier": "front"}}})
    assert found["metadata"]["labels"] == {"app": "web", "tier": "front"}


def test_elements_merge_by_their_keys():
    found = merged({"spec": {"containers": [{"name": "b", "tty": True}, {"name": "c"}]}})
    assert found["spec"]["containers"] == [
        {"name": "a", "image": "x"},
        {"name": "b", "tty": True},
        {"name": "c"},
    ]


@pytest.mark.parametrize(
    ("patch", "object_names", "order"),
    [
        ("xca", "abc", "bxca"),
        ("ba", "abc", "bca"),
        ("c", "ab", "abc"),
        ("xa", "ab", "xab"),
        ("", "ab", "ab"),
    ],
)
def test_the_order_of_elements(patch, object_names, order):
    assert named(containers(*patch), *object_names) == order


def test_elements_of_one_name_in_the_object_become_the_patch_s():
    obj = pod(containers=[{"name": "a", "image": "1"}, {"name": "a", "image": "2"}])
    found = merged({"spec": {"containers": [{"name": "a", "tty": True}]}}, obj)
    assert found["spec"]["containers"] == [{"name": "a", "tty": True}]


def test_a_key_that_is_missing_is_what_it_is_by_default():
    ports = [{"containerPort": 80, "protocol": "TCP"}]
    obj = pod(containers=[{"name": "a", "ports": ports}])
    patch = {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "h"}]}]}}
    assert merged(patch, obj)["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "protocol": "TCP", "name": "h"}
    ]


def test_sets_are_joined():
    assert merged({"metadata": {"finalizers": ["c/d", "a/b"]}})["metadata"]["finalizers"] == [
        "c/d",
        "a/b",
    ]


@pytest.mark.parametrize("patch", [{"spec": {"nodeSelector": {"a": "b"}}}])
def test_what_is_atomic_is_replaced_where_that_is_wanted(patch):
    obj = pod(nodeSelector={"disk": "ssd"})
    assert merged(patch, obj, replaces=True)["spec"]["nodeSelector"] == {"a": "b"}


def test_what_the_patch_does_not_touch_is_shared():
    obj = pod(volumes=[{"name": "v"}])
    assert merged({"metadata": {"labels": {"x": "y"}}}, obj)["spec"] is obj["spec"]


PATCH = "failed to convert patch object to typed object: "
ORIGINAL = "failed to convert original object to typed object: "
ATOMIC = "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
NULL = Foreign("structpb.NullValue", "NULL_VALUE", "0")
ERRORS = [
    ({"spec": {"bogus": 1}}, {}, f"{PATCH}.spec.bogus: field not declared in schema"),
    ({"spec": {"hostNetwork": "x"}}, {}, f"{PATCH}.spec.hostNetwork: expected boolean, got &{{x}}"),
    (
        {"spec": {"hostNetwork": NULL}},
        {},
        f"{PATCH}.spec.hostNetwork: expected boolean, got &{{NULL_VALUE}}",
    ),
    (
        {"spec": {"priority": "5"}},
        {},
        f"{PATCH}.spec.priority: expected numeric (int or float), got string",
    ),
    (
        {"metadata": {"labels": {"n": {"a": "b"}}}},
        {},
        (
            f"{PATCH}.metadata.labels.n: expected string, got &value.valueUnstructured"
            '{Value:map[string]interface {}{"a":"b"}}'
        ),
    ),
    ({"spec": [1]}, {}, f"{PATCH}.spec: expected map, got &{{[1]}}"),
    ({"spec": {"containers": "x"}}, {}, f"{PATCH}.spec.containers: expected list, got &{{x}}"),
    (
        containers("a", "a"),
        {},
        f'{PATCH}.spec.containers: duplicate entries for key [name="a"]',
    ),
    (
        {"metadata": {"ownerReferences": [None]}},
        {},
        (
            f"{PATCH}.metadata.ownerReferences: element 0: associative list with keys may not have "
            "a null element"
        ),
    ),
    ({"spec": {"nodeSelector": {"a": "b"}}}, {}, f"{ATOMIC}.spec.nodeSelector"),
    (
        {"spec": {"containers": [{"name": "a", "args": []}]}},
        {},
        f"{ATOMIC}.spec.containers[0].args",
    ),
    ({}, {"bogus": 1}, f"{ORIGINAL}.spec.bogus: field not declared in schema"),
    ({}, {"hostNetwork": "yes"}, f"{ORIGINAL}.spec.hostNetwork: expected boolean, got &{{yes}}"),
    (
        {"spec": {"priority": True, "hostNetwork": 1}},
        {},
        (
            f"{PATCH}errors:\n  .spec.priority: expected numeric (int or float), got bool\n"
            "  .spec.hostNetwork: expected boolean, got &{1}"
        ),
    ),
]


@pytest.mark.parametrize(("patch", "spec", "message"), ERRORS)
def test_errors(patch, spec, message):
    with pytest.raises(PatchError) as caught:
        merged(patch, pod(**spec))
    assert caught.value.message == message


def test_a_null_of_the_object_fits_everything():
    assert (
        merged({"metadata": {"labels": {"a": "b"}}}, pod(hostNetwork=None))["spec"]["hostNetwork"]
        is None
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        ("example.com/v1", "Widget", "type converter must not be nil"),
        ("apps/v1", "Foo", f"{PATCH}no corresponding type for apps/v1, Kind=Foo"),
    ],
)
def test_kinds_without_types(api_version, kind, message):
    with pytest.raises(PatchError) as caught:
        merged({}, {"apiVersion": api_version, "kind": kind})
    assert caught.value.message == message


def widget_kinds(**spec):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    versions = [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"kind": "Widget", "plural": "widgets"}
    body = {"group": "example.com", "names": names, "versions": versions}
    return crd_kinds([{"kind": "CustomResourceDefinition", "spec": body}])


PART = {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}}
KEYED = {
    "type": "array",
    "items": PART,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["id"],
}


@pytest.mark.parametrize(
    ("schema", "old", "new", "after"),
    [
        (KEYED, [{"id": "a", "n": 1}], [{"id": "a", "n": 2}], [{"id": "a", "n": 2}]),
        (KEYED, [{"id": "a"}], [{"id": "b"}], [{"id": "a"}, {"id": "b"}]),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            ["a"],
            ["b", "a"],
            ["b", "a"],
        ),
        ({"type": "object"}, {"a": {"b": 1}}, {"a": {"c": [1]}}, {"a": {"b": 1, "c": [1]}}),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"a": 1},
            {"b": 2},
            {"a": 1, "b": 2},
        ),
        ({"x-kubernetes-int-or-string": True}, 1, "x", "x"),
        ({"type": "string", "format": "date"}, "x", 5, 5),
    ],
)
def test_custom_resources_merge_by_their_schemas(schema, old, new, after):
    find = type_finder(widget_kinds(field=schema))
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {}, "spec": {"field": old}}
    found = apply_structured_merge(obj, {"spec": {"field": new}}, find, replaces=True)
    assert found["spec"]["field"] == after


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "string", "format": "byte"}])
def test_a_text_of_a_custom_resource_stays_one(schema):
    find = type_finder(widget_kinds(field=schema))
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"field": "x"}}
    with pytest.raises(PatchError, match=r"\.spec\.field: expected string, got"):
        apply_structured_merge(obj, {"spec": {"field": 5}}, find, replaces=True)


def test_fields_that_a_schema_lacks_are_refused_unless_it_keeps_them():
    find = type_finder(widget_kinds(field={"type": "object", "properties": {"a": PART}}))
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {}}
    with pytest.raises(PatchError, match=r"\.spec\.field\.b: field not declared in schema"):
        apply_structured_merge(obj, {"spec": {"field": {"b": 1}}}, find)
    kept = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    find = type_finder(widget_kinds(field={**kept, "properties": {"a": PART}}))
    found = apply_structured_merge(obj, {"spec": {"field": {"b": 1}}}, find)
    assert found["spec"] == {"field": {"b": 1}}


def test_values_are_printed_as_go_prints_their_types():
    value = {"b": [True, None, "x"], "a": 1.0, "c": {}}
    assert literal(value) == (
        'map[string]interface {}{"a":1, "b":[]interface {}{true, interface {}(nil), "x"}, '
        '"c":map[string]interface {}{}}'
    )
