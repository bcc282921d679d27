"""The index by kind: what it leaves out cannot match, what it keeps stays in order."""

import pytest

from kyvsim.model.result import Stage

DENY = {"validate": {"message": "no", "deny": {}}}
MERGE = {"mutate": {"patchStrategicMerge": {"spec": {"a": "b"}}}}


def on(*kinds, **body):
    return {
        "match": {"any": [{"resources": {"kinds": [kind]}} for kind in kinds]},
        **(body or DENY),
    }


def turns(compiled, stage, kind):
    return [
        (turn.policy.policy.name, [rule.rule.name for rule in turn.rules])
        for turn in compiled.turns(stage, kind)
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
    assert turns(indexed, stage, kind) == found


def test_no_policies_have_no_steps(compiled):
    assert compiled().turns(Stage.VALIDATE, "Pod") == ()
