"""Which rules take part where an object is deleted."""

import pytest

from kyvsim.engine.evaluate import acting_on_deletion, lists_deletion
from kyvsim.model.result import Stage

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
        (turn,) = compiled(policy(*written)).turns(stage, "Pod")
        return turn, list(acting_on_deletion([turn], stage))

    return call


@pytest.mark.parametrize(
    ("operations", "asks"),
    [((), False), (("CREATE",), False), (("DELETE",), True), (("UPDATE", "DELETE"), True)],
)
def test_a_rule_asks_for_deletions_by_listing_them(compiled, policy, operations, asks):
    (turn,) = compiled(policy({**MAKES, **on(*operations)})).turns(Stage.GENERATE, "Pod")
    assert lists_deletion(turn.rules[0].rule) is asks


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
    assert [rule.rule.name for turn in found for rule in turn.rules] == left


def test_a_turn_of_which_all_is_left_is_that_turn(acting):
    turn, found = acting(Stage.VALIDATE, {**DENIES, **on()})
    assert [id(one) for one in found] == [id(turn)]
