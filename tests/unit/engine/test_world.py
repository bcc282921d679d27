import pytest

from kyvsim.engine import GivenObjects, World, evaluate
from kyvsim.model.mocks import NO_MOCKS, CallAnswer, Mocks
from kyvsim.model.values import Values


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
    assert World(cluster, Values(mocks=mocks)).outside.mocks is mocks
    assert World(cluster).outside.mocks is NO_MOCKS
    assert not World(cluster, answers_calls=False).outside.answers_calls


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
