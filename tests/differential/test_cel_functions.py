"""Calls of CEL functions with fitting and odd arguments against Kyverno 1.19.0's answers.

`record_cel_functions.py` asks again.
"""

import pytest
import record_cel_functions as recorder
from recorded import recorded

from kyvsim.api import ApplyInputs, open_application
from kyvsim.model.release import V_1_19_0

pytestmark = pytest.mark.slow

ENTRIES = recorded("cel_functions.jsonl")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return the messages by the policies' names."""
    expressions = [entry["expression"] for entry in ENTRIES]
    policies, objects = map(str, recorder.written(expressions, tmp_path_factory.mktemp("asked")))
    application = open_application(
        ApplyInputs(policies=(policies,), resources=(objects,), release=V_1_19_0)
    )
    return {
        one.policy.name: result.message
        for response in application.responses
        for one in response.responses
        for result in one.results
    }


@pytest.mark.parametrize("number", range(len(ENTRIES)), ids=lambda one: ENTRIES[one]["expression"])
def test_a_call_comes_to_what_kyverno_says(said, number):
    assert said[f"p{number}"] == ENTRIES[number]["message"]
