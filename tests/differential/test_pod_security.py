"""Rules on Pod security against the recorded answers of Kyverno 1.19.0 (own cases).

`record_pod_security.py` asks again. Violations come in any order there once something is excluded.
"""

import pytest
from recorded import recorded

from kyvsim.engine.compile.compiled import Evaluation, MatchedException
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.languages.classic.pod_security.controls import CONTROLS
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.languages.classic.rules.validate_pod_security import RULE_TYPE, compile_exclusions
from kyvsim.model.policy import Rule, RuleFacts
from kyvsim.policy.read import read_pod_security_exclusions
from kyvsim.policy.rule import read_rule

ROWS = recorded("pod_security.jsonl")
START = "(Forbidden reason: "


def answer(row):
    data = {"validate": {"podSecurity": row["podSecurity"]}}
    rule = Rule(row["rule"], data, (), RuleFacts(), read_rule(data, ()))
    body = RULE_TYPE.compile(RuleContext(None, rule, None))
    exceptions = tuple(
        MatchedException(f"x/e{at}", compile_exclusions(read_pod_security_exclusions(controls, ())))
        for at, controls in enumerate(row.get("exceptions", ()))
    )
    outcome = body(Evaluation(None, None, with_floats(row["object"]), exceptions=exceptions))
    return outcome.status.value, told(row, outcome.message)


def told(row, message):
    in_order = not row["podSecurity"].get("exclude") and not row.get("exceptions")
    return message if in_order else sorted(message.split(START))


def test_recorded_answers():
    wanted = [(row["result"], told(row, row["message"])) for row in ROWS]
    answers = [answer(row) for row in ROWS]
    pairs = zip(ROWS, wanted, answers, strict=True)
    assert [(row, given) for row, want, given in pairs if want != given] == []


@pytest.mark.parametrize("result", ["pass", "fail", "error", "skip"])
def test_every_result_is_recorded(result):
    assert sum(row["result"] == result for row in ROWS) >= 5


@pytest.mark.parametrize("name", sorted({control.name for control in CONTROLS} - {""}))
def test_every_control_is_excluded_in_some_row(name):
    entries = [entry for row in ROWS for entry in row["podSecurity"].get("exclude", ())]
    assert name in {entry["controlName"] for entry in entries}
