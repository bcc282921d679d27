import json
from pathlib import Path

import pytest

from kyvsim.cli.main import run

pytestmark = pytest.mark.usefixtures("older_release")

FIXTURES = Path(__file__).parents[3] / "fixtures/tests"


@pytest.fixture
def test_run(monkeypatch, capfdbinary):
    """Return status, standard output and standard error of `kyvsim test` in the fixtures."""
    monkeypatch.chdir(FIXTURES)

    def start(*arguments):
        status = run(["test", *map(str, arguments)])
        found = capfdbinary.readouterr()
        return status, found.out.decode(), found.err.decode()

    return start


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["existing", "--coverage"], 0),
        (["existing", "--coverage-threshold", "100"], 0),
        (["team", "--coverage"], 0),
        (["team", "--coverage-threshold", "0"], 0),
        (["team", "--coverage-threshold", "72.2%"], 0),
        (["team", "--coverage-threshold", "72.3"], 1),
        (["team", "--coverage-threshold", "100"], 1),
        (["team", "nowhere", "--coverage-threshold", "100"], 2),
        (["team", "--coverage-threshold", "101"], 2),
        (["team", "--coverage-threshold", "-1"], 2),
        (["team", "--coverage-threshold", "nan"], 2),
        (["team", "--coverage-threshold", "most"], 2),
        (["team", "--coverage-report", "lcov"], 2),
        (["team", "--coverage-report", "lcov="], 2),
        (["team", "--coverage-report", "pdf=x"], 2),
        (["team", "--coverage-report", "json=no/where.json"], 2),
        (["team", "-f", "other.yaml", "--coverage"], 2),
        (["team", "-f", "other.yaml", "--coverage-threshold", "1"], 2),
        (["--create", "team/policy.yaml", "-r", "team/resources.yaml", "--coverage"], 2),
        (["--create", "a", "-r", "b", "--coverage-threshold", "0"], 2),
    ],
)
def test_the_exit_status_says_whether_it_is_enough(test_run, arguments, status):
    found, _, said = test_run(*arguments)
    assert found == status
    assert "internal error" not in said


def test_too_little_is_told_in_one_line(test_run):
    _, _, said = test_run("team", "--coverage-threshold", "90")
    assert said == "error: coverage is below 90%: 72.2% (13 of 18)\n"


@pytest.mark.parametrize("option", ["--coverage", "--coverage-threshold=1"])
def test_coverage_stands_below_the_rows(test_run, option):
    _, shown, said = test_run("existing", option)
    assert shown.endswith(
        "0 failed\n\n100.0% (2 of 2)  existing/policy.yaml\ncoverage: 100.0% (2 of 2)\n\n"
        "PASSED: 2 passed · Kyverno 1.19.0 · exit status 0\n"
    )
    assert said == ""


def test_standard_output_holds_only_the_format(test_run):
    _, shown, said = test_run("existing", "--coverage", "-o", "json")
    assert json.loads(shown)["summary"]["failed"] == 0
    assert said.splitlines() == [
        "100.0% (2 of 2)  existing/policy.yaml",
        "coverage: 100.0% (2 of 2)",
        "PASSED: 2 passed · Kyverno 1.19.0 · exit status 0",
    ]


def test_reports_go_to_files(test_run, tmp_path):
    files = {name: tmp_path / name for name in ("text", "json", "lcov")}
    options = [f"--coverage-report={name}={path}" for name, path in files.items()]
    status, shown, _ = test_run("team", *options)
    assert status == 0
    assert files["text"].read_text() in shown
    assert json.loads(files["json"].read_text())["summary"]["total"] == 18
    assert files["lcov"].read_text().count("end_of_record\n") == 2


def test_the_number_of_processes_makes_no_difference(test_run):
    one, several = (test_run(".", "--coverage", "--jobs", jobs) for jobs in (1, 3))
    assert one == several
