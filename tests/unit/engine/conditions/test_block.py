import pytest
from tracers import ListTracer, trace

from kyvsim.engine.conditions import (
    ConditionError,
    ConditionsResult,
    compile_conditions,
    compile_exception_conditions,
)
from kyvsim.jmespath import System
from kyvsim.model.ports import FEW, Budget, BudgetError, Meter
from kyvsim.policy.read import read_conditions

ENV = System(clock=None, entropy=None, meter=Meter())


class Scope:
    deleting = False

    def root(self, _):
        return {"request": {"operation": "CREATE", "object": {"kind": "Pod", "count": 3.0}}}


def condition(key, value="yes", message=None, operator="Equals"):
    found = {"key": key, "operator": operator, "value": value}
    return found if message is None else {**found, "message": message}


YES, NO = condition("yes"), condition("no")
KIND = condition("{{ request.object.kind }}", "Pod")
MISSING = condition("{{ request.object.nothing }}")


WATCHED = trace(ListTracer())


def evaluate(data):
    """Return what is the same whether somebody watches or not."""
    try:
        probed = compile_conditions(read_conditions(data, ()), ENV, WATCHED)(Scope())
    except ConditionError:
        probed = None
    found = compile_conditions(read_conditions(data, ()), ENV)(Scope())
    assert found == probed
    return found


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"all": []},
        {"any": [NO, YES]},
        {"any": [NO, KIND], "all": [YES, KIND]},
        {"any": [YES, MISSING]},
        [YES, KIND],
        [],
        [{"any": [KIND]}, {"all": [YES]}],
        {"all": [condition("{{ request.object.count }}", 3)]},
        {"all": [condition("Pod", "{{ request.object.kind }}")]},
        {"all": [condition("{{ request.object.kind }}", "{{ request.object.kind }}")]},
    ],
)
def test_met(data):
    assert evaluate(data) == ConditionsResult(True)


@pytest.mark.parametrize(
    "data",
    [
        {"any": []},
        {"any": [NO, NO]},
        {"all": [YES, NO, MISSING]},
        {"any": [YES], "all": [NO]},
        {"any": [NO], "all": [YES]},
        [KIND, NO],
        [{"any": [YES]}, {"any": []}],
        {"all": [condition([1], [1.5])]},
    ],
)
def test_unmet(data):
    assert evaluate(data) == ConditionsResult(False)


@pytest.mark.parametrize(
    ("data", "result"),
    [
        ({"any": [condition("no", message="a"), condition("yes", message="b")]}, (True, "b")),
        ({"any": [condition("no", message="a"), condition("no", message="b")]}, (False, "a; b")),
        ({"all": [condition("yes", message="a"), condition("yes", message="b")]}, (True, "a; b")),
        ({"all": [condition("yes", message="a"), condition("no", message="b")]}, (False, "b")),
        (
            {
                "any": [condition("no", message="a"), condition("yes", message="b")],
                "all": [condition("no", message="c")],
            },
            (False, "a; c"),
        ),
        (
            {"any": [condition("yes", message="a")], "all": [condition("yes", message="b")]},
            (True, "a; b"),
        ),
        ([condition("yes", message="a"), condition("yes", message="b")], (True, "a;b")),
    ],
)
def test_messages(data, result):
    assert evaluate(data) == result


@pytest.mark.parametrize(
    ("data", "side"),
    [
        ({"any": [MISSING, YES]}, "key"),
        ({"any": [NO], "all": [MISSING]}, "key"),
        ({"all": [condition("{{ request.object.kind }}", "{{ request.object.none }}")]}, "value"),
    ],
)
def test_a_missing_field_is_an_error(data, side):
    with pytest.raises(ConditionError) as caught:
        evaluate(data)
    assert caught.value.message.startswith(f"failed to substitute variables in condition {side}: ")
    assert "Unknown key" in caught.value.message


def test_exceptions_look_at_all_first_and_an_empty_any_holds():
    def met(data):
        return compile_exception_conditions(read_conditions(data, ()), ENV)(Scope()).met

    assert met({"any": [], "all": [YES]})
    assert met({"any": [NO, KIND]})
    assert not met({"all": [NO], "any": [MISSING]})
    assert not met({"any": [NO], "all": [YES]})


WILD = [f"{number}*" for number in range(4 * FEW)]
PAIRS = 2 * len(WILD) ** 2
"""Of a list of these and another one."""


class Wild(Scope):
    def root(self, _):
        return {"wild": WILD}


@pytest.mark.parametrize(
    "block",
    [
        condition("{{ wild }}", WILD, operator="AnyIn"),
        condition("{{ wild }}", "{{ wild }}", operator="AnyIn"),
        condition(WILD, "{{ wild }}", operator="AllNotIn"),
    ],
)
@pytest.mark.parametrize(("share", "is_enough"), [(2, True), (8, False)])
def test_elements_that_are_held_against_each_other_cost_steps(block, share, is_enough):
    env = ENV._replace(meter=Meter(Budget(rule=PAIRS // share)))
    holds = compile_conditions(read_conditions([block], ()), env)
    if is_enough:
        assert holds(Wild()).met is (block["operator"] == "AnyIn")
    else:
        with pytest.raises(BudgetError):
            holds(Wild())


def test_a_list_of_few_elements_costs_nothing():
    few = WILD[:FEW]
    env = ENV._replace(meter=Meter(Budget(rule=1)))
    block = condition(few, "{{ wild[:16] }}", operator="AnyIn")
    assert compile_conditions(read_conditions([block], ()), env)(Wild()).met


def test_conditions_are_told_with_their_places():
    tracer = ListTracer(counts=False)
    compile_conditions(read_conditions({"any": [YES, NO], "all": [YES]}, ()), ENV, trace(tracer))
    assert {place[:2] for place, *_ in tracer.points} == {("any", 0), ("any", 1), ("all", 0)}
