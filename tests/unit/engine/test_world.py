"""Worlds and requests."""

import pytest

from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.policy import with_given_operation
from kyvsim.engine.world import GivenObjects, World, creation_of, request_of, reviewed
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.model.values import NO_MOCKS, CallAnswer, Mocks, Values


@pytest.fixture
def objects(thing):
    definition = thing(
        "CustomResourceDefinition",
        "oxen.g.io",
        "",
        api_version="apiextensions.k8s.io/v1",
        spec={"group": "g.io", "scope": "Cluster", "names": {"kind": "Ox", "plural": "oxen"}},
    )
    return [
        thing("Pod", "b", "y"),
        thing("Policy", "p", "x", api_version="k.io/v1"),
        definition,
    ]


@pytest.mark.parametrize(
    ("api_version", "plural", "kind"),
    [
        ("v1", "pods", "Pod"),
        ("k.io/v1", "policies", "Policy"),
        ("g.io/v1", "oxen", "Ox"),
        ("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy"),
        ("x.io/v1", "policies", "Policy"),
    ],
)
def test_plurals(objects, api_version, plural, kind):
    assert GivenObjects(objects).kind_of(api_version, plural) == kind


def test_a_world_passes_on_the_mocks_of_its_values(objects):
    cluster = GivenObjects(objects)
    mocks = Mocks({("", "/x"): CallAnswer(200, {})})
    assert World(cluster, Values(mocks=mocks)).external.mocks is mocks
    assert World(cluster).external.mocks is NO_MOCKS
    assert not World(cluster, answers_calls=False).external.answers_calls


def test_without_calls_what_no_mock_answers_stays_undefined(
    compiled, policy, pod, request_for, verdicts
):
    rule = {
        "context": [{"name": "got", "apiCall": {"urlPath": "/api/v1/pods", "jmesPath": "kind"}}],
        "validate": {
            "message": "got {{ got }}",
            "deny": {
                "conditions": {"all": [{"key": "{{ got }}", "operator": "NotEquals", "value": ""}]}
            },
        },
    }

    def asked(values=None):
        world = World(GivenObjects([pod()]), values, answers_calls=False)
        ((_, _, message),) = verdicts(evaluate(compiled(policy(rule)), request_for(pod()), world))
        return message

    assert asked().endswith('Unknown key "got" in path')
    assert asked(Values(global_values={"got": "value"})) == "got value"
    mocks = Mocks({("", "/api/v1/pods"): CallAnswer(200, {"kind": "mock"})})
    assert asked(Values(mocks=mocks)) == "got mock"


LISTED = {
    "context": [
        {
            "name": "got",
            "apiCall": {"urlPath": "/api/v1/pods", "jmesPath": "items[].metadata.labels.v"},
        }
    ],
    "validate": {
        "message": "got {{ got }}",
        "deny": {
            "conditions": {"all": [{"key": "{{ got }}", "operator": "NotEquals", "value": ""}]}
        },
    },
}


@pytest.fixture
def listed(compiled, policy, pod, request_for, verdicts):
    """Return what lists Pods for the one that arrives, as a rule that looks at it sees them."""

    def seen(values=None, rule=LISTED, **request):
        arriving = pod("web", labels={"v": "now"})
        world = World(GivenObjects([arriving, pod("other")]), values, arriving=arriving)
        response = evaluate(compiled(policy(rule)), request_for(arriving, **request), world)
        ((_, _, message),) = verdicts(response)
        return message.removeprefix("got ")

    return seen


def operation(name, **further):
    return Values(global_values={"request.operation": name, **further})


def test_what_is_created_is_not_among_the_answers(listed):
    assert listed() == "[]"
    assert listed(operation("CREATE")) == "[]"


def test_what_is_updated_or_deleted_is_among_the_answers_as_it_was(listed):
    assert listed(operation("UPDATE")) == '["now"]'
    assert listed(operation("DELETE")) == '["now"]'
    old = {"request.oldObject.metadata.labels.v": "old"}
    assert listed(operation("UPDATE", **old)) == '["old"]'


def test_what_a_subresource_is_created_of_is_there(listed):
    rule = {**LISTED, "match": {"any": [{"resources": {"kinds": ["Pod/eviction"]}}]}}
    assert listed(rule=rule, subresource="eviction") == '["now"]'


def test_what_is_created_stays_away_when_mutations_rename_it(compiled, policy, pod):
    rename = {"mutate": {"patchStrategicMerge": {"metadata": {"name": "else"}}}}
    arriving = pod("web", labels={"v": "now"})
    world = World(GivenObjects([arriving]), arriving=arriving)
    policies = compiled(policy(rename, name="a"), policy(LISTED, name="b"))
    response = evaluate(policies, creation_of(arriving, None, None), world)
    assert [one.message for one in response.responses[-1].results] == ["got []"]


def test_rules_that_work_later_see_what_was_created(compiled, policy, pod):
    arriving = pod("web", labels={"v": "now"})
    make = {
        "context": LISTED["context"],
        "generate": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "made",
            "namespace": "shop",
            "data": {"data": {"seen": "{{ got[0] }}"}},
        },
    }
    world = World(GivenObjects([arriving]), arriving=arriving)
    response = evaluate(compiled(policy(make)), creation_of(arriving, None, None), world)
    (made,) = response.responses[0].results[0].generated
    assert made["data"] == {"seen": "now"}


# What becomes of the request that creates an object: other operations, and reviews of it.

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


@pytest.mark.parametrize(
    "variables", [{}, {"request.operation": "CREATE"}, {"request.operation": 1}]
)
def test_a_creation_stays_one(pod, request_for, variables):
    request = request_for(pod())
    assert with_given_operation(request, variables) is request


@pytest.mark.parametrize("operation", [Operation.UPDATE, Operation.DELETE])
def test_what_is_no_creation_stays_what_it_is(pod, request_for, operation):
    request = request_for(pod(), operation=operation)
    assert with_given_operation(request, {"request.operation": "DELETE"}) is request


def test_a_connection_brings_its_object_and_nothing_old(pod, request_for):
    made = with_given_operation(request_for(pod()), {"request.operation": "CONNECT"})
    assert (made.operation, made.old_object) == (Operation.CONNECT, None)
    assert (made.object, made.namespace) == (pod(), "shop")


def test_an_update_leaves_the_object_as_it_was(pod, request_for):
    made = with_given_operation(request_for(pod()), {"request.operation": "UPDATE"})
    assert made.operation is Operation.UPDATE
    assert made.object is made.old_object
    assert made.namespace == "shop"


def test_a_deletion_has_an_old_object_only_and_no_namespace(pod, request_for):
    made = with_given_operation(request_for(pod()), {"request.operation": "DELETE"})
    assert (made.operation, made.object, made.namespace) == (Operation.DELETE, None, "")
    assert made.subject == made.old_object == pod()
