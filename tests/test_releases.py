"""What a release needs: assembled changes, forms and workflows of the repository's host."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

from kyvsim import __version__

ROOT = Path(__file__).parents[1]
HOST = sorted((ROOT / ".github").rglob("*.yml"))
FORMS = [path for path in HOST if path.parent.name == "ISSUE_TEMPLATE" and path.stem != "config"]
CHANGELOG = runpy.run_path(str(ROOT / "docs/_site/changelog.py"))


@pytest.fixture
def root(tmp_path):
    """A folder with a changelog and fragments."""
    (tmp_path / "docs/changes").mkdir(parents=True)
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(text, encoding="utf-8")
    for name, fragment in {
        "README.md": "# Unreleased changes\n",
        "7.fixed.md": "One [page](../lint.md)\nover two lines.\n",
        "12.added.md": "- First.\n- Second, see [the file](../../SECURITY.md).\n",
        "12-more.added.md": "Third.\n",
    }.items():
        (tmp_path / "docs/changes" / name).write_text(fragment, encoding="utf-8")
    return tmp_path


def test_fragments_become_a_section(root):
    assert CHANGELOG["main"](root, "9.0.0", "2030-01-02") == 3
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    new = text[text.index("## [9.0.0]") : text.index(f"## [{__version__}]")]
    assert new == (
        "## [9.0.0] - 2030-01-02\n\n"
        "### Added\n\n- Third.\n- First.\n- Second, see [the file](SECURITY.md).\n\n"
        "### Fixed\n\n- One [page](docs/lint.md)\n  over two lines.\n\n"
    )
    assert [path.name for path in (root / "docs/changes").iterdir()] == ["README.md"]
    assert text.index("## [Unreleased]") < text.index("## [9.0.0]")


def test_a_changelog_without_the_section_is_left_alone(root):
    (root / "CHANGELOG.md").write_text("# Changelog\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no section Unreleased"):
        CHANGELOG["main"](root, "9.0.0", "2030-01-02")
    assert len(list((root / "docs/changes").iterdir())) == 4


def test_the_changelog_has_the_version():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", HOST, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path):
    used = re.findall(r"uses: *(\S+)", path.read_text(encoding="utf-8"))
    assert not [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one)]


def test_jobs_can_only_read_and_run_what_there_is():
    workflow = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert not [job for job in workflow["jobs"].values() if "permissions" in job]
    runs = [step["run"] for step in steps if "run" in step]
    named = {path for run in runs for path in run.split() if "/" in path}
    assert named
    assert all((ROOT / path).exists() for path in named)
    assert not [run for run in runs if "${{" in run]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_forms_ask_for_what_an_answer_needs(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_dependencies_of_every_kind_are_updated():
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))
    kinds = {one["package-ecosystem"] for one in updates["updates"]}
    assert kinds == {"github-actions", "docker", "pip", "npm"}


def test_the_extension_has_the_version_of_the_program():
    # Visual Studio Code knows no candidates.
    for name in ("package.json", "package-lock.json"):
        text = (ROOT / "editors/vscode" / name).read_text(encoding="utf-8")
        assert json.loads(text)["version"] == re.match(r"\d+\.\d+\.\d+", __version__)[0]


def test_pages_name_the_repository_if_it_has_an_address():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "editors/vscode/README.md"]
    form = re.compile("<this repository>|<the address of this repository>")
    without = {page.name for page in pages if form.search(page.read_text(encoding="utf-8"))}
    assert without == (set() if "urls" in project else {"ci.md", "pre-commit.md"})
