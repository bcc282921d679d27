"""The index by kind: what it leaves out cannot match, what it keeps stays in order."""

import pytest

from kyvsim.engine.compile import CompileOptions
from kyvsim.engine.match import match_facts
from kyvsim.languages import compile_policies
from kyvsim.model.ports import Budget, BudgetError, Meter
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Stage

DENY = {"validate": {"message": "no", "deny": {}}}
MERGE = {"mutate": {"patchStrategicMerge": {"spec": {"a": "b"}}}}


def on(*kinds, **body):
    return {
        "match": {"any": [{"resources": {"kinds": [kind]}} for kind in kinds]},
        **(body or DENY),
    }


def stage_rules(compiled, stage, kind):
    return [
        (policy_rules.policy.policy.name, [rule.rule.name for rule in policy_rules.rules])
        for policy_rules in compiled.stage_rules(stage, kind)
    ]


@pytest.fixture
def indexed(compiled, policy):
    return compiled(
        policy({**on("Pod"), "name": "pods"}, {**on("Service"), "name": "services"}, name="two"),
        policy({**on("*o*"), "name": "some"}, name="wild"),
        policy({**on("Service", **MERGE), "name": "merge"}, name="changes"),
    )


@pytest.mark.parametrize(
    ("stage", "kind", "found"),
    [
        (Stage.VALIDATE, "Pod", [("two", ["pods"]), ("wild", ["some"])]),
        (Stage.VALIDATE, "Service", [("two", ["services"]), ("wild", ["some"])]),
        (Stage.VALIDATE, "Deployment", [("two", ["autogen-pods"]), ("wild", ["some"])]),
        (Stage.VALIDATE, "CronJob", [("two", ["autogen-cronjob-pods"]), ("wild", ["some"])]),
        (Stage.VALIDATE, "Secret", [("wild", ["some"])]),
        (Stage.MUTATE, "Service", [("changes", ["merge"])]),
        (Stage.MUTATE, "Pod", []),
        (Stage.GENERATE, "Pod", []),
    ],
)
def test_the_steps_of_a_kind(indexed, stage, kind, found):
    assert stage_rules(indexed, stage, kind) == found


def test_no_policies_have_no_steps(compiled):
    assert compiled().stage_rules(Stage.VALIDATE, "Pod") == ()


def test_what_an_evaluation_could_afford_is_found_out_again(system, policy, pod):
    """Tests look a second time at why a rule has no result; its wildcards count each time."""
    labels = {f"label-{n}": "v" for n in range(40)}
    wildcards = [{f"*z{n}": "?*"} for n in range(20)]
    filters = [{"resources": {"kinds": ["Pod"], "annotations": one}} for one in wildcards]
    rule = {"match": {"any": filters}, "validate": {"message": "no", "deny": {}}}
    options = CompileOptions(system._replace(meter=Meter(Budget(rule=1000, resource=1000))))
    found = compile_policies([policy(rule)], options)[0].policies[0].rules[0]
    obj = {**pod(), "metadata": {"name": "a", "annotations": labels}}
    facts = match_facts(AdmissionRequest(Operation.CREATE, obj), obj, {})
    assert not found.matches(facts)
    with pytest.raises(BudgetError):
        found.matches(facts)
    assert [found.matches_again(facts) for _ in range(5)] == [False] * 5
