"""Rows of test manifests of our own against Kyverno 1.19.0's, in its reading of rows.

`record_manifests.py` asks again.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from kyvsim.api.suite import Reading, SuiteRun, run_tests

HERE = Path(__file__)
ENTRIES = [
    json.loads(line) for line in HERE.with_name("manifests.jsonl").read_text("utf-8").splitlines()
]


def recorder():
    file = HERE.with_name("record_manifests.py")
    spec = importlib.util.spec_from_file_location("record_manifests", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ASKED = recorder()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["about"])
def test_rows_come_to_what_kyverno_says(entry, tmp_path):
    ASKED.written(entry, tmp_path)
    found = run_tests(SuiteRun((str(tmp_path),), options=Reading(lenient=True)))
    (manifest,) = found.manifests
    assert entry["rows"] == ASKED.rows(
        (row.policy, row.rule, row.resource, row.result, row.reason) for row in manifest.rows
    )
