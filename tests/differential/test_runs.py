"""Whole runs of `apply` over policies of our own against Kyverno 1.19.0's answers.

`record_runs.py` asks again.
"""

import pytest
import record_runs as recorder
from recorded import recorded

from kyvsim.api import ApplyInputs, open_application
from kyvsim.model.release import V_1_19_0
from kyvsim.model.result import report_message

ENTRIES = recorded("runs.jsonl")


def answer(entry, folder):
    """Return rows and the objects that were changed or generated."""
    paths = {name: str(path) for name, path in recorder.written(entry, folder).items()}
    application = open_application(
        ApplyInputs(
            policies=(paths["policies"],),
            resources=(paths["objects"],),
            exceptions=tuple(paths[name] for name in ("exceptions",) if name in paths),
            values_file=paths.get("values", ""),
            userinfo=paths.get("userinfo", ""),
            release=V_1_19_0,
        )
    )
    rows, made = [], []
    for response in application.responses:
        for one in response.responses:
            subject = response.trigger
            made += [one.object] if one.changed else []
            for result in one.results:
                status = result.status.value
                told = (one.policy.name, result.rule.name, named(subject), status)
                rows.append([*told, report_message(result, status)])
                made += result.generated
    return {"rows": sorted(rows), "left": recorder.left(made, entry)}


def named(obj):
    return recorder.named({"kind": obj.get("kind"), **(obj.get("metadata") or {})})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["about"])
def test_what_a_run_says_and_leaves(entry, tmp_path):
    found = answer(entry, tmp_path)
    assert found["rows"] == entry["rows"]
    assert list(map(recorder.text, found["left"])) == list(map(recorder.text, entry["left"]))
