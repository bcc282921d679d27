"""What is built of the project: the same bytes each time, and a program where it is installed."""

import email
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling builds the project: it is in the extra `test`")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PARTS = ("hatch_build.py", "kyvsim", "policies", "pyproject.toml", "README.md", "LICENSE")
BUILD = "import hatchling.build, sys; getattr(hatchling.build, sys.argv[1])(sys.argv[2])"
EPOCH = "1700000000"
PASS = ("policies/namespace-team/require-team.yaml", "-r", "namespace.yaml")


def copied(folder):
    """Copy what is built to a folder, where all files are new."""
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(
                ROOT / part, folder / part, ignore=ignored, copy_function=shutil.copyfile
            )
        else:
            shutil.copyfile(ROOT / part, folder / part)
    return folder


def built(what, source, out):
    """Build a wheel or a sdist of a copy; return its file."""
    subprocess.run(
        [sys.executable, "-c", BUILD, f"build_{what}", str(out)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
        check=True,
        capture_output=True,
    )
    (found,) = out.iterdir()
    return found


@pytest.mark.parametrize("what", ["wheel", "sdist"])
def test_the_same_files_give_the_same_bytes(tmp_path, what):
    made = []
    for name in ("one", "two"):
        place = tmp_path / name
        (place / "source").mkdir(parents=True)
        (place / "out").mkdir()
        before = os.umask(0o022 if name == "one" else 0o077)
        try:
            made.append(built(what, copied(place / "source"), place / "out"))
        finally:
            os.umask(before)
    assert made[0].name == made[1].name
    assert made[0].read_bytes() == made[1].read_bytes()


@pytest.mark.parametrize("address", ["https://host.example/owner/kyvsim", None])
def test_links_of_the_description_work_on_a_package_index(tmp_path, address):
    (tmp_path / "source").mkdir()
    (tmp_path / "out").mkdir()
    source = copied(tmp_path / "source")
    settings = (source / "pyproject.toml").read_text("utf-8")
    assert "[project.urls]" not in settings, "the address is known: use it here"
    if address:
        table = f'[project.urls]\nRepository = "{address}"\n\n[project.scripts]'
        settings = settings.replace("[project.scripts]", table, 1)
        (source / "pyproject.toml").write_text(settings, "utf-8")
    wheel = built("wheel", source, tmp_path / "out")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    description = metadata.get_payload()
    links = re.findall(r"\]\(([^)]*)\)", description)
    if address:
        base = f"{address}/blob/v{metadata['Version']}/"
        assert f"{base}docs/test.md#a-row-must-run-to-pass" in links
        assert f"{base.replace('/blob/', '/raw/')}docs/pictures/apply-light.svg" in description
    else:
        assert "| every step, with its line |" in description
        assert "<picture>" not in description
    assert "[Kyverno](https://kyverno.io)" in description
    assert not [link for link in links if not link.startswith("https://")]
    assert not re.findall(r'src(?:set)?="(?!https://)', description)
    assert metadata["Description-Content-Type"] == "text/markdown"


@pytest.mark.parametrize("what", ["wheel", "sdist"])
def test_what_is_built_installs_into_an_empty_environment_and_runs(tmp_path, what):
    (tmp_path / "source").mkdir()
    (tmp_path / "out").mkdir()
    file = built(what, copied(tmp_path / "source"), tmp_path / "out")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    # Dependencies are those of this environment: nothing is fetched. What is installed here by a
    # link alone, as this project may be, is not found in that way.
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(packages)}
    install = ("install", "--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed")
    subprocess.run(
        [python, "-m", "pip", *install, str(file)], env=env, check=True, capture_output=True
    )
    (tmp_path / "namespace.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {team: b}}\n"
    )
    shutil.copytree(ROOT / "policies/namespace-team", tmp_path / "policies/namespace-team")
    done = subprocess.run(
        [tmp_path / "venv/bin/kyvsim", "apply", *PASS],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "PASSED" in done.stdout, done.stderr
    where = "import kyvsim; print(kyvsim.__file__)"
    found = subprocess.run(
        [python, "-c", where], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith(str(tmp_path / "venv"))


def test_the_lock_file_has_all_that_the_project_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = project["dependency-groups"]
    named = [*project["project"]["dependencies"], *groups["dev"], *groups["docs"]]
    named += project["project"]["optional-dependencies"]["test"]
    wanted = {_name(one) for one in named} - {"kyvsim"}
    lines = (ROOT / "requirements-dev.lock").read_text("utf-8").splitlines()
    locked = {_name(line.partition("==")[0]) for line in lines if "==" in line}
    assert wanted <= locked


def _name(requirement):
    """Return the name of a requirement, as it is compared."""
    end = next((n for n, char in enumerate(requirement) if char in " <>=~!;["), len(requirement))
    return requirement[:end].lower().replace("_", "-")
