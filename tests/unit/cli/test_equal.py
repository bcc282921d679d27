"""`kyvsim equal`: its exit statuses, its formats, and the tests that it writes."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "fixtures" / "equal"
OLD, SAME, WRONG = (
    str(ROOT / f"{name}.yaml") for name in ("registries", "registries-in-cel", "registries-wrong")
)
LONG = ("--seconds", "600")


@pytest.mark.parametrize(("new", "status"), [(SAME, 0), (WRONG, 1), ("missing.yaml", 2)])
def test_the_status_says_what_came_of_it(kyvsim, new, status):
    assert kyvsim("equal", OLD, new, *LONG)[0] == status


@pytest.mark.parametrize("command", ["equal", "migrate", "upgrade", "examples", "test"])
def test_the_time_is_no_budget(kyvsim, command):
    status, _, err = kyvsim(command, OLD, *((SAME,) if command == "equal" else ()), "--budget", "9")
    assert status == 2
    assert "--seconds N" in err


def test_what_is_not_covered_is_no_success(kyvsim):
    status, out, _ = kyvsim("equal", OLD, SAME, "--max-cases", "3")
    assert status == 1
    assert out.startswith("not covered")


def test_the_document_has_the_object_and_both_accounts(kyvsim):
    status, out, _ = kyvsim("equal", OLD, WRONG, "-o", "json", *LONG)
    found = json.loads(out)
    assert status == found["ending"]["exitStatus"] == 1
    assert found["evidence"]["answer"] == "counterexample"
    (example,) = found["evidence"]["counterexamples"]
    assert example["object"]["spec"]["initContainers"]
    assert [one["status"] for one in example["old"]["results"]] == ["fail"]
    assert [one["status"] for one in example["new"]["results"]] == ["pass"]
    assert example["old"]["decided"]["policy"]["file"] == OLD


def test_the_tests_that_are_written_pass(kyvsim, tmp_path):
    folder = tmp_path / "evidence"
    assert kyvsim("equal", OLD, WRONG, "--write-tests", str(folder), *LONG)[0] == 1
    assert {one.name for one in folder.iterdir()} == {"resources.yaml", "old", "new"}
    status, out, _ = kyvsim("test", str(folder), "-o", "json")
    results = json.loads(out)["results"]
    assert status == 0
    assert {one["policy"] for one in results} == {"own-registry"}
    assert len(results) > 10


@pytest.mark.slow
def test_a_folder_with_files_is_left_alone(kyvsim, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("mine", encoding="utf-8")
    given = ("equal", OLD, SAME, "--write-tests", str(tmp_path), *LONG)
    status, _, err = kyvsim(*given)
    assert status == 2
    assert "not empty" in err
    assert [one.name for one in tmp_path.iterdir()] == ["own.yaml"]
    assert kyvsim(*given, "--force")[0] == 0
    assert own.read_text(encoding="utf-8") == "mine"


def test_standard_input_is_one_side_only(kyvsim):
    status, _, err = kyvsim("equal", "-", "-")
    assert status == 2
    assert "not both" in err
    status, _, err = kyvsim("equal", "-", SAME, "--write-tests", "somewhere")
    assert status == 2
    assert "standard input (-)" in err


def test_one_path_on_both_sides_is_a_mistake(kyvsim, tmp_path):
    copy = tmp_path / "copy.yaml"
    copy.write_text(Path(SAME).read_text(encoding="utf-8"), encoding="utf-8")
    for other in (str(copy), f"{tmp_path}/./copy.yaml"):
        status, _, err = kyvsim("equal", str(copy), other)
        assert status == 2
        assert "OLD and NEW are the same path" in err
    status, out, _ = kyvsim("equal", SAME, str(copy))
    assert status == 0
    assert "old and new are identical" in out
