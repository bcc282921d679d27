import pytest

from kyvsim.engine.cluster_views import GivenObjects
from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.world import World, creation_of
from kyvsim.model.request import NO_MOCKS, CallAnswer, Mocks, Values


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
