"""Custom kinds are served once they are defined, and checked by their schema."""

import pytest

NAMES = {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo"}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer", "default": 3}},
        }
    },
}


@pytest.fixture
def definition(obj):
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": SCHEMA}}
    spec = {"group": "example.com", "names": NAMES, "scope": "Namespaced", "versions": [version]}
    api_version = "apiextensions.k8s.io/v1"
    return obj("CustomResourceDefinition", "gizmos.example.com", api_version=api_version, spec=spec)


@pytest.fixture
def gizmo(obj):
    return lambda **spec: obj("Gizmo", "g", "default", "example.com/v1", spec=spec)


def test_a_kind_is_unknown_before_it_is_defined(admin, gizmo):
    assert 'no matches for kind "Gizmo"' in admin.create(gizmo()).error.message


def test_a_defined_kind_is_pruned_and_completed(put, definition, gizmo):
    assert put(definition, gizmo(colour="red"))["spec"] == {"size": 3}


def test_a_defined_kind_is_refused_by_its_schema(put, admin, definition, gizmo):
    put(definition)
    error = admin.create(gizmo(size="big")).error
    assert error.message == (
        'Gizmo.example.com "g" is invalid: spec.size: Invalid value: "string": '
        'spec.size in body must be of type integer: "string"'
    )


def test_policies_are_stored_with_their_defaults(put, cluster_policy):
    stored = put(cluster_policy("p", {"validate": {"message": "m", "deny": {}}}))
    assert stored["spec"]["admission"] is True
    assert stored["spec"]["rules"][0]["skipBackgroundRequests"] is True
