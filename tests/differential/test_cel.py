"""CEL expressions of our own against the recorded answers of Kyverno 1.19.0.

Each is the test of a rule and, as text, its message: an answer is its value or its error.
`record_cel.py` asks again.
"""

import pytest
import record_cel as recorder
from recorded import recorded

from kyvsim.api.system import own_system
from kyvsim.engine.compile.compiled import Evaluation
from kyvsim.engine.context import request_context
from kyvsim.engine.world import GivenObjects, World
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.languages.classic.rules.validate_cel import RULE_TYPE
from kyvsim.model.policy import Rule, RuleFacts
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.policy.rule import read_rule

ROWS = recorded("cel.jsonl")
POD = with_floats(recorder.POD)


@pytest.mark.parametrize("row", ROWS, ids=[row["expression"] for row in ROWS])
def test_expression_has_the_recorded_value_or_error(row):
    data = {"validate": {"cel": recorder.cel(row["expression"])}}
    rule = Rule("r", data, (), RuleFacts(), read_rule(data, ()))
    body = RULE_TYPE.compile(RuleContext(None, rule, own_system()))
    request = AdmissionRequest(Operation.CREATE, POD, namespace="ns")
    scope = request_context(request, World(GivenObjects(())).external, {})
    assert body(Evaluation(scope, request, POD)).message == row["message"]
