"""Calls of CEL functions with fitting and odd arguments against Kyverno 1.19.0's answers.

`record_cel_functions.py` asks again.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from kyvsim.api import ApplyInputs, open_application

HERE = Path(__file__)
ENTRIES = [
    json.loads(line)
    for line in HERE.with_name("cel_functions.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return the messages by the policies' names."""
    file = HERE.with_name("record_cel_functions.py")
    spec = importlib.util.spec_from_file_location("record_cel_functions", file)
    asked = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(asked)
    expressions = [entry["expression"] for entry in ENTRIES]
    policies, objects = map(str, asked.written(expressions, tmp_path_factory.mktemp("asked")))
    application = open_application(ApplyInputs(policies=(policies,), resources=(objects,)))
    return {
        one.policy.name: result.message
        for response in application.responses
        for one in response.responses
        for result in one.results
    }


@pytest.mark.parametrize("number", range(len(ENTRIES)), ids=lambda one: ENTRIES[one]["expression"])
def test_a_call_comes_to_what_kyverno_says(said, number):
    assert said[f"p{number}"] == ENTRIES[number]["message"]
