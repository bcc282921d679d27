import shutil
from pathlib import Path

import pytest

from kyvsim.cli.main import run

FIXTURES = Path(__file__).parents[3] / "fixtures/tests"
NAMES = ("answers", "cluster", "existing", "generate", "mutate", "operations", "team")


@pytest.fixture
def copied(tmp_path, monkeypatch):
    for name in NAMES:
        for file in ("policy.yaml", "resources.yaml"):
            (tmp_path / name).mkdir(exist_ok=True)
            shutil.copy(FIXTURES / name / file, tmp_path / name / file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def create(name, *more):
    return run(["test", "--create", f"{name}/policy.yaml", "-r", f"{name}/resources.yaml", *more])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("folder", ["new/deep", "."])
def test_what_is_created_passes_at_once(copied, capfdbinary, name, folder):
    assert create(name, "-o", folder) == 0
    assert capfdbinary.readouterr().out == b""
    assert (copied / folder / "kyverno-test.yaml").is_file()
    assert run(["test", folder, "--require-tests"]) == 0
    assert run(["test", folder, "--lenient", "--require-tests"]) == 0


def test_a_folder_of_resources_may_hold_what_is_written(copied, capfdbinary):
    (copied / "team/policy.yaml").rename(copied / "policy.yaml")
    assert run(["test", "--create", "policy.yaml", "-r", "team", "-o", "team"]) == 0
    assert run(["test", "team", "--require-tests"]) == 0
    assert b"error" not in capfdbinary.readouterr().err


def test_a_change_of_the_policy_makes_it_fail(copied, capfdbinary):
    assert create("mutate", "-o", "new") == 0
    policy = copied / "mutate/policy.yaml"
    policy.write_text(policy.read_text().replace("Always", "Never"))
    assert run(["test", "new"]) == 1
    assert b"+     imagePullPolicy: Never" in capfdbinary.readouterr().out


def test_files_are_only_overwritten_when_forced(copied, capfdbinary):
    manifest = copied / "new/kyverno-test.yaml"
    manifest.parent.mkdir()
    manifest.write_text("mine")
    assert create("mutate", "-o", "new") == 2
    assert b"kyverno-test.yaml: use --force" in capfdbinary.readouterr().err
    assert list(manifest.parent.iterdir()) == [manifest]
    assert manifest.read_text() == "mine"
    assert create("mutate", "-o", "new", "--force") == 0
    assert run(["test", "new", "--require-tests"]) == 0


def test_a_link_is_not_even_overwritten_when_forced(copied):
    (copied / "safe").write_text("safe")
    (copied / "new").mkdir()
    (copied / "new/kyverno-test.yaml").symlink_to(copied / "safe")
    assert create("mutate", "-o", "new", "--force") == 2
    assert (copied / "safe").read_text() == "safe"
    assert [one.name for one in (copied / "new").iterdir()] == ["kyverno-test.yaml"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--create"],
        ["--create", "team/policy.yaml"],
        ["--create", "-r", "team/resources.yaml"],
        ["--create", "-", "-r", "team/resources.yaml"],
        ["--create", "team/policy.yaml", "-r", "https://example.com/a.yaml"],
        ["--create", "team/policy.yaml", "-r", "team/resources.yaml", "-o", "a", "-o", "b"],
        ["--create", "team/policy.yaml", "-r", "team/resources.yaml", "--update"],
        ["--create", "team/policy.yaml", "-r", "team/resources.yaml", "--lenient"],
        ["--create", "team/policy.yaml", "-r", "team/resources.yaml", "-f", "../a.yaml"],
        ["--create", "team/policy.yaml", "-r", "nowhere.yaml"],
        ["--create", "generate/policy.yaml", "-r", "team/resources.yaml"],
        ["team", "-r", "team/resources.yaml"],
        ["team", "--force"],
        ["team", "--output", "new"],
    ],
)
def test_what_makes_no_sense_writes_nothing(copied, capfdbinary, arguments):
    before = sorted(copied.rglob("*"))
    assert run(["test", *arguments]) == 2
    assert b"error" in capfdbinary.readouterr().err
    assert sorted(copied.rglob("*")) == before


def test_policies_in_cel_have_rows_and_expected_files(copied, capfdbinary):
    golden = Path(__file__).parents[2] / "golden/test/coverage-cel"
    for file in ("policies.yaml", "resources.yaml"):
        shutil.copy(golden / file, copied / file)
    text = (copied / "policies.yaml").read_text().replace("== 'cooks'", "== 'bakers'")
    (copied / "policies.yaml").write_text(text)
    assert (
        run(["test", "--create", "policies.yaml", "-r", "resources.yaml", "--output", "new"]) == 0
    )
    written = (copied / "new/kyverno-test.yaml").read_text()
    assert all(f"policy: {name}" in written for name in ("owners", "kitchen", "menus", "names"))
    assert run(["test", "new", "--require-tests"]) == 0
    assert run(["test", "new", "--lenient", "--require-tests"]) == 0
    (copied / "policies.yaml").write_text(text.replace("'kitchen'", "'cellar'"))
    assert run(["test", "new"]) == 1
    assert run(["test", "new", "--update"]) == 1
    assert run(["test", "new"]) == 0
    capfdbinary.readouterr()
