"""The hooks for pre-commit: their file, the commands they start, and real runs of pre-commit.

The real runs need the program `pre-commit` and no network: they use the hooks as the file has
them, but with the checkout's own interpreter in place of an environment that pre-commit makes.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
BY_ID = {hook["id"]: hook for hook in HOOKS}
KNOWN_KEYS = {"id", "name", "description", "entry", "args", "language", "types_or", "files"}
KNOWN_KEYS |= {"additional_dependencies", "exclude", "pass_filenames", "require_serial"}


def test_there_is_a_hook_for_each_checking_command():
    assert sorted(BY_ID) == ["kyvsim-apply", "kyvsim-lint", "kyvsim-test"]
    assert len(HOOKS) == len(BY_ID)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hooks_say_what_pre_commit_needs(hook):
    assert {"id", "name", "description", "entry", "language", "types_or"} <= hook.keys()
    assert hook.keys() <= KNOWN_KEYS
    assert hook["language"] == "python"
    assert hook["types_or"] == ["yaml", "json"]
    assert hook["require_serial"] is True
    for name in ("files", "exclude"):
        re.compile(hook.get(name, ""))


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_entries_of_hooks_run(hook):
    program, isolated, option, module, *arguments = shlex.split(hook["entry"])
    assert (program, isolated, option, module) == ("python", "-I", "-m", "kyvsim")
    done = subprocess.run(
        [sys.executable, "-I", "-m", "kyvsim", *arguments, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    command = next(one for one in arguments if not one.startswith("-"))
    assert done.stdout.startswith(f"Usage: {module} {command} ")


def locked(name):
    """Return the requirements of a lock file, by the names of packages."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [one.removesuffix(" \\") for one in lines if re.match(r"[a-z0-9]", one)]
    return {one.partition("==")[0]: one for one in found}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hooks_install_the_versions_that_are_locked(hook):
    known = locked("requirements.lock")
    installed = {one.partition("==")[0]: one for one in hook["additional_dependencies"]}
    assert installed == {name: known[name] for name in installed}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {re.split(r"[><=]", one)[0] for one in project["dependencies"]} <= installed.keys()
    assert {"cffi", "markupsafe", "pygments"} <= installed.keys()


def test_lock_files_have_hashes_and_no_addresses():
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text
        assert "index" not in text.partition("==")[0]
        assert len(locked(name)) <= text.count("--hash=sha256:")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["build-system"]["requires"] == project["dependency-groups"]["build"]
    assert "hatchling" in locked("requirements.lock")


def test_hooks_do_not_pass_without_a_look():
    # pre-commit shows what a hook says only where it fails, so warnings have to be errors.
    strict = {name for name, hook in BY_ID.items() if "--strict" in shlex.split(hook["entry"])}
    assert strict == {"kyvsim-apply", "kyvsim-test"}
    assert shlex.split(BY_ID["kyvsim-lint"]["entry"])[-1] == "--skip-others"


@pytest.mark.parametrize(
    ("path", "linted"),
    [
        ("policies/pods.yaml", True),
        ("policy/a/b.yml", True),
        ("deploy/kyverno-policies/a.json", True),
        ("deploy/kyverno/a.yaml", True),
        ("deploy/kyverno.old/a.yaml", False),
        ("charts/app/values.yaml", False),
        ("policy.yaml", False),
        (".pre-commit-config.yaml", False),
        ("policies/pods/.kyverno-test/resource.yaml", False),
        ("policies/pods/tests/resource.yaml", False),
        ("policies/pods/kyverno-test.yaml", False),
        ("policies/latest/pods.yaml", True),
    ],
)
def test_the_lint_hook_sees_files_of_policies(path, linted):
    hook = BY_ID["kyvsim-lint"]
    sees = re.search(hook["files"], path) and not re.search(hook["exclude"], path)
    assert bool(sees) == linted


POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owner}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: Name an owner., pattern: {metadata: {labels: {owner: "?*"}}}}
"""
GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {owner: ann}}\n"
TESTED = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: owner}
policies: [../../policies/owner.yaml]
resources: [../../manifests/a.yaml]
results:
- {policy: owner, rule: owner, kind: ConfigMap, resources: [a], result: pass}
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a git repository with a policy, a manifest, a test and the hooks."""
    if importlib.util.find_spec("pre_commit") is None:
        pytest.skip("pre-commit is not installed")
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    place = tmp_path / "repository"
    files = {
        "policies/owner.yaml": POLICY,
        "manifests/a.yaml": GOOD,
        "tests/owner/kyverno-test.yaml": TESTED,
        "charts/broken.yaml": "a: {{ b }}\n",
        ".pre-commit-config.yaml": yaml.safe_dump({"repos": [{"repo": "local", "hooks": hooks()}]}),
    }
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    subprocess.run(["git", "init", "--quiet", place], check=True)
    return place


def hooks():
    """Return the hooks, as local ones that need no environment made."""
    start = shlex.quote(sys.executable)
    args = {"kyvsim-apply": {"args": ["policies", "--resource", "manifests"]}}
    return [
        {
            **{key: value for key, value in hook.items() if key != "additional_dependencies"},
            "language": "system",
            "entry": start + hook["entry"].removeprefix("python"),
            **args.get(name, {}),
        }
        for name, hook in BY_ID.items()
    ]


def commit(repository):
    """Return what pre-commit says of all files, and how each hook ended."""
    subprocess.run(["git", "add", "--all"], cwd=repository, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    ended = re.findall(r"^(kyvsim \w+)\.+(\w+)$", done.stdout, re.MULTILINE)
    return done.stdout + done.stderr, dict(ended)


def ends(lint, apply, test):
    words = {True: "Passed", False: "Failed"}
    return {
        f"kyvsim {name}": words[one]
        for name, one in zip(("lint", "apply", "test"), (lint, apply, test), strict=True)
    }


def test_good_files_pass_every_hook(repository):
    said, ended = commit(repository)
    assert ended == ends(lint=True, apply=True, test=True), said


def test_a_broken_policy_fails_every_hook(repository):
    (repository / "policies/owner.yaml").write_text(POLICY.replace("pattern", "patern"))
    said, ended = commit(repository)
    assert ended == ends(lint=False, apply=False, test=False), said
    assert re.search(r"policies/owner.yaml:8:\d+: error KV012: ", said)
    assert "charts/broken.yaml" not in said


def test_a_manifest_that_a_rule_refuses_fails_what_evaluates(repository):
    (repository / "manifests/a.yaml").write_text(GOOD.replace("owner: ann", ""))
    said, ended = commit(repository)
    assert ended == ends(lint=True, apply=False, test=False), said
    assert "Name an owner." in said


def test_what_is_no_policy_beside_policies_does_not_fail_the_lint_hook(repository):
    (repository / "policies/kustomization.yaml").write_text("resources: [owner.yaml]\n")
    (repository / "policies/values.yaml").write_text("team: a\n")
    said, ended = commit(repository)
    assert ended["kyvsim lint"] == "Passed", said


def test_rules_that_meet_nothing_fail_the_apply_hook(repository):
    (repository / "manifests/a.yaml").write_text(GOOD.replace("ConfigMap", "Secret"))
    said, ended = commit(repository)
    assert ended["kyvsim apply"] == "Failed", said
    assert "KV070" in said
