"""What a plan shows is what the engine says, to the letter, of whatever object."""

import random
import sys
from copy import deepcopy
from pathlib import Path

import pytest
from tracers import ListTracer

from kyvsim.engine.compile import CompileOptions, UnresolvedRules, index_policies
from kyvsim.engine.compile.plan import StagePlan
from kyvsim.engine.compile.policy_set import _PLANNED_AFTER
from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.policy import open_request, run_policy_rules
from kyvsim.engine.world import GivenObjects, World
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.languages import READERS, compile_policies
from kyvsim.load.policy import load_policies
from kyvsim.model.result import PassingPolicies, Phase, PolicyResponse, RuleStatus, Stage
from kyvsim.model.source import Document, Location

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
from pod_policies import pods, policies

WORLD = World(GivenObjects([]))
OBJECTS = with_floats(list(pods(30)))
TEXTS = ("false", "true", "RuntimeDefault", "docker.io/x", "ALL", "1Gi", "3Gi", "", "{{ x }}", "*")
KEYS = (
    "hostPath",
    "privileged",
    "securityContext",
    "annotations",
    "procMount",
    "emptyDir",
    "type",
    "hostPort",
)
ODD = (None, True, False, 0.0, 1.0, 7, "a", [], {}, [None], [[]], "global anchor mismatch")
OPERATION = {"key": "{{ request.operation }}", "operator": "NotEquals", "value": "DELETE"}
PORTS = {
    "key": "{{ request.object.spec.[initContainers, containers][].ports[].hostPort }}",
    "operator": "AnyNotIn",
    "value": "8000-9000",
}
CONTAINERS, FIRST = "request.object.spec.containers", "request.object.spec.initContainers[]"
REGISTRY = {"image": "!docker.io/*"}
LENIENT = {"=(image)": "*:*", "=(kind)": "Container", "X(hostPath)": "null"}
NO_SECRET = {"any": [{"key": "{{ element.name }}", "operator": "Equals", "value": "secret"}]}
LOOPS = [
    {"message": "no", "foreach": loops}
    for loops in (
        [{"list": CONTAINERS, "pattern": REGISTRY}, {"list": FIRST, "pattern": REGISTRY}],
        [{"list": FIRST, "pattern": REGISTRY}],
        [{"list": CONTAINERS, "pattern": LENIENT}],
        [
            {"list": CONTAINERS, "pattern": LENIENT},
            {"list": FIRST, "deny": {"conditions": NO_SECRET}},
        ],
        [{"list": "request.object.spec.volumes", "pattern": LENIENT}],
    )
]
HAS_APP = {"key": "{{ request.object.metadata.labels.app || '' }}", "operator": "Equals"}


def changed(chance, node):
    """Return a copy of an object in which some things are something else."""
    if chance.random() < 0.03:
        return chance.choice([*ODD, chance.choice(TEXTS), {chance.choice(KEYS): True}])
    if node.__class__ is dict:
        kept = {key: changed(chance, item) for key, item in node.items() if chance.random() > 0.04}
        if chance.random() < 0.1:
            kept[chance.choice(KEYS)] = chance.choice([*ODD, *TEXTS])
        return kept
    if node.__class__ is list:
        kept = [changed(chance, item) for item in node if chance.random() > 0.05]
        return kept + deepcopy(kept[:1]) if chance.random() < 0.1 else kept
    return chance.choice(TEXTS) if chance.random() < 0.05 else node


def controllers(pod):
    template = {"metadata": pod["metadata"], "spec": pod["spec"]}
    meta = {"name": "d", "namespace": "x"}
    job = {"spec": {"template": template}}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, **job}
    yield {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": meta,
        "spec": {"jobTemplate": job},
    }


@pytest.fixture(scope="module")
def bench(system):
    written = [
        *policies(),
        also("mixed", {"preconditions": {"all": [{**HAS_APP, "value": "app-1"}]}}),
        also("several", {"preconditions": {"all": [OPERATION]}}, {"name": "second"}),
        *(also(f"loops-{number}", {"validate": one}) for number, one in enumerate(LOOPS)),
        also("ports", {"validate": {"message": "no", "deny": {"conditions": {"all": [PORTS]}}}}),
    ]
    documents = [Document(one, "p", 0, lambda _: Location("p", 1, 1)) for one in written]
    loaded, remarks = load_policies(documents, READERS)
    compiled, refused = compile_policies(loaded, CompileOptions(system))
    assert not remarks
    assert not refused
    return compiled


def also(name, *rules):
    pattern = {"message": "no", "pattern": {"spec": {"=(hostNetwork)": "false"}}}
    match = {"any": [{"resources": {"kinds": ["Pod"], "operations": ["CREATE"]}}]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name},
        "spec": {
            "rules": [{"name": "first", "match": match, "validate": pattern, **r} for r in rules]
        },
    }


def plan_of(compiled, request):
    stage_rules = compiled.stage_rules(Stage.VALIDATE, request.object["kind"])
    given = open_request(request, WORLD, "")
    return stage_rules, given, StagePlan(Phase.VALIDATE, stage_rules, given.facts, given.scope)


def ends(plan, obj):
    """Yield the rules of each policy, and its results; None where they are not shown."""
    shown = {}
    for one in plan.fast_results(obj):
        if isinstance(one, UnresolvedRules):
            shown[one.policy_rules.policy.policy] = None
        elif isinstance(one, PolicyResponse):
            shown[one.policy] = one.results
        else:
            shown.update((passes.policy, passes.results) for passes in one.passes)
    policies = [one.open.policy_rules.policy.policy for one in plan.plans]
    assert [*shown] == [policy for policy in policies if policy in shown]
    for policy, one in zip(policies, plan.plans, strict=True):
        yield one.open, shown.get(policy, ())


def test_what_is_shown_is_what_the_engine_says(bench, request_for):
    chance = random.Random(20261122)
    bases = [*OBJECTS, *(one for pod in OBJECTS[:6] for one in controllers(pod))]
    plans, shown, recalled = {}, 0, 0
    for _ in range(600):
        base = chance.choice(bases)
        obj = {key: changed(chance, item) for key, item in base.items()}
        obj |= {"apiVersion": base["apiVersion"], "kind": base["kind"]}
        request = request_for(base)._replace(object=obj)
        if base["kind"] not in plans:
            plans[base["kind"]] = plan_of(bench, request)
        _, _, plan = plans[base["kind"]]
        given = open_request(request, WORLD, "")
        for (policy_rules, settled, cache), results in ends(plan, obj):
            said = run_policy_rules(policy_rules, Stage.VALIDATE.phase, given, WORLD)
            if cache and not said.silent:
                cache.keep(obj, said.results)
            if settled:
                again = run_policy_rules(
                    policy_rules, Stage.VALIDATE.phase, given, WORLD, settled=True
                )
                assert again == said, (policy_rules.policy.policy.name, obj)
            if results is not None:
                is_pass = all(one.status is RuleStatus.PASS for one in said.results)
                shown, recalled = shown + is_pass, recalled + (not is_pass)
                assert (said.results, said.silent) == (results, ()), (
                    policy_rules.policy.policy.name,
                    obj,
                )
    assert shown > 4_000
    assert recalled > 1_500


@pytest.mark.parametrize("number", range(3))
def test_every_policy_of_the_bench_is_planned(bench, request_for, number):
    good = (OBJECTS[1], *controllers(OBJECTS[1]))[number]
    stage_rules, _, plan = plan_of(bench, request_for(good))
    hidden = [one.open.policy_rules.policy.policy.name for one in plan.plans if not one.chances]
    assert hidden == []
    assert len(stage_rules) >= 20


def test_nearly_all_passes_of_the_bench_are_shown(bench, request_for):
    """The guard on work: what is not shown costs ten times as much, on any machine."""
    _, _, plan = plan_of(bench, request_for(OBJECTS[1]))
    passes = evaluated = 0
    for obj in OBJECTS:
        given = open_request(request_for(obj), WORLD, "")
        for (policy_rules, settled, _), results in ends(plan, obj):
            assert settled or policy_rules.policy.policy.name == "mixed"
            said = run_policy_rules(policy_rules, Stage.VALIDATE.phase, given, WORLD)
            if said.results and all(one.status is RuleStatus.PASS for one in said.results):
                passes += 1
                evaluated += results is None
    assert passes > 500
    assert evaluated / passes < 0.03


def planned(compiled, obj, request_for, **request):
    """Evaluate an object until its kind has a plan, and once more; return the last response."""
    for _ in range(_PLANNED_AFTER + 2):
        response = evaluate(compiled, request_for(obj, **request), WORLD)
    return response


def test_with_a_plan_a_response_is_what_it_is_without(bench, request_for):
    for obj in OBJECTS[:_PLANNED_AFTER]:
        alone = evaluate(index_policies(bench.policies), request_for(obj), WORLD)
        response = planned(bench, obj, request_for)
        assert len(alone.answers) == len(alone.responses) > len(response.answers)
        assert response._replace(answers=response.responses) == alone


@pytest.fixture
def asked(monkeypatch):
    """The names of the policies that were evaluated."""
    module, names = sys.modules[evaluate.__module__], []

    def noted(policy_rules, *arguments, **options):
        names.append(policy_rules.policy.policy.name)
        return run_policy_rules(policy_rules, *arguments, **options)

    monkeypatch.setattr(module, "run_policy_rules", noted)
    return names


def test_results_are_recalled_where_nothing_else_makes_a_difference(
    compiled, policy, pod, request_for, asked
):
    fixed = policy({**PASSING, "validate": HOST}, name="fixed")
    telling = policy({**PASSING, "validate": {**HOST, "message": NAMED}}, name="telling")
    set_, two = compiled(fixed, telling), pod("two", hostNetwork=True, hostPID=True)
    first = planned(set_, pod("one", hostNetwork=True), request_for).responses
    asked.clear()
    again = evaluate(set_, request_for(two), WORLD).responses
    assert asked == ["telling"]
    other = evaluate(set_, request_for(pod("two", hostNetwork={})), WORLD).responses
    assert asked == ["telling", "fixed", "telling"]
    assert first[0].results is again[0].results is other[0].results
    assert again[0].object is two
    assert "one" in first[1].results[0].message
    assert "two" in again[1].results[0].message


def test_a_turn_that_had_nothing_to_say_is_recalled_as_such(compiled, policy, pod, request_for):
    set_ = compiled(policy({"validate": looping(LOOPED)}))
    for obj in (pod("one"), pod("two", list=[])):
        assert planned(set_, obj, request_for).answers == ()


def test_elements_that_are_not_maps_are_not_matched_with_patterns(
    compiled, policy, pod, request_for
):
    """Kyverno matches the whole object then, which is not the text that the pattern wants."""
    loop = {"list": "request.object.spec.list", "pattern": "a*"}
    set_ = compiled(policy({"validate": {"message": "no", "foreach": [loop]}}))
    (response,) = planned(set_, pod("one", list=["ab"]), request_for).responses
    assert response.results[0].status is RuleStatus.FAIL


def test_null_elements_are_no_elements(compiled, policy, pod, request_for):
    is_b = {"key": "{{ element }}", "operator": "Equals", "value": "b"}
    set_ = compiled(policy({"validate": looping(is_b)}))
    assert planned(set_, pod("one", list=[None]), request_for).answers == ()
    assert planned(set_, pod("two", list=["a"]), request_for).answers


NAMED = "{{ request.object.metadata.name }}"
DENIED = {"key": "{{ request.object.spec.a || '' }}", "operator": "Equals", "value": "b"}
LOOPED = {"key": "{{ element.a || '' }}", "operator": "Equals", "value": "b"}


def denying(*conditions, quantifier="any", **more):
    return {"message": "no", "deny": {"conditions": {quantifier: [*conditions]}}, **more}


def looping(*conditions, **more):
    loop = {"list": "request.object.spec.list[]", "deny": {"conditions": {"any": [*conditions]}}}
    return {"message": "no", "foreach": [loop], **more}


@pytest.mark.parametrize(
    ("validate", "is_recalled"),
    [
        (denying(DENIED), True),
        (denying(DENIED, quantifier="all"), True),
        (denying(DENIED, {**DENIED, "value": "c"}), True),
        (denying({**DENIED, "message": "it is b"}), True),
        (looping(LOOPED), True),
        # Conditions that follow on the first one, and words that are other ones each time.
        (denying(DENIED, {**DENIED, "value": "c*"}, quantifier="all"), False),
        (denying(DENIED, message=NAMED), False),
        (denying({**DENIED, "message": NAMED}), False),
        (looping({**LOOPED, "message": NAMED}), False),
    ],
)
def test_denials_are_recalled_where_their_shape_looks_at_all_they_do(
    compiled, policy, pod, request_for, asked, validate, is_recalled
):
    set_ = compiled(policy({"validate": validate}))
    objects = [pod(name, a="b", list=[{"a": "b", "c": name}]) for name in ("one", "two")]
    first = planned(set_, objects[0], request_for).evaluated
    assert first[0].results[0].status in {RuleStatus.FAIL, RuleStatus.PASS}
    asked.clear()
    evaluate(set_, request_for(objects[1]), WORLD)
    assert asked == ([] if is_recalled else ["p"])


LIVE = {"background": False}
HOST = {"message": "no", "pattern": {"spec": {"=(hostNetwork)": "false"}}}


def each(**loop):
    return {"message": "no", "foreach": [{"list": CONTAINERS, **loop}]}


PASSING = {"validate": {"message": "no", "pattern": {"spec": {"=(a)": "b"}}}}


@pytest.mark.parametrize(
    ("rule", "spec"),
    [
        ({"exclude": {"any": [{"resources": {"kinds": ["Pod"], "names": ["x"]}}]}}, {}),
        ({"match": {"any": [{"resources": {"kinds": ["Pod"], "names": ["w*"]}}]}}, {}),
        ({"match": {"any": [{"resources": {"kinds": ["Pod"]}, "clusterRoles": ["x"]}]}}, LIVE),
        ({"context": [{"name": "x", "variable": {"value": "y"}}]}, {}),
        ({"preconditions": {"all": [{**HAS_APP, "value": "{{ request.userInfo }}"}]}}, LIVE),
        ({"validate": {"message": "no", "pattern": {"spec": {"=(a)": "{{ request.name }}"}}}}, {}),
        ({"validate": {"message": "no", "pattern": {"(spec)": {"=(a)": "b"}}}}, {}),
        ({"validate": each(pattern=REGISTRY, elementScope=False)}, {}),
        ({"validate": each(pattern=REGISTRY, preconditions=NO_SECRET)}, {}),
        ({"validate": each(pattern={"name": "{{ element.name }}"})}, {}),
        ({"validate": each(pattern="a*")}, {}),
        ({"validate": each(pattern=["a*"])}, {}),
    ],
)
def test_rules_that_more_than_a_shape_decides_are_evaluated(
    compiled, policy, pod, request_for, rule, spec
):
    found = planned(compiled(policy({**PASSING, **rule}, **spec)), pod(), request_for)
    assert found.evaluated == list(found.answers)


def test_plain_rules_are_shown(compiled, policy, pod, request_for):
    found = planned(compiled(policy(PASSING)), pod(), request_for)
    assert [answer.__class__ for answer in found.answers] == [PassingPolicies]


def test_with_an_exception_or_a_listener_nothing_is_shown(
    compiled, policy, pod, request_for, exception
):
    excepted = compiled(policy(PASSING), exceptions=[exception("p", "r")])
    assert planned(excepted, pod(), request_for).evaluated
    heard = compiled(policy(PASSING), tracer=ListTracer())
    assert planned(heard, pod(), request_for).evaluated


def test_the_operation_in_preconditions_is_asked_once_and_counts(
    compiled, policy, pod, request_for
):
    unmet = {"preconditions": {"all": [{**OPERATION, "operator": "Equals"}]}}
    found = planned(compiled(policy({**PASSING, **unmet})), pod(), request_for)
    assert [answer.results[0].status.value for answer in found.responses] == ["skip"]


def test_one_rule_at_most_is_left_to_the_engine_where_several_are_shown(
    compiled, policy, pod, request_for
):
    one = policy({**PASSING, "name": "a"}, {**PASSING, "name": "b"}, applyRules="One")
    (answer,) = planned(compiled(one), pod(), request_for).responses
    assert [result.rule.name for result in answer.results] == ["a"]


def test_kinds_of_one_name_have_plans_of_their_own(compiled, policy, pod, request_for):
    grouped = {"match": {"any": [{"resources": {"kinds": ["shop.example/v1/Pod"]}}]}}
    set_ = compiled(policy({**PASSING, **grouped}))
    assert planned(set_, pod(), request_for).answers == ()
    other = {**pod(), "apiVersion": "shop.example/v1"}
    assert len(planned(set_, other, request_for).responses) == 1
