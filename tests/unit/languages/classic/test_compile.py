"""Policies → compiled: refusals, phases, who is bound to a namespace, which model is followed."""

import pytest

from kyvsim.engine.compile import CompileOptions, Model
from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.world import GivenObjects, World
from kyvsim.languages import compile_policies
from kyvsim.languages.classic import compile as classic_compile
from kyvsim.model.diagnostic import Severity
from kyvsim.model.release import V_1_19_0, V_1_19_1
from kyvsim.model.result import Phase, Stage

DENY = {"validate": {"message": "no", "deny": {}}}
MERGE = {"mutate": {"patchStrategicMerge": {"spec": {"a": "b"}}}}
MAKES = {
    "generate": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "n",
        "namespace": "ns",
        "data": {},
    }
}
BROKEN = {
    "validate": {
        "deny": {"conditions": {"any": [{"key": "{{ a..b }}", "operator": "Equals", "value": 1}]}}
    }
}


def test_an_unsound_policy_does_not_stop_the_sound_ones(policy, system):
    good, bad = policy(DENY, name="good"), policy(BROKEN, name="bad")
    found, remarks = compile_policies([bad, good], CompileOptions(system))
    assert [one.policy.name for one in found.policies] == ["good"]
    assert remarks
    assert {remark.severity for remark in remarks} == {Severity.ERROR}
    assert all(remark.location.file == "p.yaml" for remark in remarks)


def test_policies_keep_their_order(policy, compiled):
    names = ["c", "a", "b"]
    found = compiled(*(policy(DENY, name=name) for name in names))
    assert [one.policy.name for one in found.policies] == names


@pytest.mark.parametrize(
    ("rule", "phase"),
    [(DENY, Phase.VALIDATE), (MERGE, Phase.MUTATE), (MAKES, Phase.GENERATE)],
)
def test_a_body_decides_the_phase_of_its_rule(policy, compiled, rule, phase):
    (found,) = compiled(policy(rule)).policies
    assert [one.phase for one in found.rules if one.rule.name == "r"] == [phase]


def names(rules):
    return [one.rule.name for one in rules]


def test_derived_rules_stand_beside_the_written_ones(policy, compiled):
    (found,) = compiled(policy(DENY)).policies
    assert found.rule_count == 3
    assert names(found.rules) == ["r", "autogen-r", "autogen-cronjob-r"]
    validating = found.derivation.forms()[1]
    assert names(validating["Job"]) == ["r", "autogen-r"]
    assert names(validating["CronJob"]) == ["r", "autogen-cronjob-r"]
    assert names(found.plain) == ["r"]


def test_rules_of_other_phases_are_no_rules_of_validation(policy, compiled):
    (found,) = compiled(policy({**MERGE, "name": "m"}, {**DENY, "name": "v"})).policies
    assert names(found.derivation.forms()[1]["Job"]) == ["v", "autogen-v"]


@pytest.mark.parametrize("kind", ["Pod", "ConfigMap", "Deployment", "CronJob"])
def test_rules_are_derived_when_a_controller_is_met(policy, system, monkeypatch, kind):
    derived = []
    compile_phases = classic_compile.compile_phases

    def recorded(policy, rule, options, *, lazy=False):
        if lazy:
            derived.append(rule.name)
        return compile_phases(policy, rule, options, lazy=lazy)

    monkeypatch.setattr(classic_compile, "compile_phases", recorded)
    found, _ = compile_policies([policy(DENY)], CompileOptions(system))
    assert found.policies[0].rule_count == 3
    for _ in range(2):
        assert found.stage_rules(Stage.VALIDATE, kind) or kind == "ConfigMap"
    is_controller = kind in {"Deployment", "CronJob"}
    assert derived == (["autogen-r", "autogen-cronjob-r"] if is_controller else [])


@pytest.mark.parametrize(
    ("wanted", "kind", "expected"),
    [
        ("Deployment,Widget", "Widget", ["autogen-r"]),
        ("Deployment,Widget", "Deployment", ["autogen-r"]),
        ("Widget", "Widget", ["autogen-r"]),
        ("Widget", "Deployment", []),
        ("none,", "ConfigMap", []),
        ("MyCronJobs", "CronJob", []),
    ],
)
def test_an_annotation_may_name_any_kinds(policy, compiled, wanted, kind, expected):
    annotations = {"pod-policies.kyverno.io/autogen-controllers": wanted}
    found = compiled(policy(DENY, annotations=annotations))
    asked = [one for turn in found.stage_rules(Stage.VALIDATE, kind) for one in turn.rules]
    assert names(asked) == expected


@pytest.mark.parametrize(("namespace", "heard"), [("shop", ["r"]), ("other", [])])
def test_a_namespaced_policy_concerns_its_own_namespace(
    run, policy, pod, verdicts, namespace, heard
):
    found = run([policy(DENY, namespace=namespace)], pod())
    assert [name for name, *_ in verdicts(found)] == heard


@pytest.mark.parametrize(
    ("model", "background", "status"),
    [
        (Model.KYVERNO, True, "pass"),
        (Model.KYVERNO, False, "pass"),
        (Model.BACKGROUND_GATES_GENERATE, True, "pass"),
        (Model.BACKGROUND_GATES_GENERATE, False, "skip"),
    ],
)
def test_the_model_says_whether_background_gates_generation(
    compiled, policy, pod, request_for, verdicts, model, background, status
):
    policies = compiled(policy(MAKES, background=background), model=model)
    found = evaluate(policies, request_for(pod()), World(GivenObjects([])))
    ((_, said, message),) = verdicts(found)
    assert said == status
    assert (model.value in message) is (status == "skip")


def test_the_model_gates_nothing_but_generation(compiled, policy, pod, request_for, verdicts):
    policies = compiled(policy(DENY, background=False), model=Model.BACKGROUND_GATES_GENERATE)
    found = evaluate(policies, request_for(pod()), World(GivenObjects([])))
    assert verdicts(found) == [("r", "fail", "no")]


TAG = "images.containers.a.tag"
DENY_TAG = {
    "conditions": {"any": [{"key": f"{{{{ {TAG} }}}}", "operator": "Equals", "value": "1"}]}
}
READS_IMAGES = [
    {"validate": {"message": "no", "deny": DENY_TAG}},
    {"validate": {"message": "no", "foreach": [{"list": "['1']", "deny": DENY_TAG}]}},
    {
        "context": [{"name": "tag", "variable": {"jmesPath": TAG}}],
        "validate": {"message": "no", "pattern": {"spec": {"containers": "{{ tag }}"}}},
    },
]


@pytest.mark.parametrize("body", READS_IMAGES)
def test_a_release_decides_whether_containers_that_are_no_maps_hide_images(
    policy, system, pod, request_for, verdicts, body
):
    obj = pod(containers=["text", {"name": "a", "image": "nginx:1"}])
    found = {}
    for release in (V_1_19_0, V_1_19_1):
        options = CompileOptions(system._replace(release=release))
        policies, _ = compile_policies([policy(body)], options)
        ((_, status, message),) = verdicts(
            evaluate(policies, request_for(obj), World(GivenObjects([])))
        )
        found[release.name] = status, "invalid image config" in message
    assert found == {"1.19.0": ("error", True), "1.19.1": ("fail", False)}
