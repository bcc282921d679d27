import pytest

from kyvsim.engine.context import request_context
from kyvsim.engine.world import GivenObjects
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import Operation, UserInfo

OUTSIDE = ExternalData(GivenObjects([]))
ALICE = UserInfo("alice", "7", ("dev",), {"k": ["v"]}, ("edit",), ("view",))


def data(request, *names, **variables):
    return request_context(request, OUTSIDE, variables).root(frozenset(names))


def test_a_creation_has_an_object_an_operation_and_a_namespace(pod, request_for):
    assert data(request_for(pod())) == {
        "request": {"namespace": "shop", "operation": "CREATE", "object": pod()}
    }


def test_a_deletion_has_an_old_object_only(pod, request_for):
    gone = request_for(pod(), operation=Operation.DELETE, object=None, old_object=pod())
    found = data(gone)["request"]
    assert (found["operation"], found["oldObject"], "object" in found) == ("DELETE", pod(), False)
    assert request_context(gone, OUTSIDE, {}).deleting
    assert not request_context(request_for(pod()), OUTSIDE, {}).deleting


def test_a_user_has_what_is_known_of_them(pod, request_for):
    found = data(request_for(pod(), user=ALICE))
    assert found["request"]["userInfo"] == {
        "username": "alice",
        "uid": "7",
        "groups": ["dev"],
        "extra": {"k": ["v"]},
    }
    assert (found["request"]["roles"], found["request"]["clusterRoles"]) == (["edit"], ["view"])
    nobody = data(request_for(pod(), user=UserInfo()))["request"]
    assert nobody["userInfo"] == {}
    assert "roles" not in nobody
    assert "clusterRoles" not in nobody


@pytest.mark.parametrize(
    ("username", "name", "namespace"),
    [
        ("system:serviceaccount:shop:robot", "robot", "shop"),
        ("alice", "", ""),
        ("a-user-with-a-long-prefix-instead:b:c", "b", "fix-instead"),
    ],
)
def test_a_service_account_is_read_from_behind_its_prefix(
    pod, request_for, username, name, namespace
):
    found = data(request_for(pod(), user=UserInfo(username)))
    assert found["serviceAccountName"] == name
    assert found["serviceAccountNamespace"] == namespace


def test_variables_reach_any_part_of_the_request(pod, request_for):
    given = {"request.object.spec.a": "b", "request.name": "x", "other": 1.0}
    found = data(request_for(pod()), **given)
    assert found["request"]["object"]["spec"] == {"a": "b"}
    assert (found["request"]["name"], found["other"]) == ("x", 1.0)


def test_images_are_read_when_they_are_asked_for(pod, request_for):
    request = request_for(pod(containers=[{"name": "a", "image": "nginx"}]))
    assert "images" not in data(request)
    assert data(request, "images")["images"]["containers"]["a"]["name"] == "nginx"
