"""Evaluation of requests."""

from copy import deepcopy
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kyvsim.engine.compile import CompileOptions, KindPlans, PolicyRules
from kyvsim.engine.compile.policy_set import _PLANNED_AFTER
from kyvsim.engine.evaluate import (
    acting_on_deletion,
    evaluate,
    lists_deletion,
    passing,
    shown_passes,
)
from kyvsim.engine.policy import open_request, run_policy_rules
from kyvsim.engine.world import GivenObjects, World
from kyvsim.languages import compile_policies
from kyvsim.model.ports import Budget, Meter
from kyvsim.model.request import Operation
from kyvsim.model.result import Phase, Stage
from kyvsim.model.values import Values

# A request through all phases, and the laws that evaluation keeps.

LABELLED = {"metadata": {"labels": {"app": "?*"}}}
ADD_LABEL = {"mutate": {"patchStrategicMerge": {"metadata": {"labels": {"+(app)": "made"}}}}}
NEEDS_LABEL = {"validate": {"message": "no", "pattern": LABELLED}}
MAKES_MAP = {
    "generate": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "{{ request.object.metadata.labels.app }}",
        "namespace": "shop",
        "data": {"data": {"a": "b"}},
    }
}


def test_mutation_comes_first_wherever_its_policy_stands(run, policy, pod, verdicts):
    found = run(
        [policy(MAKES_MAP, name="g"), policy(NEEDS_LABEL, name="v"), policy(ADD_LABEL, name="m")],
        pod(),
    )
    assert [(one.policy.name, one.phase) for one in found.responses] == [
        ("m", Phase.MUTATE),
        ("v", Phase.VALIDATE),
        ("g", Phase.GENERATE),
    ]
    assert [status for _, status, _ in verdicts(found)] == ["pass", "pass", "pass"]
    assert found.object["metadata"]["labels"] == {"app": "made"}
    assert found.trigger == pod()
    (made,) = found.responses[2].results[0].generated
    assert made["metadata"]["name"] == "made"


def test_a_policy_sees_what_the_policies_before_it_changed(run, policy, pod):
    def copying(source, target):
        value = f"{{{{ request.object.spec.{source} || 'none' }}}}"
        return {"mutate": {"patchStrategicMerge": {"spec": {target: value}}}}

    found = run(
        [policy(copying("a", "b"), name="x"), policy(copying("b", "c"), name="y")], pod(a="1")
    )
    assert found.object["spec"] == {"a": "1", "b": "1", "c": "1"}


def test_a_policy_matches_the_name_that_the_policies_before_it_gave(run, policy, pod):
    renaming = {"mutate": {"patchStrategicMerge": {"metadata": {"name": "db"}}}}
    named = {"any": [{"resources": {"kinds": ["Pod"], "names": ["db"]}}]}
    found = run(
        [policy(renaming, name="x"), policy({**ADD_LABEL, "match": named}, name="y")], pod()
    )
    assert found.object["metadata"]["labels"] == {"app": "made"}


def test_values_that_take_the_object_from_one_policy_leave_it_to_the_next(run, policy, pod):
    gone = Values(resource_values={("v", "web"): {"request.object": None}})
    policies = [policy(NEEDS_LABEL, name="v"), policy({"validate": {"deny": {}}}, name="w")]
    assert [one.policy.name for one in run(policies, pod(), values=gone).responses] == ["w"]


WORDY = {"key": "{{ join('', request.object.spec.words) }}", "operator": "Equals", "value": ""}
WORDS_OF_WORDY = ["x" * 1000] * 100
"""Their text takes 12,500 steps."""


@pytest.mark.parametrize(
    ("budget", "statuses"),
    [
        (Budget(rule=20_000, resource=0), ["pass", "pass"]),
        (Budget(rule=10_000, resource=0), ["error", "error"]),
        (Budget(rule=0, resource=30_000), ["pass", "pass"]),
        (Budget(rule=0, resource=20_000), ["pass", "error"]),
        (Budget(rule=0, resource=0, run=70_000), ["pass", "pass"]),
    ],
)
def test_each_rule_and_each_request_has_steps_of_its_own(
    system, policy, pod, request_for, budget, statuses
):
    rule = {"validate": {"message": "no", "deny": {"conditions": {"any": [WORDY]}}}}
    written = policy({**rule, "name": "a"}, {**rule, "name": "b"})
    options = CompileOptions(system._replace(meter=Meter(budget)))
    policies, _ = compile_policies([written], options)
    obj = pod(words=WORDS_OF_WORDY)
    for _ in range(2):
        found = evaluate(policies, request_for(obj), World(GivenObjects([obj])))
        assert [one.status.value for one in found.responses[0].results] == statuses


def test_a_deletion_is_not_changed_and_meets_the_other_policies(run, policy, pod, verdicts):
    policies = [policy(ADD_LABEL, name="m"), policy({"validate": {"deny": {}}}, name="v")]
    gone = {"operation": Operation.DELETE, "old_object": pod(), "object": None}
    found = run(policies, pod(), **gone)
    assert [(rule, status) for rule, status, _ in verdicts(found)] == [("r", "fail")]


def test_one_policy_answers_once_in_each_phase_it_has_rules_for(run, policy, pod):
    both = policy({**NEEDS_LABEL, "name": "v"}, {**ADD_LABEL, "name": "m"})
    assert [one.phase for one in run([both], pod()).responses] == [Phase.MUTATE, Phase.VALIDATE]


def test_policies_without_anything_to_say_are_not_heard(run, policy, thing):
    found = run([policy(NEEDS_LABEL), policy(ADD_LABEL, name="m")], thing("Service"))
    assert found.responses == ()


def test_a_mapped_subresource_is_judged_by_rules_for_its_parent(run, policy, thing, verdicts):
    match = {"any": [{"resources": {"kinds": ["apps/v1/Deployment/scale"]}}]}
    rules = [policy({**NEEDS_LABEL, "match": match})]
    scale = thing("Scale", api_version="autoscaling/v1")
    parent = {"subresource": "scale", "parent_kind": ("apps", "v1", "Deployment")}
    assert verdicts(run(rules, scale)) == []
    assert [status for _, status, _ in verdicts(run(rules, scale, **parent))] == ["fail"]


def test_validation_of_a_controller_meets_derived_rules(run, policy, thing, verdicts):
    found = run([policy(NEEDS_LABEL)], thing("Deployment", api_version="apps/v1", spec={}))
    assert [(name, status) for name, status, _ in verdicts(found)] == [("autogen-r", "fail")]


def test_a_policy_that_cannot_be_asked_costs_no_other(compiled, policy, pod, request_for, verdicts):
    def raising(_facts):
        raise KeyError("oops")

    set_ = compiled(policy({**NEEDS_LABEL, "name": "a"}, {**NEEDS_LABEL, "name": "b"}))
    (good,) = set_.stage_rules(Stage.VALIDATE, "Pod")
    bad = good._replace(rules=tuple(one._replace(matches=raising) for one in good.rules))
    stage_rules = KindPlans({Stage.VALIDATE: (bad, good)})
    policies = SimpleNamespace(begin_resource=lambda: None, of_kind=lambda _: stage_rules)
    found = verdicts(evaluate(policies, request_for(pod()), World(GivenObjects([]))))
    assert [(name, status) for name, status, _ in found] == [
        *(("a", "error"), ("b", "error")),
        *(("a", "fail"), ("b", "fail")),
    ]
    assert "internal error in kyvsim, please report it: KeyError: 'oops'" in found[0][2]


# --- laws -----------------------------------------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "c"])
OBJECTS = st.fixed_dictionaries(
    {
        "apiVersion": st.just("v1"),
        "kind": st.sampled_from(["Pod", "Deployment", "CronJob", "ConfigMap"]),
        "metadata": st.fixed_dictionaries(
            {"name": WORDS}, optional={"namespace": WORDS, "labels": st.dictionaries(WORDS, WORDS)}
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "a": WORDS,
                "n": st.sampled_from([0.0, 1.0, 2.5]),
                "containers": st.lists(
                    st.fixed_dictionaries({"name": WORDS}, optional={"image": WORDS}),
                    max_size=2,
                    unique_by=lambda one: one["name"],
                ),
            },
        ),
    }
)
A_IS = {"key": "{{ request.object.spec.a }}", "operator": "Equals"}
EACH = "request.object.spec.containers"
BODIES = st.sampled_from(
    [
        NEEDS_LABEL,
        {"validate": {"message": "{{ request.object.spec.a }}", "pattern": {"spec": {"n": "<2"}}}},
        {"validate": {"anyPattern": [{"spec": {"a": "a"}}, LABELLED]}},
        {"validate": {"deny": {"conditions": {"any": [{**A_IS, "value": "a"}]}}}},
        {"validate": {"foreach": [{"list": EACH, "pattern": {"image": "a"}}]}},
        ADD_LABEL,
        {"mutate": {"patchStrategicMerge": {"spec": {"a": "b"}}}},
        {"mutate": {"patchesJson6902": "- {op: replace, path: /spec/a, value: c}"}},
        {
            "mutate": {
                "foreach": [
                    {
                        "list": EACH,
                        "patchStrategicMerge": {
                            "spec": {"containers": [{"name": "{{ element.name }}", "image": "c"}]}
                        },
                    }
                ]
            }
        },
        MAKES_MAP,
    ]
)
MATCHES = st.sampled_from(
    [{"any": [{"resources": {"kinds": [kind]}}]} for kind in ("Pod", "Deployment", "*o*", "C*")]
)
PRECONDITIONS = st.sampled_from([{"all": [{**A_IS, "value": "a"}]}, {"all": []}])


@st.composite
def rules(draw):
    drawn = {**draw(BODIES), "match": draw(MATCHES)}
    if draw(st.booleans()):
        drawn["preconditions"] = draw(PRECONDITIONS)
    return drawn


POLICIES = st.lists(st.lists(rules(), min_size=1, max_size=2), min_size=1, max_size=3)


def made(policy, bodies):
    named = [[{**rule, "name": f"r{i}"} for i, rule in enumerate(one)] for one in bodies]
    return [policy(*one, name=f"p{number}") for number, one in enumerate(named)]


@settings(max_examples=60)
@given(POLICIES, OBJECTS)
def test_evaluation_is_pure(compiled, policy, request_for, bodies, obj):
    policies, request = compiled(*made(policy, bodies)), request_for(obj)
    kept_object, kept_bodies = deepcopy(obj), deepcopy(bodies)
    world = World(GivenObjects([obj]))
    first = evaluate(policies, request, world)
    assert (obj, bodies) == (kept_object, kept_bodies)
    assert evaluate(policies, request, world) == first
    assert (obj, bodies) == (kept_object, kept_bodies)


@settings(max_examples=60)
@given(POLICIES, OBJECTS, st.randoms(use_true_random=False))
def test_policies_that_change_nothing_may_stand_in_any_order(
    compiled, policy, request_for, bodies, obj, random
):
    checks = [[rule for rule in one if "validate" in rule] for one in bodies]
    policies = made(policy, [one for one in checks if one])
    shuffled = random.sample(policies, len(policies))
    world = World(GivenObjects([obj]))

    def answers(order):
        found = evaluate(compiled(*order), request_for(obj), world)
        return {one.policy.name: one.results for one in found.responses}

    assert answers(policies) == answers(shuffled)


@settings(max_examples=60)
@given(POLICIES, OBJECTS)
def test_the_index_by_kind_loses_no_rule(compiled, policy, request_for, bodies, obj):
    indexed = compiled(*made(policy, bodies))
    # Every policy's own rules for the kind, without a look at the kinds they name.
    everything = {stage: tuple(every_turn(indexed, stage, obj["kind"])) for stage in Stage}
    unindexed = SimpleNamespace(
        begin_resource=lambda: None, of_kind=lambda _: KindPlans(everything)
    )
    world = World(GivenObjects([obj]))
    request = request_for(obj)
    assert evaluate(indexed, request, world) == evaluate(unindexed, request, world)


def every_turn(indexed, stage, kind):
    for one in indexed.policies:
        chosen = one.rules
        if stage is Stage.VALIDATE:
            validating = one.derivation.forms()[1] if one.derivation else {}
            chosen = validating.get(kind, one.plain)
        yield PolicyRules(one, tuple(rule for rule in chosen if rule.stage is stage))


# Which rules take part where an object is deleted.

TARGET = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "namespace": "shop"}
CHANGES = {"mutate": {"patchStrategicMerge": {"spec": {}}}}
CHANGES_OTHERS = {"mutate": {"targets": [TARGET], "patchStrategicMerge": {"data": {}}}}
MAKES = {"generate": {**TARGET, "data": {}}}
DENIES = {"validate": {"deny": {}}}


def on(*operations):
    listed = {"operations": list(operations)} if operations else {}
    return {"match": {"any": [{"resources": {"kinds": ["Pod"], **listed}}]}}


@pytest.fixture
def acting(compiled, policy):
    """Return the turn of a stage for Pods, and what is left of it for one that is deleted."""

    def call(stage, *rules):
        written = [{"name": f"r{number}", **rule} for number, rule in enumerate(rules)]
        (policy_rules,) = compiled(policy(*written)).stage_rules(stage, "Pod")
        return policy_rules, list(acting_on_deletion([policy_rules], stage))

    return call


@pytest.mark.parametrize(
    ("operations", "asks"),
    [((), False), (("CREATE",), False), (("DELETE",), True), (("UPDATE", "DELETE"), True)],
)
def test_a_rule_asks_for_deletions_by_listing_them(compiled, policy, operations, asks):
    (policy_rules,) = compiled(policy({**MAKES, **on(*operations)})).stage_rules(
        Stage.GENERATE, "Pod"
    )
    assert lists_deletion(policy_rules.rules[0].rule) is asks


@pytest.mark.parametrize(
    ("stage", "rules", "left"),
    [
        (Stage.MUTATE, [{**CHANGES, **on("DELETE")}], []),
        (Stage.MUTATE, [{**CHANGES_OTHERS, **on()}], []),
        (
            Stage.MUTATE,
            [{**CHANGES, **on("DELETE")}, {**CHANGES_OTHERS, **on("DELETE")}],
            ["r1"],
        ),
        (Stage.GENERATE, [{**MAKES, **on()}], []),
        (Stage.GENERATE, [{**MAKES, **on()}, {**MAKES, **on("CREATE", "DELETE")}], ["r1"]),
        (Stage.VALIDATE, [{**DENIES, **on()}, {**DENIES, **on("DELETE")}], ["r0", "r1"]),
    ],
)
def test_rules_act_on_a_deletion_that_concerns_others(acting, stage, rules, left):
    _, found = acting(stage, *rules)
    assert [rule.rule.name for policy_rules in found for rule in policy_rules.rules] == left


def test_a_turn_of_which_all_is_left_is_that_turn(acting):
    policy_rules, found = acting(Stage.VALIDATE, {**DENIES, **on()})
    assert [id(one) for one in found] == [id(policy_rules)]


# What plans show of requests, and of which requests they know nothing.

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
    stage_rules = of_kind.stages[Stage.VALIDATE]
    given = open_request(request, WORLD, "")
    found = [policy_rules for policy_rules in stage_rules if shown(policy_rules) is not None]
    assert found == [
        policy_rules for policy_rules in stage_rules if policy_rules.policy.policy.name != "status"
    ]
    for policy_rules in found:
        asked = run_policy_rules(policy_rules, Phase.VALIDATE, given, WORLD)
        assert passing(policy_rules, Phase.VALIDATE, request.object, shown(policy_rules)) == asked
        assert shown(policy_rules._replace(rules=())) is None


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
    stage_rules = planned.of_kind("Pod").stages.get(stage, ())
    assert not [policy_rules for policy_rules in stage_rules if shown(policy_rules) is not None]


def test_what_fails_is_not_shown(planned, pod, request_for):
    stage_rules = planned.of_kind("Pod").stages[Stage.VALIDATE]
    shown = shown_passes(
        planned.of_kind("Pod"), Stage.VALIDATE, request_for(pod(nodeName="odd")), WORLD
    )
    names = {
        policy_rules.policy.policy.name
        for policy_rules in stage_rules
        if shown(policy_rules) is not None
    }
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
