"""What two releases of Kyverno answer, as `record_releases.py` recorded it."""

import json

import pytest
import record_releases as recorder
from recorded import recorded

from kyvsim.cli.main import run
from kyvsim.model.release import RELEASES

OFFLINE = "kyvsim is offline"
REDUCED = ("dial tcp", "lookup ", "resource with raw url")
"""What depends on the machine, or on the reference's fake cluster."""


def shown(rows):
    """Return rows without the texts that depend on the machine."""
    return [
        [*row[:3], "" if any(text in row[3] for text in (OFFLINE, *REDUCED)) else row[3]]
        for row in rows
    ]


def answer(release, arguments, files, folder, capsys):
    """Return the rows of a run, "refused" if it failed without any."""
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    status = run(["apply", *arguments, "--kyverno", release, "--output-format", "json"])
    out = capsys.readouterr().out
    results = json.loads(out)["results"] if out else []
    return recorder.rows_of(results) if results or status != 2 else "refused"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("case", recorded("releases.jsonl"), ids=lambda one: one["name"])
def test_cases(case, release, tmp_path, monkeypatch, capsys):
    expected = case["answers"][release]
    if expected == "died":
        pytest.skip("the reference died")
    monkeypatch.chdir(tmp_path)
    found = answer(release, case["args"], case["files"], tmp_path, capsys)
    if expected == "refused":
        assert found == "refused"
    else:
        assert found != "refused"
        assert shown(found) == shown(expected)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "case", recorded("release_expressions.jsonl"), ids=lambda one: one["expression"]
)
def test_expressions(case, release, tmp_path, monkeypatch, capsys):
    expected = case["answers"][release]
    if expected == "died":
        pytest.skip("the reference died")
    monkeypatch.chdir(tmp_path)
    files = recorder.files_of(case["expression"])
    assert answer(release, recorder.ARGUMENTS, files, tmp_path, capsys) == expected
