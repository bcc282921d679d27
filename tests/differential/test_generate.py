"""Entries of GeneratingPolicies of our own against the recorded answers of Kyverno 1.19.0.

`record_generate.py` asks again.
"""

import json

import pytest
import record_generate as recorder
from recorded import recorded

from kyvsim.api import ApplyInputs, open_application
from kyvsim.model.diagnostic import Severity
from kyvsim.model.release import V_1_19_0

ROWS = recorded("generate.jsonl")


def answer(folder, entry):
    (folder / "policy.yaml").write_text(json.dumps(recorder.policy(entry)))
    (folder / "trigger.yaml").write_text(json.dumps(recorder.TRIGGER))
    given = (str(folder / "policy.yaml"),), (str(folder / "trigger.yaml"),)
    found = open_application(ApplyInputs(*given, release=V_1_19_0))
    if any(one.severity is Severity.ERROR for one in found.diagnostics):
        return {"refused": True}
    (result,) = (
        result
        for response in found.responses
        for said in response.responses
        for result in said.results
    )
    if result.status.value == "error":
        return {"error": result.message}
    return {"generated": list(result.generated)}


INTO_A_NAMESPACE = "generator.Apply('ns', [object])"
"""Puts a Namespace into a namespace, as the reference's stand-in for a cluster lets it. In one
it is the trigger itself: see "Every difference" in docs/coming-from-kyverno.md."""


@pytest.mark.parametrize("row", ROWS, ids=[str(number) for number in range(1, len(ROWS) + 1)])
def test_entry_generates_what_was_recorded(row, tmp_path):
    expected = {name: value for name, value in row.items() if name != "entry"}
    if row["entry"].get("expression") == INTO_A_NAMESPACE:
        expected = {"generated": []}
    assert answer(tmp_path, row["entry"]) == expected
