"""Rows of test manifests of our own against Kyverno 1.19.0's, in its reading of rows.

`record_manifests.py` asks again.
"""

import pytest
import record_manifests as recorder
from recorded import recorded

from kyvsim.api.suite import Reading, SuiteRun, run_tests

ENTRIES = recorded("manifests.jsonl")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["about"])
def test_rows_come_to_what_kyverno_says(entry, tmp_path):
    recorder.written(entry, tmp_path)
    found = run_tests(SuiteRun((str(tmp_path),), options=Reading(lenient=True)))
    (manifest,) = found.manifests
    assert entry["rows"] == recorder.rows(
        (row.policy, row.rule, row.resource, row.result, row.reason) for row in manifest.rows
    )
