"""What plans show of requests, and of which requests they know nothing."""

import pytest

from kyvsim.engine.cluster_views import GivenObjects
from kyvsim.engine.compile.policy_set import _PLANNED_AFTER
from kyvsim.engine.evaluate import evaluate, passing, shown_passes
from kyvsim.engine.policy import open_request, run_turn
from kyvsim.engine.world import World
from kyvsim.model.request import Operation, Values
from kyvsim.model.result import Phase, Stage

WORLD = World(GivenObjects([]))
DELETED = {"key": "{{ request.operation }}", "operator": "NotEquals", "value": "DELETE"}
UNLESS_DELETED = {"preconditions": {"all": [DELETED]}}
ON_ODD = {"key": "{{ request.object.spec.nodeName || '' }}", "operator": "Equals", "value": "odd"}
NOWHERE_ODD = {"validate": {"message": "no", "deny": {"conditions": {"any": [ON_ODD]}}}}


@pytest.fixture
def planned(compiled, policy, pod, request_for):
    """Return policies that have plans for Pods, made by plain creations of them."""
    host = {"message": "no", "pattern": {"spec": {"=(hostPID)": False}}}
    policies = compiled(
        policy({"name": "host", "validate": host}, name="host"),
        policy({"name": "operation", "validate": host, **UNLESS_DELETED}, name="operation"),
        policy(NOWHERE_ODD, name="object"),
        policy({"name": "new", "validate": host, "match": CREATED}, name="new"),
        policy({"name": "status", "validate": host, "match": STATUS}, name="status"),
    )
    for _ in range(_PLANNED_AFTER + 2):
        shown = evaluate(policies, request_for(pod()), WORLD)
    assert len(shown.answers) < len(shown.responses) == 4
    return policies


CREATED = {"any": [{"resources": {"kinds": ["Pod"], "operations": ["CREATE"]}}]}
STATUS = {"any": [{"resources": {"kinds": ["Pod/status"]}}]}
ODD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"nodeName": "odd"}}


def said(response):
    return [
        (one.policy.name, result.status.value)
        for one in response.responses
        for result in one.results
    ]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, {"host": "pass", "operation": "pass", "object": "pass", "new": "pass"}),
        (
            {"operation": Operation.UPDATE, "old_object": ODD},
            {"host": "pass", "operation": "pass", "object": "pass"},
        ),
        ({"operation": Operation.CONNECT}, {"host": "pass", "operation": "pass", "object": "pass"}),
        (
            {"details": {"operation": "DELETE"}},
            {"host": "pass", "operation": "skip", "object": "pass", "new": "pass"},
        ),
        (
            {"details": {"object": ODD}},
            {"host": "pass", "operation": "pass", "object": "fail", "new": "pass"},
        ),
        (
            {"details": {"uid": "odd"}},
            {"host": "pass", "operation": "pass", "object": "pass", "new": "pass"},
        ),
        ({"subresource": "status"}, {"status": "pass"}),
        ({"subresource": "status", "parent_kind": ("", "v1", "Pod")}, {"status": "pass"}),
    ],
)
def test_a_plan_knows_plain_creations_only(planned, pod, request_for, request_, expected):
    assert dict(said(evaluate(planned, request_for(pod(), **request_), WORLD))) == expected


def test_a_plan_knows_nothing_of_given_values(planned, pod, request_for):
    world = WORLD._replace(values=Values({"request.object.spec.nodeName": "odd"}))
    assert ("object", "fail") in said(evaluate(planned, request_for(pod()), world))


def test_turns_that_are_shown_to_pass_are_found(planned, pod, request_for):
    request, of_kind = request_for(pod()), planned.of_kind("Pod")
    shown = shown_passes(of_kind, Stage.VALIDATE, request, WORLD)
    turns = of_kind.stages[Stage.VALIDATE]
    given = open_request(request, WORLD, "")
    found = [turn for turn in turns if shown(turn) is not None]
    assert found == [turn for turn in turns if turn.policy.policy.name != "status"]
    for turn in found:
        asked = run_turn(turn, Phase.VALIDATE, given, WORLD)
        assert passing(turn, Phase.VALIDATE, request.object, shown(turn)) == asked
        assert shown(turn._replace(rules=())) is None


@pytest.mark.parametrize(
    ("stage", "request_"),
    [
        (Stage.GENERATE, {}),
        (Stage.VALIDATE, {"operation": Operation.UPDATE}),
        (Stage.VALIDATE, {"operation": Operation.DELETE, "object": None, "old_object": ODD}),
    ],
)
def test_other_turns_are_to_be_asked(planned, pod, request_for, stage, request_):
    request = request_for(pod(), **request_)
    shown = shown_passes(planned.of_kind("Pod"), stage, request, WORLD)
    turns = planned.of_kind("Pod").stages.get(stage, ())
    assert not [turn for turn in turns if shown(turn) is not None]


def test_what_fails_is_not_shown(planned, pod, request_for):
    turns = planned.of_kind("Pod").stages[Stage.VALIDATE]
    shown = shown_passes(
        planned.of_kind("Pod"), Stage.VALIDATE, request_for(pod(nodeName="odd")), WORLD
    )
    names = {turn.policy.policy.name for turn in turns if shown(turn) is not None}
    assert names == {"host", "operation", "new"}


def test_a_plan_is_of_one_kind(compiled, policy, thing, request_for):
    labelled = {"message": "no", "pattern": {"metadata": {"name": "?*"}}}
    every, secrets = ({"any": [{"resources": {"kinds": [kind]}}]} for kind in ("*", "Sec*"))
    policies = compiled(
        policy({"match": every, "exclude": secrets, "validate": labelled}, background=False)
    )
    for _ in range(_PLANNED_AFTER + 2):
        found = evaluate(policies, request_for(thing("ConfigMap")), WORLD)
    assert len(found.answers) == len(said(found)) == 1
    assert said(evaluate(policies, request_for(thing("Secret")), WORLD)) == []
