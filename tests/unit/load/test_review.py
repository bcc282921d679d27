"""AdmissionReviews: the object that one is about, or why no request can be made of it."""

import json

import pytest

from kyvsim.load.documents import parse_documents
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}}
OLD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "old"}}


def review(**request):
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def found(*documents):
    text = "\n---\n".join(json.dumps(one, indent=1) for one in documents)
    return list(parse_documents(Source("review.json", text)))


def told(one):
    return (one.code, one.location.line, one.message) if isinstance(one, Diagnostic) else one.data


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ({"operation": "CREATE", "object": POD}, "new"),
        ({"operation": "UPDATE", "object": POD, "oldObject": OLD}, "new"),
        ({"operation": "DELETE", "object": None, "oldObject": OLD}, "old"),
        ({"operation": "CONNECT", "object": POD, "subResource": "exec"}, "new"),
        ({"operation": "CREATE", "object": POD, "oldObject": None, "later": [1]}, "new"),
    ],
)
def test_the_object_is_that_of_the_operation(request_, name):
    (one,) = found(review(**request_))
    assert one.data["metadata"]["name"] == name
    assert one.review["operation"] == request_["operation"]


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


@pytest.mark.parametrize(
    ("request_", "old", "new"),
    [
        ({"operation": "CREATE", "object": POD}, None, "shop"),
        ({"operation": "CREATE", "object": {"apiVersion": "v1", "kind": "Pod"}}, None, "shop"),
        ({"operation": "UPDATE", "object": POD, "oldObject": OLD}, "shop", "shop"),
        ({"operation": "DELETE", "oldObject": OLD}, "shop", "shop"),
        ({"operation": "CREATE", "object": NAMESPACE}, None, None),
    ],
)
def test_objects_are_in_the_namespace_of_their_request(request_, old, new):
    (one,) = found(review(**request_, namespace="shop"))
    assert one.data["metadata"].get("namespace") == new
    assert ((one.review.get("oldObject") or {}).get("metadata") or {}).get("namespace") == old


def test_reviews_may_be_items_of_a_list_and_documents_of_a_file():
    made = review(operation="CREATE", object=POD)
    gone = review(operation="DELETE", oldObject=OLD)
    listed = {"apiVersion": "v1", "kind": "List", "items": [made, gone, POD]}
    several = found(listed, gone)
    assert [one.data["metadata"]["name"] for one in several] == ["new", "old", "new", "old"]
    assert [(one.review or {}).get("operation") for one in several] == [
        *("CREATE", "DELETE", None, "DELETE"),
    ]


OPERATIONS = "`CREATE`, `UPDATE`, `DELETE`, `CONNECT`"
CREATED = {"operation": "CREATE", "object": POD}


@pytest.mark.parametrize(
    ("request_", "remarks"),
    [
        ({"object": POD}, [("KV015", 4, "`request.operation` is required")]),
        (
            {"operation": "create", "object": POD},
            [
                (
                    *("KV014", 5),
                    f"`request.operation` must be one of {OPERATIONS}, not `create`",
                )
            ],
        ),
        ({"operation": 5}, [("KV013", 5, "`request.operation` must be text, not a whole number")]),
        (
            {"operation": "CREATE", "oldObject": OLD},
            [("KV097", 4, "the review of a request to CREATE needs `request.object`")],
        ),
        (
            {"operation": "UPDATE", "object": POD},
            [("KV097", 4, "the review of a request to UPDATE needs `request.oldObject`")],
        ),
        (
            {"operation": "DELETE", "object": POD},
            [("KV097", 4, "the review of a request to DELETE needs `request.oldObject`")],
        ),
        (
            {"operation": "CREATE", "object": {}},
            [("KV097", 4, "the review of a request to CREATE needs `request.object`")],
        ),
        (
            {**CREATED, "userInfo": {"groups": [1, "a", {}]}},
            [
                ("KV013", 15, "`request.userInfo.groups[0]` must be text, not a whole number"),
                ("KV013", 17, "`request.userInfo.groups[2]` must be text, not a mapping"),
            ],
        ),
        (
            {**CREATED, "userInfo": {"extra": {"a": "b"}}},
            [("KV013", 15, "`request.userInfo.extra.a` must be a list, not text")],
        ),
        (
            {**CREATED, "dryRun": "no"},
            [("KV013", 13, "`request.dryRun` must be a boolean, not text")],
        ),
        (
            {"operation": "CREATE", "object": {"apiVersion": "v1", "kind": "List", "items": [POD]}},
            [("KV097", 6, "a review is about one object: `request.object` is of kind List")],
        ),
        (
            {"operation": "CREATE", "object": review(**CREATED)},
            [
                (
                    "KV097",
                    6,
                    "a review is about one object: `request.object` is of kind AdmissionReview",
                )
            ],
        ),
    ],
)
def test_a_review_of_which_no_request_can_be_made_is_told(request_, remarks):
    assert [told(one) for one in found(review(**request_))] == remarks


def gvk(group, version, kind):
    return {"group": group, "version": version, "kind": kind}


def gvr(group, version, resource):
    return {"group": group, "version": version, "resource": resource}


EXEC = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]}
OX = {"apiVersion": "farm.example/v1", "kind": "Ox", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({"object": POD, "kind": gvk("apps", "v1", "Deployment")}, "`request.kind` is `apps/v1/De"),
        ({"object": POD, "kind": gvk("", "v2", "Pod")}, "of kind `v1/Pod`, which is what counts"),
        ({"object": POD, "resource": gvr("", "v1", "services")}, "which is served as `v1/pods`"),
        (
            {"object": POD, "resource": gvr("apps", "v1", "pods")},
            "`request.resource` is `apps/v1/p",
        ),
        ({"object": POD, "resource": gvr("", "v1", "cattle")}, "`request.resource` is `v1/cattle`"),
        ({"object": POD, "name": "other"}, "`request.name` is `other`, but `request.object` has"),
        (
            {"object": {**POD, "metadata": {"name": "new", "namespace": "a"}}, "namespace": "b"},
            "`request.namespace` is `b`, but `request.object` has the namespace `a`",
        ),
        ({"operation": "DELETE", "oldObject": OLD, "name": "new"}, "but `request.oldObject` has"),
    ],
)
def test_a_request_that_contradicts_its_object_is_reported(request_, text):
    remark, one = found(review(**{"operation": "CREATE", **request_}))
    assert (remark.code, remark.severity, text in remark.message) == ("KV098", "warning", True)
    assert remark.location.line > 3
    assert one.data["kind"] == "Pod"


@pytest.mark.parametrize(
    "request_",
    [
        {"object": POD, "kind": gvk("", "v1", "Pod"), "resource": gvr("", "v1", "pods")},
        {"object": POD, "name": "", "namespace": "a"},
        {"object": NAMESPACE, "name": "shop", "namespace": "shop"},
        {"object": OX, "kind": gvk("farm.example", "v1", "Ox")},
        {"object": OX, "resource": gvr("farm.example", "v1", "oxen")},
        {
            "operation": "CONNECT",
            "subResource": "exec",
            "name": "new",
            "object": EXEC,
            "kind": gvk("", "v1", "PodExecOptions"),
            "resource": gvr("", "v1", "pods"),
        },
    ],
)
def test_requests_as_an_api_server_sends_them_are_not(request_):
    assert len(found(review(**{"operation": "CREATE", **request_}))) == 1


@pytest.mark.parametrize("request_", [{}, {"response": {"allowed": True}}, {"request": None}])
def test_a_review_has_a_request(request_):
    one = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", **request_}
    assert [told(each)[::2] for each in found(one)] == [("KV015", "`request` is required")]
