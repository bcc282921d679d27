"""Whether a background rule applies to a trigger, now or before a change."""

import pytest

from kyvsim.engine.background import check_rule, old_facts, open_background
from kyvsim.engine.world import GivenObjects, World
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo

LABELLED = {"any": [{"resources": {"kinds": ["Pod"], "selector": {"matchLabels": {"a": "b"}}}}]}
PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}
TARGET = {"apiVersion": "v1", "kind": "ConfigMap", "name": "m", "namespace": "d"}
GENERATE = {"generate": {**TARGET, "data": {}}}
MUTATE = {"mutate": {"targets": [TARGET], "patchStrategicMerge": {}}}
IS_B = {"key": "{{ request.object.metadata.labels.a }}", "operator": "Equals", "value": "b"}
PRECONDITIONS = {"match": PODS, "preconditions": {"all": [IS_B]}}


@pytest.fixture
def world():
    """Return a world without objects."""
    return World(GivenObjects(()))


@pytest.fixture
def check(compiled, policy, pod, world):
    """Return what gives the status of a rule for a change of the label `a`, old to new."""

    def status(rule, old, new, exceptions=()):
        set_ = compiled(policy({"name": "r", **rule}), exceptions=exceptions)
        ((one,), own) = set_.policies[0].rules, set_.policies[0].policy
        objects = [pod(labels={"a": label}) if label else None for label in (old, new)]
        operation = Operation.UPDATE if all(objects) else Operation.CREATE
        request = AdmissionRequest(operation, objects[1], objects[0], "shop", UserInfo("u"))
        given = open_background(own, objects[1], request, world) if new else None
        outcome = check_rule(one, given, old_facts(request, world))
        # Only what keeps a rule from its trigger says why.
        assert outcome is None or bool(outcome.message or outcome.own) is (
            outcome.status.value == "skip"
        )
        return outcome and outcome.status.value

    return status


@pytest.mark.parametrize(
    ("rule", "old", "new", "status"),
    [
        ({**GENERATE, "match": LABELLED}, None, "b", "pass"),
        ({**GENERATE, "match": LABELLED}, None, "c", None),
        ({**GENERATE, "match": LABELLED}, "b", "c", "fail"),
        ({**GENERATE, "match": LABELLED}, "c", "c", None),
        ({**GENERATE, "match": LABELLED}, "b", None, "fail"),
        ({**MUTATE, "match": LABELLED}, "b", "c", None),
        ({**GENERATE, **PRECONDITIONS}, None, "b", "pass"),
        ({**GENERATE, **PRECONDITIONS}, None, "c", "skip"),
        ({**GENERATE, **PRECONDITIONS}, "b", "b", "pass"),
        ({**GENERATE, **PRECONDITIONS}, "b", "c", "fail"),
        ({**GENERATE, **PRECONDITIONS}, "c", "c", "skip"),
    ],
)
def test_rule_applies_now_or_did_before(check, rule, old, new, status):
    assert check(rule, old, new) == status


def test_excepted_rule_is_skipped_even_if_it_applied_before(check, exception):
    excepts = exception("p", "r", match=PODS)
    assert check({**GENERATE, **PRECONDITIONS}, "b", "c", [excepts]) == "skip"


def test_without_a_request_there_is_no_operation_and_no_user(policy, pod, world):
    own = policy({"name": "r", "match": PODS, **GENERATE})
    given = open_background(own, pod(), None, world)
    fields = given.scope.root(frozenset())["request"]
    assert (fields["operation"], fields["namespace"]) == ("", "shop")
    assert (given.facts.operation, given.facts.user) == ("", None)


def test_trigger_stands_for_the_object_of_the_request(policy, pod, world):
    own = policy({"name": "r", "match": PODS, **GENERATE})
    live = pod(labels={"a": "live"})
    request = AdmissionRequest(Operation.UPDATE, pod(), pod(), "shop", UserInfo("u"))
    given = open_background(own, live, request, world)
    assert given.object is live
    assert given.scope.root(frozenset())["request"]["object"] is live


@pytest.mark.parametrize(("namespace", "asks_in"), [("", ""), ("team", "team"), (None, "default")])
@pytest.mark.parametrize("with_request", [False, True])
def test_a_policy_in_a_namespace_asks_for_what_is_there(
    policy, pod, world, namespace, asks_in, with_request
):
    own = policy({"name": "r", "match": PODS, **GENERATE}, namespace=namespace or "")
    if namespace is None:
        own = own._replace(kind="Policy", namespace="")
    request = AdmissionRequest(Operation.CREATE, pod(), None, "shop") if with_request else None
    given = open_background(own, pod(), request, world)
    assert given.scope.policy_namespace == asks_in


def test_a_trigger_is_an_object(policy, world):
    own = policy({"name": "r", "match": PODS, **GENERATE})
    with pytest.raises(ValueError, match=r"^a trigger must be an object$"):
        open_background(own, {}, None, world)
