"""What is lost where the API server evaluates a policy."""

import pytest

CEL = {"cel": {"generate": True, "expressions": [{"expression": "true"}]}}


def kinds(*names):
    return {"any": [{"resources": {"kinds": list(names)}}]}


@pytest.fixture
def told(run, cluster_policy):
    def find(match, validate=CEL, annotations=None):
        policy = cluster_policy("p", {"match": match, "validate": validate})
        policy["metadata"]["annotations"] = annotations or {}
        return [one for one in run([policy]).hazards if one.code == "KH030"]

    return find


def test_rules_that_are_derived_for_controllers_are_told(told):
    (hazard,) = told(kinds("Pod"))
    assert hazard.policies == ("p",)
    assert "CronJob, DaemonSet, Deployment, Job, ReplicaSet" in hazard.message


@pytest.mark.parametrize(
    ("match", "more"),
    [
        (kinds("Deployment"), {}),
        (kinds("Pod"), {"validate": {"cel": {**CEL["cel"], "generate": False}}}),
        (kinds("Pod"), {"annotations": {"pod-policies.kyverno.io/autogen-controllers": "none"}}),
    ],
)
def test_nothing_is_told_where_nothing_is_lost(told, match, more):
    assert told(match, **more) == []
