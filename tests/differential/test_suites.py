"""What another release of Kyverno answers to cases of the suites that 1.19.0 answered."""

import json
from pathlib import Path

import pytest
from recorded import recorded

from kyvsim.cli.main import run
from kyvsim.model.release import RELEASES
from kyvsim.yaml.text import load_all

EXPRESSIONS = Path(__file__).parents[3] / "shared/conformance/matrix/cel"
INPUTS = (
    *("--resource", "resource.yaml", "--values-file", "values.yaml"),
    *("--context-file", "context.yaml"),
)


def answers(release):
    """Return result and message by case: those of 1.19.0 are in the suite."""
    others = {one["case"]: one["answers"] for one in recorded("suites.jsonl")}
    lines = (EXPRESSIONS / "expected.jsonl").read_text("utf-8").splitlines()
    rows = map(json.loads, lines)
    first = {f"matrix-cel/{one['policy']}": [one["result"], one["message"]] for one in rows}
    return {case: known.get(release, first[case]) for case, known in others.items()}


@pytest.mark.skipif(not EXPRESSIONS.is_dir(), reason="the suites are not beside the checkout")
@pytest.mark.parametrize("release", RELEASES)
def test_cases_that_releases_answer_differently(release, tmp_path, monkeypatch, capsys):
    expected = answers(release)
    texts = (path.read_text("utf-8") for path in sorted(EXPRESSIONS.glob("policies/*.yaml")))
    policies = [one for text in texts for one in load_all(text)]
    asked = [one for one in policies if f"matrix-cel/{one['metadata']['name']}" in expected]
    file = tmp_path / "policies.yaml"
    file.write_text("\n---\n".join(map(json.dumps, asked)), "utf-8")
    monkeypatch.chdir(EXPRESSIONS)
    run(["apply", str(file), *INPUTS, "--kyverno", release, "--output-format", "json"])
    rows = json.loads(capsys.readouterr().out)["results"]
    found = {f"matrix-cel/{one['policy']}": [one["result"], one["message"]] for one in rows}
    assert found == expected
