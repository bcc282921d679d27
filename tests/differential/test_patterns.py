"""Patterns against the recorded answers of Kyverno 1.19.0 (patterns.jsonl, own cases).

Both stand under `spec`; `path` is recorded for failures, `message` for skips and errors.
"""

import pytest
from recorded import recorded

from kyvsim.engine.pattern import compile_pattern
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.policy.read import pattern_node

ROWS = recorded("patterns.jsonl")


def answer(row):
    matches = compile_pattern(pattern_node({"spec": row["pattern"]}, ()))
    failure = matches({"spec": with_floats(row["object"])})
    if failure is None:
        return {"result": "pass"}
    if failure.path:
        return {"result": failure.kind.value, "path": failure.path}
    return {"result": failure.kind.value, "message": failure.message}


def test_recorded_answers():
    wrong = [(row, answer(row)) for row in ROWS if not answer(row).items() <= row.items()]
    assert wrong == []


@pytest.mark.parametrize("result", ["pass", "fail", "skip", "error"])
def test_every_outcome_is_recorded(result):
    assert sum(row["result"] == result for row in ROWS) >= 20
