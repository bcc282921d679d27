"""Policies in CEL of our own against the recorded answers of Kyverno 1.19.0.

`record_policies_in_cel.py` asks again.
"""

import json

import pytest
import record_policies_in_cel as recorder
from recorded import recorded

from kyvsim.api import ApplyInputs, open_application
from kyvsim.model.release import V_1_19_0

ENTRIES = recorded("policies_in_cel.jsonl")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return the rows of all policies, by their names."""
    place = tmp_path_factory.mktemp("policies")
    files = place / "policies.json", place / "object.json"
    documents = [*recorder.policies(ENTRIES).values()]
    files[0].write_text("\n---\n".join(map(json.dumps, documents)))
    files[1].write_text(json.dumps(recorder.OBJECT))
    application = open_application(
        ApplyInputs(policies=files[:1], resources=files[1:], release=V_1_19_0)
    )
    found = {}
    for response in application.responses:
        for one in response.responses:
            rows = [[row.rule.name, row.status.value, row.message] for row in one.results]
            found.setdefault(one.policy.key, []).extend(rows)
    return found


@pytest.mark.parametrize("index", range(len(ENTRIES)), ids=lambda index: f"p{index}")
def test_answers_of_policies_in_cel(answers, index):
    assert answers.get(f"p{index}", []) == ENTRIES[index]["rows"]
