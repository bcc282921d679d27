"""Nobody changes loaded data: what is written alike may be one object in many of them."""

from pathlib import Path

import pytest

from kyvsim.cli.main import run
from kyvsim.yaml import text as yaml_text

ROOT = Path(__file__).parents[3]
MENAGERIE = "fixtures/menagerie/resources.yaml"


@pytest.fixture
def read(monkeypatch):
    """Return what is read by lines, with how it looked then."""
    found = []
    read_fast = yaml_text.read_fast

    def remembering(text, **how):
        data = read_fast(text, **how)
        found.append((data, repr(data)))
        return data

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(yaml_text, "read_fast", remembering)
    return found


@pytest.mark.parametrize(
    "command",
    [
        ["apply", "policies", "fixtures/menagerie/policies.yaml", "-r", "fixtures/resources"],
        ["apply", "fixtures/menagerie/policies.yaml", "-r", MENAGERIE, "--check-idempotent"],
        ["apply", "policies", "-r", MENAGERIE, "--output-format", "json"],
        ["apply", "policies", "-r", MENAGERIE, "-p"],
        ["apply", "fixtures/autogen", "-r", "fixtures/resources", "--diff"],
        ["test", "fixtures/tests"],
        ["simulate", "fixtures/scenarios/hung-pod.yaml"],
        ["simulate", "fixtures/scenarios/job-loop.yaml"],
    ],
    ids=" ".join,
)
def test_loaded_data_stays_as_it_is(read, command):
    run(command)
    kept = [one for one in read if one[0] is not None]
    assert kept
    assert [before for _, before in kept] == [repr(data) for data, _ in kept]
