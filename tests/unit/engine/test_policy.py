"""Rules of a policy."""

import pytest

from kyvsim.engine.compile.compiled import failed, passed, skipped
from kyvsim.engine.policy import evaluate_rule, open_for, open_request, run_policy_rules
from kyvsim.engine.world import GivenObjects, World
from kyvsim.model.request import Operation
from kyvsim.model.result import Phase, Stage
from kyvsim.model.values import Values

# One policy in one phase: order, stopping early, old violations, given values.

NODE = "{{ request.object.spec.nodeName }}"


def deny(name, key=NODE, value="n1", **validate):
    condition = {"key": key, "operator": "Equals", "value": value}
    body = {"message": name, "deny": {"conditions": {"any": [condition]}}, **validate}
    return {"name": name, "validate": body}


def setting(name, **spec):
    return {"name": name, "mutate": {"patchStrategicMerge": {"spec": spec}}}


def found_in(response, verdicts):
    return [(name, status) for name, status, _ in verdicts(response)]


def test_rules_speak_in_the_order_in_which_they_are_written(run, policy, pod, verdicts):
    found = run([policy(deny("b"), deny("a"), deny("c", value="n2"))], pod(nodeName="n1"))
    assert found_in(found, verdicts) == [("b", "fail"), ("a", "fail"), ("c", "pass")]


@pytest.mark.parametrize(
    ("first", "heard"),
    [
        (deny("a"), [("a", "fail")]),
        (deny("a", value="n2"), [("a", "pass")]),
        (deny("a", key="{{ request.object.x }}"), [("a", "error"), ("b", "fail")]),
        ({**deny("a"), "preconditions": {"any": []}}, [("a", "skip"), ("b", "fail")]),
    ],
)
def test_with_apply_one_the_first_verdict_is_the_last(run, policy, pod, verdicts, first, heard):
    found = run([policy(first, deny("b"), applyRules="One")], pod(nodeName="n1"))
    assert found_in(found, verdicts) == heard


def test_a_mutate_rule_sees_what_the_one_before_made(run, policy, pod):
    found = run(
        [policy(setting("a", x="1"), setting("b", y="{{ request.object.spec.x }}2"))], pod()
    )
    assert found.object["spec"] == {"x": "1", "y": "12"}
    assert [one.changed for one in found.responses] == [True]


def test_a_policy_that_changes_nothing_leaves_the_very_object(run, policy, pod):
    before = pod(x="1")
    found = run([policy(setting("a", x="1"))], before)
    assert found.object is before
    assert [one.changed for one in found.responses] == [False]


NAME = "config.data.node"
UPDATE = {"operation": Operation.UPDATE}
TOLERATED = ("a", "skip", "skipping the rule evaluation as pre-existing violations are allowed")
FAILED = ("a", "fail", "a")


@pytest.mark.parametrize(
    ("validate", "spec", "before", "verdict"),
    [
        ({"failureAction": "Enforce"}, {}, "n1", TOLERATED),
        ({"failureAction": "Enforce"}, {}, "n2", FAILED),
        ({}, {"validationFailureAction": "Enforce"}, "n1", TOLERATED),
        ({}, {"validationFailureAction": "enforce"}, "n1", TOLERATED),
        ({"failureAction": "Audit"}, {"validationFailureAction": "Enforce"}, "n1", FAILED),
        ({}, {}, "n1", FAILED),
        ({"failureAction": "Enforce", "allowExistingViolations": False}, {}, "n1", FAILED),
    ],
)
def test_an_update_may_keep_a_violation_of_an_enforcing_rule(
    run, policy, pod, verdicts, validate, spec, before, verdict
):
    rules = [policy(deny("a", **validate), **spec)]
    found = run(rules, pod(nodeName="n1"), old_object=pod(nodeName=before), **UPDATE)
    assert verdicts(found) == [verdict]


def test_a_creation_keeps_no_violation(run, policy, pod, verdicts):
    found = run([policy(deny("a", failureAction="Enforce"))], pod(nodeName="n1"))
    assert verdicts(found) == [FAILED]


@pytest.mark.parametrize(
    ("values", "status"),
    [
        (Values(global_values={NAME: "n1"}), "fail"),
        (Values(global_values={NAME: "n2"}), "pass"),
        (Values({NAME: "n2"}, resource_values={("p", "web"): {NAME: "n1"}}), "fail"),
        (Values({NAME: "n1"}, resource_values={("p", "db"): {NAME: "n2"}}), "fail"),
        (Values({NAME: "n1"}, rule_values={("p", "a"): {NAME: "n2"}}), "pass"),
        (Values({NAME: "n1"}, rule_values={("p", "b"): {NAME: "n2"}}), "fail"),
        (Values({NAME: "n1"}, overrides={NAME: "n2"}), "pass"),
        (Values({"other": "n1"}), "error"),
    ],
)
def test_given_values_stand_in_for_names(run, policy, pod, verdicts, values, status):
    context = [{"name": "config", "configMap": {"name": "c", "namespace": "ns"}}]
    rule = {**deny("a", key="{{ config.data.node }}"), "context": context}
    assert found_in(run([policy(rule)], pod(), values=values), verdicts) == [("a", status)]


def test_values_of_one_policy_are_not_those_of_the_next(run, policy, pod, verdicts):
    given = {("p", "web"): {"request.object.spec.nodeName": "n1"}}
    rules = [policy(deny("a"), name=name) for name in ("p", "q")]
    found = run(rules, pod(nodeName="n2"), values=Values(resource_values=given))
    assert found_in(found, verdicts) == [("a", "fail"), ("a", "pass")]


def test_given_values_change_the_object_itself(run, policy, pod, verdicts):
    values = Values({"request.object.spec.nodeName": "n1"})
    pattern = {"name": "b", "validate": {"pattern": {"spec": {"nodeName": "n1"}}}}
    found = run([policy(deny("a"), pattern)], pod(nodeName="n2"), values=values)
    assert found_in(found, verdicts) == [("a", "fail"), ("b", "pass")]


def test_an_object_is_matched_as_the_kind_that_it_was_brought_as(run, policy, pod, verdicts):
    values = Values({"request.object.kind": "Job", "request.object.apiVersion": "batch/v1"})
    pattern = {"name": "b", "validate": {"pattern": {"kind": "Job"}}}
    found = run([policy(deny("a", key="x", value="x"), pattern)], pod(), values=values)
    assert found_in(found, verdicts) == [("a", "fail"), ("b", "pass")]


def on_operations(*operations):
    resources = {"kinds": ["Pod"], "operations": list(operations)}
    return {**deny("a", key="x", value="x"), "match": {"any": [{"resources": resources}]}}


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
def test_a_given_operation_decides_what_the_request_is(run, policy, pod, verdicts, operation):
    values = Values({"request.operation": operation})
    for one in ("CREATE", "UPDATE", "DELETE"):
        heard = found_in(run([policy(on_operations(one))], pod(), values=values), verdicts)
        assert heard == ([("a", "fail")] if one == operation else [])


def in_namespace(**labels):
    resources = {"kinds": ["Pod"], "namespaceSelector": {"matchLabels": labels}}
    return {**deny("a", key="x", value="x"), "match": {"any": [{"resources": resources}]}}


def test_namespace_labels_come_from_values_or_else_from_a_given_namespace(
    run, policy, pod, thing, verdicts
):
    rules = [policy(in_namespace(env="prod"))]
    shop = thing("Namespace", "shop", "", labels={"env": "prod"})
    assert found_in(run(rules, pod()), verdicts) == []
    assert found_in(run(rules, pod(), given=[shop]), verdicts) == [("a", "fail")]
    values = Values(namespaces={"shop": {"metadata": {"labels": {"env": "dev"}}}})
    assert found_in(run(rules, pod(), given=[shop], values=values), verdicts) == []
    rules = [policy(in_namespace(env="dev"))]
    assert found_in(run(rules, pod(), given=[shop], values=values), verdicts) == [("a", "fail")]


def generating(name, *, kind="ConfigMap"):
    target = {"apiVersion": "v1", "kind": kind, "name": "c", "namespace": "shop", "data": {}}
    return {"name": name, "generate": target}


def test_what_exists_already_is_not_generated_again(run, policy, pod):
    found = run([policy(generating("a"), generating("b"))], pod())
    generated = [result.generated for result in found.responses[0].results]
    assert [len(one) for one in generated] == [1, 0]


def test_a_trigger_is_not_generated(run, policy, thing):
    matching = {"match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}}
    found = run([policy({**generating("a"), **matching})], thing("ConfigMap", "c"))
    assert [result.generated for result in found.responses[0].results] == [()]


def test_a_mutate_rule_that_fails_leaves_the_object_to_those_behind_it(run, policy, pod, verdicts):
    failing = setting("a", x="{{ request.object.spec.missing }}")
    found = run([policy(failing, setting("b", z="1"))], pod())
    assert found_in(found, verdicts) == [("a", "error"), ("b", "pass")]
    assert found.object["spec"] == {"z": "1"}


def test_where_values_take_the_object_away_there_is_nothing_to_say(run, policy, pod):
    rules = [policy(deny("a", key="x", value="x"))]
    assert run(rules, pod(), values=Values({"request.object": None})).responses == ()


def labelling(name, label, value="x", **more):
    patch = {"metadata": {"labels": {label: value}}}
    return {"name": name, "mutate": {"patchStrategicMerge": patch}, **more}


def selecting(**labels):
    return {"any": [{"resources": {"kinds": ["Pod"], "selector": {"matchLabels": labels}}}]}


def test_a_mutate_rule_is_matched_with_what_the_one_before_made(run, policy, pod):
    response = run(
        [
            policy(
                labelling("first", "type", "db"),
                labelling("second", "backup", match=selecting(type="db")),
                labelling("third", "never", exclude=selecting(type="db")),
            )
        ],
        pod(),
    )
    assert response.object["metadata"]["labels"] == {"type": "db", "backup": "x"}


def test_an_old_violation_counts_only_for_whole_objects_and_nobodys_requests(
    run, policy, pod, verdicts
):
    always = {"validate": {"failureAction": "Enforce", "message": "no", "deny": {}}}
    kinds = {"resources": {"kinds": ["Pod"]}}
    of_jane = {"any": [{**kinds, "subjects": [{"kind": "User", "name": "jane"}]}]}
    rules = [{**always, "name": "hers", "match": of_jane}, {**always, "name": "all"}]
    found = run([policy(*rules, background=False)], pod(), old_object=pod(), **UPDATE)
    assert found_in(found, verdicts) == [("hers", "fail"), ("all", "skip")]


NOBODY = {
    "users": {"subjects": [{"kind": "User", "name": "kyverno:kyverno-invalid-controller"}]},
    "groups": {"subjects": [{"kind": "Group", "name": "kyverno:invalidgroup"}]},
    "roles": {"roles": ["kyverno:invalidrole"]},
    "cluster roles": {"clusterRoles": ["kyverno:invalidrole"]},
}


@pytest.mark.parametrize("who", NOBODY.values(), ids=NOBODY)
def test_an_old_violation_is_looked_for_as_somebody_whom_upstream_names(
    run, policy, pod, verdicts, who
):
    kinds = {"resources": {"kinds": ["Pod"]}}
    spared = {"match": {"any": [kinds]}, "exclude": {"any": [{**kinds, **who}]}}
    always = {"validate": {"failureAction": "Enforce", "message": "no", "deny": {}}}
    found = run([policy({**always, **spared}, background=False)], pod(), old_object=pod(), **UPDATE)
    assert found_in(found, verdicts) == [("r", "fail")]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("autoscaling/v2/Scale", "skip"),
        ("apps/v2/Scale", "fail"),
        ("autoscaling/v1/Scale", "fail"),
        ("apps/v1/Scale", "fail"),
    ],
)
def test_the_old_object_of_a_subresource_is_of_its_own_group_and_version(
    run, policy, thing, verdicts, kind, status
):
    matched = {"any": [{"resources": {"kinds": ["apps/v1/Deployment/scale", kind]}}]}
    rule = {**deny("a", failureAction="Enforce"), "match": matched}
    scale = thing("Scale", api_version="autoscaling/v2", spec={"nodeName": "n1"})
    of_deployment = {"subresource": "scale", "parent_kind": ("apps", "v1", "Deployment")}
    found = run([policy(rule)], scale, old_object=scale, **UPDATE, **of_deployment)
    assert found_in(found, verdicts) == [("a", status)]


@pytest.fixture
def answered(compiled, policy, pod, request_for):
    """Return what runs a policy whose rules, `r0` and so on, have bodies of ours."""

    def call(*bodies, world=None, **spec):
        written = policy(*(deny(f"r{number}") for number in range(len(bodies))), **spec)
        (policy_rules,) = compiled(written).stage_rules(Stage.VALIDATE, "Pod")
        rules = zip(policy_rules.rules, bodies, strict=True)
        policy_rules = policy_rules._replace(
            rules=tuple(rule._replace(body=body) for rule, body in rules)
        )
        world = world or World(GivenObjects([]))
        return run_policy_rules(
            policy_rules, Phase.VALIDATE, open_for(written, request_for(pod()), world), world
        )

    return call


def test_what_nothing_answered_is_told_of_the_rule_that_asked(answered):
    def asking(evaluation):
        evaluation.scope.hints.extend(("why", "why"))
        return passed("")

    found = answered(asking, lambda _: passed(""), asking)
    assert [one.note for one in found.results] == ["why", "", "why"]


@pytest.mark.parametrize(
    ("apply", "told"),
    [
        ("All", [("r0", "skip"), ("r0", "pass"), ("r0", "fail"), ("r1", "pass")]),
        ("One", [("r0", "skip"), ("r0", "pass"), ("r0", "fail")]),
    ],
)
def test_a_rule_has_a_result_for_each_object_that_it_looks_at(answered, apply, told):
    further = (passed(""), failed(""))
    looking = skipped("")._replace(further=further)
    found = answered(lambda _: looking, lambda _: passed(""), applyRules=apply)
    assert [(one.rule.name, one.status.value) for one in found.results] == told


@pytest.mark.parametrize(
    ("unchecked", "note"),
    [
        ((), "so"),
        (("a",), "so; not checked, and not reported by Kyverno: a"),
        (("a", "b", "c"), "so; not checked, and not reported by Kyverno: a (and 2 more)"),
    ],
)
def test_what_could_not_be_looked_at_is_told(answered, unchecked, note):
    found = answered(lambda _: passed("")._replace(note="so", unchecked=unchecked))
    assert [(one.note, one.unchecked) for one in found.results] == [(note, unchecked)]


def test_where_upstream_has_no_result_there_is_still_what_was_not_looked_at(answered):
    found = answered(
        lambda _: passed("")._replace(silent=True, unchecked=("a",)), lambda _: passed("")
    )
    assert [one.rule.name for one in found.results] == ["r1"]
    assert [(one.rule.name, one.unchecked) for one in found.silent] == [("r0", ("a",))]


@pytest.mark.parametrize("spares", [False, True])
def test_a_rule_sees_the_cluster_without_what_arrives(answered, pod, spares):
    there = []

    def looking(evaluation):
        there.append(evaluation.scope.external.cluster.get("v1", "Pod", "shop", "web"))
        return passed("")

    world = World(GivenObjects([pod()]), arriving=pod(), spares_triggers=spares)
    answered(looking, world=world)
    assert there == [None]


# One rule: match, context, preconditions, exceptions, body, in this order.

DENY = {"validate": {"message": "no", "deny": {}}}
DELETED = {"match": {"any": [{"resources": {"kinds": ["Pod"], "operations": ["DELETE"]}}]}}
MISSING = "{{ request.object.spec.missing }}"
EXCEPTED = "rule is skipped due to policy exceptionsex/x"


def when(key, value):
    return {"all": [{"key": key, "operator": "Equals", "value": value}]}


CASES = [
    ({**DENY}, "fail", "no"),
    ({**DENY, "preconditions": when("a", "a")}, "fail", "no"),
    ({**DENY, "preconditions": when("a", "b")}, "skip", "preconditions not met"),
    ({**DENY, "preconditions": {"any": []}}, "skip", "preconditions not met"),
    ({**DENY, "preconditions": {"all": []}}, "fail", "no"),
    (
        {
            **DENY,
            "preconditions": {"any": [{**when("a", "b")["all"][0], "message": "a is not b"}]},
        },
        "skip",
        "preconditions not met; a is not b",
    ),
    ({**DENY, "context": [{"name": "c", "variable": {"value": MISSING}}]}, "fail", "no"),
    (
        {
            **DENY,
            "context": [{"name": "c", "variable": {"jmesPath": "request.object.metadata.name"}}],
            "preconditions": when("{{ c }}", "web"),
        },
        "fail",
        "no",
    ),
]


@pytest.mark.parametrize(("rule", "status", "message"), CASES)
def test_a_rule_runs_if_its_preconditions_are_met(run, pod, verdicts, rule, status, message):
    assert verdicts(run(rule, pod())) == [("r", status, message)]


def test_a_rule_that_does_not_match_says_nothing(run, thing, verdicts):
    assert verdicts(run({**DENY, "preconditions": when(MISSING, "a")}, thing("Service"))) == []


def test_preconditions_without_a_value_are_an_error(run, pod, verdicts):
    ((_, status, message),) = verdicts(run({**DENY, "preconditions": when(MISSING, "a")}, pod()))
    assert status == "error"
    assert message.startswith("failed to evaluate preconditions: ")


def test_an_entry_without_a_value_is_an_error_where_it_is_used(run, pod, verdicts):
    entry = {"name": "c", "variable": {"jmesPath": "request.object.spec.missing"}}
    rule = {**DENY, "context": [entry], "preconditions": when("{{ c }}", "a")}
    ((_, status, message),) = verdicts(run(rule, pod()))
    assert status == "error"
    assert "failed to apply jmespath request.object.spec.missing" in message


TAGS = "{{ images.containers.*.tag }}"


def test_an_entry_that_cannot_be_computed_is_an_error_in_each_rule(run, policy, pod, verdicts):
    """The errors of Kyverno 1.19.0, also if the first rule reads the entry in its message."""
    reads = [
        {**deny("a"), "validate": {**deny("a")["validate"], "message": TAGS}},
        deny("b", key=TAGS),
        deny("c", key=TAGS),
    ]
    bad = pod(nodeName="n1", containers=[{"name": "a", "image": "Bad Image"}])
    found = run([policy(*reads), policy(deny("d", key=TAGS))], bad)
    assert found_in(found, verdicts) == [
        ("a", "fail"),
        ("b", "error"),
        ("c", "error"),
        ("d", "error"),
    ]


@pytest.mark.parametrize(
    ("spec", "status", "message"),
    [
        ({}, "skip", EXCEPTED),
        ({"conditions": when("{{ request.object.metadata.name }}", "web")}, "skip", EXCEPTED),
        ({"conditions": when("{{ request.object.metadata.name }}", "db")}, "fail", "no"),
        ({"conditions": when(MISSING, "a")}, "fail", "no"),
        ({"match": {"any": [{"resources": {"kinds": ["Service"]}}]}}, "fail", "no"),
        (
            {"match": {"any": [{"resources": {"kinds": ["Pod"], "names": ["w*"]}}]}},
            "skip",
            EXCEPTED,
        ),
    ],
)
def test_an_exception_that_covers_the_object_skips_the_rule(
    run, pod, exception, verdicts, spec, status, message
):
    found = run(DENY, pod(), exceptions=[exception("p", "r", **spec)])
    assert verdicts(found) == [("r", status, message)]


def test_several_exceptions_are_all_named(run, pod, exception, verdicts):
    given = [exception("p", "r"), exception("p", "*", name="y")]
    assert verdicts(run(DENY, pod(), exceptions=given)) == [("r", "skip", f"{EXCEPTED}, ex/y")]


def test_preconditions_are_asked_before_exceptions(run, pod, exception, verdicts):
    rule = {**DENY, "preconditions": when("a", "b")}
    found = run(rule, pod(), exceptions=[exception("p", "r")])
    assert verdicts(found) == [("r", "skip", "preconditions not met")]


GENERATE = {
    "generate": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "n",
        "namespace": "ns",
        "data": {},
    }
}


def test_generate_rules_ask_for_exceptions_first(run, pod, exception, verdicts):
    rule = {**GENERATE, "preconditions": when(MISSING, "a")}
    found = run(rule, pod(), exceptions=[exception("p", "r")])
    assert verdicts(found) == [("r", "skip", "rule is skipped due to policy exception ex/x")]


def test_a_skipped_generate_rule_has_no_message_and_says_why_beside_it(run, pod, verdicts):
    found = run({**GENERATE, "preconditions": when("a", "b")}, pod())
    assert verdicts(found) == [("r", "skip", "")]
    ((result,),) = (one.results for one in found.responses)
    assert result.own == "preconditions not met"


def test_an_exception_without_a_namespace_is_named_without_a_slash(run, pod, exception, verdicts):
    given = exception("p", "r")._replace(namespace="")
    (message,) = (text for *_, text in verdicts(run(DENY, pod(), exceptions=[given])))
    assert message == "rule is skipped due to policy exceptionsx"


def test_generate_rules_word_the_error_of_preconditions_in_their_own_way(run, pod, verdicts):
    ((_, status, message),) = verdicts(
        run({**GENERATE, "preconditions": when(MISSING, "a")}, pod())
    )
    assert status == "error"
    assert message.startswith("failed to evaluate conditions: ")


def test_a_deletion_is_matched_by_the_object_that_goes(run, pod, verdicts):
    rule = {**DENY, "match": {"any": [{"resources": {"kinds": ["Pod"], "operations": ["DELETE"]}}]}}
    assert verdicts(run(rule, pod())) == []
    gone = {"operation": Operation.DELETE, "old_object": pod(), "object": None}
    assert verdicts(run(rule, pod(), **gone)) == [("r", "fail", "no")]


@pytest.mark.parametrize(
    "check",
    [
        {"podSecurity": {"level": "baseline"}},
        {"manifests": {"attestors": [{"entries": [{"keys": {"publicKeys": "k"}}]}]}},
    ],
)
def test_where_nothing_is_said_of_deletions_no_exception_is_asked(
    run, pod, exception, verdicts, check
):
    given = [exception("p", "r")]
    gone = {"operation": Operation.DELETE, "old_object": pod(), "object": None}
    assert [one[1] for one in verdicts(run({"validate": check}, pod(), exceptions=given))] == [
        "skip"
    ]
    assert verdicts(run({**DELETED, "validate": check}, pod(), exceptions=given, **gone)) == []


def raising(error):
    def body(_evaluation):
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            KeyError("oops"),
            "internal error in kyvsim, please report it: KeyError: 'oops'",
        ),
        (RecursionError(), "it is nested too deeply (more than 200 deep is not read)"),
        (MemoryError(), "out of memory"),
    ],
)
def test_a_fault_of_evaluation_is_an_error_of_the_rule(
    compiled, policy, pod, request_for, error, message
):
    (compiled_policy,) = compiled(policy(DENY)).policies
    rule = compiled_policy.rules[0]._replace(body=raising(error))
    given = open_request(request_for(pod()), World(GivenObjects([])), "p")
    outcome = evaluate_rule(rule, given)
    assert (outcome.status.value, outcome.message) == ("error", message)


@pytest.mark.parametrize("concerned", [False, True])
def test_a_rule_that_an_object_does_not_concern_says_nothing(
    compiled, policy, pod, request_for, concerned
):
    (compiled_policy,) = compiled(policy(DENY)).policies
    rule = compiled_policy.rules[0]._replace(concerns=lambda _: concerned)
    given = open_request(request_for(pod()), World(GivenObjects([])), "p")
    assert (evaluate_rule(rule, given) is not None) is concerned
