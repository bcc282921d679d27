"""Policies in CEL of our own against the recorded answers of Kyverno 1.19.0.

`record_policies_in_cel.py` asks again.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from kyvsim.api import ApplyInputs, open_application

HERE = Path(__file__)
ENTRIES = [
    json.loads(line)
    for line in HERE.with_name("policies_in_cel.jsonl").read_text("utf-8").splitlines()
]


def recorder():
    file = HERE.with_name("record_policies_in_cel.py")
    spec = importlib.util.spec_from_file_location("record_policies_in_cel", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return the rows of all policies, by their names."""
    place, asked = tmp_path_factory.mktemp("policies"), recorder()
    files = place / "policies.json", place / "object.json"
    documents = [*asked.policies(ENTRIES).values()]
    files[0].write_text("\n---\n".join(map(json.dumps, documents)))
    files[1].write_text(json.dumps(asked.OBJECT))
    application = open_application(ApplyInputs(policies=files[:1], resources=files[1:]))
    found = {}
    for response in application.responses:
        for one in response.responses:
            rows = [[row.rule.name, row.status.value, row.message] for row in one.results]
            found.setdefault(one.policy.key, []).extend(rows)
    return found


@pytest.mark.parametrize("index", range(len(ENTRIES)), ids=lambda index: f"p{index}")
def test_answers_of_policies_in_cel(answers, index):
    assert answers.get(f"p{index}", []) == ENTRIES[index]["rows"]
