"""Conditions against the recorded verdicts of Kyverno 1.19.0 (conditions.jsonl, own cases).

`read` names the sides that the policy reads from the object; there all numbers are floats.
"""

from recorded import recorded

from kyvsim.engine.conditions import compile_conditions, operators
from kyvsim.jmespath import System
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.model.ports import Meter
from kyvsim.policy.read import read_conditions

ROWS = recorded("conditions.jsonl")


class Data:
    deleting = False

    def __init__(self, data):
        self.data = data

    def root(self, _):
        return {"request": {"object": self.data, "operation": "CREATE"}}


def condition_and_data(row):
    condition, data = {"operator": row["operator"]}, {}
    for side in ("key", "value"):
        condition[side] = row[side]
        if row["read"] in (side, "both"):
            data[side] = with_floats(row[side])
            condition[side] = f"{{{{ request.object.{side} }}}}"
    return condition, Data(data)


def test_recorded_verdicts():
    wrong = []
    for row in ROWS:
        condition, data = condition_and_data(row)
        evaluate = compile_conditions(
            read_conditions({"any": [condition]}, ()),
            System(clock=None, entropy=None, meter=Meter()),
        )
        if evaluate(data).met is not row["met"]:
            wrong.append(row)
    assert wrong == []


def test_every_operator_is_recorded_with_both_outcomes():
    seen = {(row["operator"], row["met"]) for row in ROWS}
    names = set(operators) - {"Equal", "NotEqual"}
    assert seen == {(name, met) for name in names for met in (True, False)}


def test_prepared_operators_agree_with_plain_ones():
    keys = [row["key"] for row in ROWS]
    wrong = [
        (key, row["operator"], row["value"])
        for row in ROWS[::4]
        for key in keys[::3]
        if operators[row["operator"]].test(row["value"])(key)
        is not operators[row["operator"]].holds(key, row["value"])
    ]
    assert wrong == []
