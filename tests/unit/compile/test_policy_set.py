"""The index by kind: what it leaves out cannot match, what it keeps stays in order."""

import pytest

from kyvsim.model.result import Phase

DENY = {"validate": {"message": "no", "deny": {}}}
MERGE = {"mutate": {"patchStrategicMerge": {"spec": {"a": "b"}}}}


def on(*kinds, **body):
    return {
        "match": {"any": [{"resources": {"kinds": [kind]}} for kind in kinds]},
        **(body or DENY),
    }


def steps(compiled, phase, kind):
    return [
        (step.policy.policy.name, [rule.rule.name for rule in step.rules])
        for step in compiled.steps(phase, kind)
    ]


@pytest.fixture
def indexed(compiled, policy):
    return compiled(
        policy({**on("Pod"), "name": "pods"}, {**on("Service"), "name": "services"}, name="two"),
        policy({**on("*o*"), "name": "some"}, name="wild"),
        policy({**on("Service", **MERGE), "name": "merge"}, name="changes"),
    )


@pytest.mark.parametrize(
    ("phase", "kind", "found"),
    [
        (Phase.VALIDATE, "Pod", [("two", ["pods"]), ("wild", ["some"])]),
        (Phase.VALIDATE, "Service", [("two", ["services"]), ("wild", ["some"])]),
        (Phase.VALIDATE, "Deployment", [("two", ["autogen-pods"]), ("wild", ["some"])]),
        (Phase.VALIDATE, "CronJob", [("two", ["autogen-cronjob-pods"]), ("wild", ["some"])]),
        (Phase.VALIDATE, "Secret", [("wild", ["some"])]),
        (Phase.MUTATE, "Service", [("changes", ["merge"])]),
        (Phase.MUTATE, "Pod", []),
        (Phase.GENERATE, "Pod", []),
    ],
)
def test_the_steps_of_a_kind(indexed, phase, kind, found):
    assert steps(indexed, phase, kind) == found


def test_no_policies_have_no_steps(compiled):
    assert compiled().steps(Phase.VALIDATE, "Pod") == ()
