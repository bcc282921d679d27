"""Decisions on HTTP and Envoy requests, as the reference made them."""

import json

import pytest
from recorded import recorded

from kyvsim.api import ApplyInputs, open_application
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Severity
from kyvsim.model.release import V_1_19_0
from kyvsim.model.request import PayloadMode

ENTRIES = recorded("requests.jsonl")


@pytest.mark.parametrize("entry", ENTRIES, ids=range(len(ENTRIES)))
def test_a_request_is_decided_on_as_by_the_reference(entry):
    policy = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "evaluation": {"mode": entry["mode"]},
            "validations": [{"expression": entry["expression"]}],
        },
    }
    payload = Source("payload.json", json.dumps(entry["payload"]))
    run = open_application(
        ApplyInputs(
            (Source("policy.json", json.dumps(policy)),),
            payloads=((PayloadMode(entry["mode"]), payload),),
            release=V_1_19_0,
        )
    )
    rows = [
        {"result": result.status.value, "message": result.message}
        for response in run.responses
        for answer in response.responses
        for result in answer.results
    ]
    if "refused" in entry:
        assert not rows
        first = next(one for one in run.diagnostics if one.severity is Severity.ERROR)
        assert first.message.splitlines()[0].endswith(f": {entry['refused']}")
    else:
        assert rows == [{key: entry[key] for key in ("result", "message")}]
