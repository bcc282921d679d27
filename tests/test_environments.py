"""A run says the same however Python is started, and whatever is missing around it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: groesse}
spec:
  rules:
    - name: label
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        message: "das Etikett «größe» fehlt: 大きさ"
        pattern: {metadata: {labels: {groesse: "?*"}}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: a, image: "a:1"}]}
"""
PLAIN = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
NO_HOME = {name: value for name, value in PLAIN.items() if name not in {"HOME", "XDG_CONFIG_HOME"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    (place / "policy.yaml").write_text(POLICY, "utf-8")
    (place / "pod.yaml").write_text(POD, "utf-8")
    return place


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """Return a folder with the package, that cannot be written to and has no compiled files."""
    place = tmp_path_factory.mktemp("site-packages")
    shutil.copytree(ROOT / "kyvsim", place / "kyvsim", ignore=shutil.ignore_patterns("__pycache__"))
    every = [place, *place.rglob("*")]
    for path in every:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield place
    for path in every:
        path.chmod(0o755)


def _run(folder, *options, env):
    command = [sys.executable, *options, "-m", "kyvsim", "apply", "policy.yaml", "-r", "pod.yaml"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
    return done.stdout, done.stderr, done.returncode


@pytest.fixture(scope="module")
def plain(folder):
    stdout, stderr, status = _run(folder, env=PLAIN)
    assert status == 1, stderr
    assert "«größe» fehlt: 大きさ".encode() in stdout
    return stdout, stderr, status


@pytest.mark.parametrize(
    ("options", "env"),
    [
        pytest.param(("-O",), PLAIN, id="without asserts"),
        pytest.param(("-OO",), PLAIN, id="without docstrings"),
        pytest.param(("-I",), PLAIN, id="isolated"),
        pytest.param(("-B",), PLAIN, id="-B"),
        pytest.param((), {**PLAIN, "PYTHONDONTWRITEBYTECODE": "1"}, id="writes no bytecode"),
        pytest.param(("-X", "utf8=0"), {**PLAIN, "LC_ALL": "C"}, id="locale C"),
        pytest.param(("-X", "utf8=0"), {**PLAIN, "LC_ALL": "POSIX", "LANG": ""}, id="locale POSIX"),
        pytest.param((), {**PLAIN, "PYTHONIOENCODING": "latin-1"}, id="streams in Latin-1"),
        pytest.param(("-X", "dev", "-W", "error"), PLAIN, id="warnings are errors"),
        pytest.param((), NO_HOME, id="no HOME"),
        pytest.param((), {**PLAIN, "HOME": "/nowhere"}, id="a HOME that is not there"),
        pytest.param((), {"PATH": ""}, id="no environment"),
    ],
)
def test_a_run_says_the_same(folder, plain, options, env):
    assert _run(folder, *options, env=env) == plain


def test_a_package_that_cannot_be_written_to_runs(folder, plain, read_only):
    env = {**PLAIN, "PYTHONPATH": str(read_only)}
    assert _run(folder, env=env) == plain
    where = [sys.executable, "-c", "import kyvsim; print(kyvsim.__file__)"]
    found = subprocess.run(where, cwd=folder, env=env, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(read_only))
