"""Budgets: for a rule, a resource, a run."""

import pytest

from kyvsim.api.system import own_system
from kyvsim.kubernetes.objects import MAX_DEPTH
from kyvsim.model.ports import Budget, BudgetError, Meter, to_follow


def test_a_rule_begins_anew_and_a_resource_ends():
    meter = Meter(Budget(rule=10, resource=25))
    for _ in range(2):
        meter.spend(10)
        meter.begin_rule()
    assert meter.left == 5
    with pytest.raises(BudgetError, match="25 steps for a resource"):
        meter.spend(6)
    meter.begin_resource()
    meter.spend(10)
    with pytest.raises(BudgetError, match="10 steps for a rule"):
        meter.spend(1)


def test_a_run_ends_whatever_its_resources():
    meter = Meter(Budget(rule=10, resource=20, run=15))
    meter.spend(10)
    meter.begin_resource()
    with pytest.raises(BudgetError, match="15 steps for a run is spent"):
        meter.spend(6)


def test_nought_is_no_bound():
    meter = Meter(Budget(rule=0, resource=0, run=0))
    meter.spend(10**12)


def test_shared_parts_count_as_often_as_they_are_met():
    value = ["x"]
    for _ in range(5):
        value = [value, value]
    assert Meter().weigh(value) == (1 + 2 + 4 + 8 + 16) + 32 * len(["list", "text"])
    with pytest.raises(BudgetError):
        Meter(Budget(rule=50)).weigh(value)


def test_a_value_may_be_twice_as_deep_as_what_is_read():
    def nested(depth):
        found = "x"
        for _ in range(depth):
            found = {"a": found}
        return found

    assert Meter().weigh(nested(2 * MAX_DEPTH - 1)) == 2 * MAX_DEPTH
    with pytest.raises(BudgetError, match="nested more than 400 deep"):
        Meter().weigh(nested(2 * MAX_DEPTH))


def test_what_is_told_may_take_a_tenth():
    assert to_follow(Budget()).rule == Budget().rule // 10
    assert to_follow(Budget(rule=5)).rule == 1
    assert to_follow(Budget(rule=0)).rule == 0


@pytest.mark.parametrize(("settable", "named"), [(True, True), (False, False)])
def test_an_option_is_named_where_there_is_one(settable, named):
    with pytest.raises(BudgetError) as raised:
        Meter(Budget(rule=1), settable=settable).spend(2)
    assert ("--budget rule=N" in str(raised.value)) is named


@pytest.mark.parametrize(("budget", "settable"), [(None, False), (Budget(), True)])
def test_a_budget_that_is_given_can_be_set(budget, settable):
    assert own_system(budget=budget).meter.settable is settable
