from kyvsim.equivalence.cases import Case
from kyvsim.equivalence.objects import KindName, wrapped
from kyvsim.equivalence.verdict import shrunk
from kyvsim.model.request import Operation, UserInfo

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "some-name", "labels": {"a": "b", "c": "d"}},
    "spec": {
        "containers": [
            {"name": "one", "image": "nginx:1"},
            {"name": "two", "image": "prefix-bad-suffix", "ports": [{"containerPort": 80}]},
        ],
        "volumes": [{"name": "x", "emptyDir": {}}],
    },
}


def has_bad_image(case):
    found = case.object
    if found["kind"] == "Deployment":
        found = found["spec"].get("template") or {}
    containers = (found.get("spec") or {}).get("containers") or ()
    return any("bad" in one.get("image", "") for one in containers)


def test_what_does_not_matter_goes():
    assert shrunk(Case(POD), has_bad_image, 3000).object == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"image": "bad"}]},
    }


def test_a_controller_becomes_a_pod_where_that_shows_the_same():
    case = Case(wrapped(POD, KindName("apps", "v1", "Deployment")))
    assert shrunk(case, has_bad_image, 3000).object["kind"] == "Pod"


def test_the_request_becomes_simple_too():
    user = UserInfo("somebody-else")
    case = Case(POD, Operation.UPDATE, POD, user, {"team": "a"})
    found = shrunk(case, has_bad_image, 3000)
    assert found == Case(found.object)


def test_what_matters_stays():
    case = Case(POD, Operation.UPDATE, POD)
    found = shrunk(
        case, lambda one: one.operation is Operation.UPDATE and "old" in one._fields, 3000
    )
    assert found.operation is Operation.UPDATE


def test_a_case_that_cannot_be_smaller_is_itself():
    case = Case(POD)
    assert shrunk(case, lambda one: one.object == POD, 3000).object == POD


def test_it_is_asked_no_more_often_than_allowed():
    lookups = []
    shrunk(Case(POD), lambda one: bool(lookups.append(one)), 7)
    assert len(lookups) == 7


def test_what_stays_as_it_was_shrinks_on_both_sides():
    case = Case(POD, Operation.UPDATE, POD)
    found = shrunk(case, lambda one: one.old == one.object and has_bad_image(one), 3000)
    assert found.object == found.old
    assert found.object["spec"] == {"containers": [{"image": "bad"}]}
