"""What becomes of the request that creates an object: other operations, and reviews of it."""

import pytest

from kyvsim.engine.world import request_of, reviewed
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}
OLD = {**POD, "spec": {}}
CREATED = AdmissionRequest(Operation.CREATE, POD, namespace="shop")


@pytest.mark.parametrize(
    ("operation", "old", "after"),
    [
        (Operation.CREATE, None, (POD, None)),
        (Operation.CREATE, OLD, (POD, None)),
        (Operation.UPDATE, None, (POD, POD)),
        (Operation.UPDATE, OLD, (POD, OLD)),
        (Operation.DELETE, None, (None, POD)),
        (Operation.DELETE, OLD, (None, POD)),
        (Operation.CONNECT, OLD, (POD, None)),
    ],
)
def test_the_objects_of_an_operation(operation, old, after):
    assert request_of(CREATED, operation, old) == CREATED._replace(
        operation=operation, object=after[0], old_object=after[1]
    )


@pytest.mark.parametrize(
    ("review", "fields"),
    [
        ({}, {}),
        ({"oldObject": OLD}, {}),
        ({"operation": "UPDATE", "oldObject": OLD}, {"old_object": OLD}),
        ({"operation": "UPDATE"}, {"old_object": POD}),
        ({"namespace": "other"}, {"namespace": "other"}),
        ({"namespace": ""}, {}),
        (
            {"uid": "1", "dryRun": False, "options": None, "name": "n", "kind": {}, "more": 1},
            {"details": {"uid": "1", "dryRun": False, "options": None, "name": "n", "kind": {}}},
        ),
        ({"resource": {"group": "", "resource": "pods"}}, {"details": "given"}),
        (
            {"requestKind": {}, "requestResource": 1},
            {"details": {"requestKind": {}, "requestResource": 1}},
        ),
        ({"userInfo": {}}, {"user": UserInfo()}),
        (
            {"userInfo": {"username": "u", "uid": "7", "groups": ["g"], "extra": {"k": ["v"]}}},
            {"user": UserInfo("u", "7", ("g",), {"k": ["v"]})},
        ),
        ({"subResource": "status"}, {"subresource": "status", "details": "given"}),
        (
            {
                "subResource": "scale",
                "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
            },
            {
                "subresource": "scale",
                "parent_kind": ("apps", "v1", "Deployment"),
                "details": "given",
            },
        ),
        (
            {
                "subResource": "scale",
                "resource": {"group": "x.io", "version": "v2", "resource": "gizmos"},
            },
            {"subresource": "scale", "parent_kind": ("x.io", "v2", "Gizmo"), "details": "given"},
        ),
        ({"subResource": "scale", "resource": {}}, {"subresource": "scale", "details": "given"}),
    ],
)
def test_what_a_review_says(review, fields):
    given = {"operation": "CREATE", **review}
    if fields.get("details") == "given":
        told = {name: review[name] for name in ("subResource", "resource") if name in review}
        fields = {**fields, "details": told}
    expected = CREATED._replace(operation=Operation(given["operation"]), **fields)
    assert reviewed(CREATED, given) == expected


def test_a_user_who_is_given_counts_more_than_that_of_a_review():
    given = CREATED._replace(
        user=UserInfo("given"), subresource="exec", parent_kind=("", "v1", "Pod")
    )
    assert reviewed(given, {"operation": "CREATE", "userInfo": {"username": "u"}}) == given
