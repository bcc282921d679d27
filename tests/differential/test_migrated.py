"""Policies of our own and what becomes of them against the recorded answers of Kyverno 1.19.0.

`record_migrated.py` asks again: also where a policy becomes another text than it did.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from kyvsim.api import ApplyInputs, open_application

HERE = Path(__file__)
ENTRIES = [
    json.loads(line) for line in HERE.with_name("migrated.jsonl").read_text("utf-8").splitlines()
]


def recorder():
    file = HERE.with_name("record_migrated.py")
    spec = importlib.util.spec_from_file_location("record_migrated", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ASKED = recorder()


def denied(policies, objects, folder):
    files = [
        str(ASKED.written(documents, folder / name))
        for documents, name in ((policies, "p.yaml"), (objects, "o.yaml"))
    ]
    application = open_application(ApplyInputs(policies=(files[0],), resources=(files[1],)))
    return sorted(
        {
            response.trigger["metadata"]["name"]
            for response in application.responses
            for one in response.responses
            for result in one.results
            if result.status.value in {"fail", "error"}
        }
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: one["policy"]["metadata"]["name"])
def test_a_converted_policy_denies_what_the_reference_denies_before(entry, tmp_path):
    assert entry["denied"]["new"] == entry["denied"]["old"]
    assert entry["denied"]["old"]
    assert ASKED.converted(entry["policy"]) == entry["becomes"]
    for side, policies in (("old", [entry["policy"]]), ("new", entry["becomes"])):
        assert denied(policies, entry["objects"], tmp_path) == entry["denied"][side]
