"""What runs kyvsim in pipelines: the action's steps in a shell, commands of the template."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
TEMPLATE = yaml.safe_load((ROOT / "docs/examples/gitlab-ci.yml").read_text(encoding="utf-8"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed"),
]


@pytest.fixture
def folder(tmp_path):
    """A checkout with kyvsim on the PATH, as its own start script has it."""
    for place in ("bin", "kyvsim-program"):
        start = tmp_path / place / "kyvsim"
        start.parent.mkdir()
        start.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -m kyvsim "$@"\n')
        start.chmod(0o755)
    shutil.copytree(ROOT / "policies/namespace-team", tmp_path / "pol")
    (tmp_path / "man").mkdir()
    (tmp_path / "man/n.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {team: t}}\n"
    )
    return tmp_path


def given(step, inputs):
    """Return the variables of a step, its expressions replaced by inputs."""
    return {
        name: re.sub(r"\$\{\{ (?:inputs\.)?([\w.]+) \}\}", lambda found: inputs[found[1]], text)
        for name, text in step.get("env", {}).items()
    }


def run(folder, script, **variables):
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def step_run(folder, name, **inputs):
    every = {key: one["default"] for key, one in ACTION["inputs"].items()}
    every |= {"github.event.pull_request.head.repo.fork": ""} | inputs
    return run(
        folder,
        STEPS[name]["run"],
        **given(STEPS[name], every),
        GITHUB_OUTPUT=str(folder / "output"),
        GITHUB_STEP_SUMMARY=str(folder / "summary"),
    )


@pytest.mark.parametrize("command", ["apply", "lint", "test"])
def test_each_command_has_the_formats_that_the_action_asks_for(folder, command):
    tests = str(ROOT / "fixtures/tests")
    args = {"apply": "pol -r man", "lint": "pol", "test": tests}[command]
    done = step_run(folder, "Run kyvsim", command=command, args=args)
    assert done.returncode in {0, 1}, done.stderr
    assert "Usage" not in done.stderr


def test_a_report_is_written_and_found(folder):
    done = step_run(folder, "Run kyvsim", args="pol -r man", report="sarif=out.sarif")
    assert done.returncode == 0, done.stderr
    step_run(folder, "Find the report", report="sarif=out.sarif")
    found = "file=out.sarif\nsarif=out.sarif\n"
    assert (folder / "output").read_text() == f"exit-status=0\n{found}"


@pytest.mark.parametrize(
    ("report", "more", "found"),
    [
        ("junit=out.xml", {}, "file=out.xml\n"),
        ("junit=other.xml", {}, ""),
        ("", {}, ""),
        ("sarif=out.xml", {"upload": "false"}, "file=out.xml\n"),
        ("sarif=out.xml", {"github.event.pull_request.head.repo.fork": "true"}, "file=out.xml\n"),
    ],
)
def test_another_report_is_not_uploaded(folder, report, more, found):
    (folder / "out.xml").write_text("")
    (folder / "output").write_text("")
    done = step_run(folder, "Find the report", report=report, **more)
    assert done.returncode == 0
    assert (folder / "output").read_text() == found
    assert ("::notice" in done.stdout) is ("true" in more.values())


def test_arguments_may_contain_quoted_blanks(folder):
    (folder / "man").rename(folder / "my manifests")
    done = step_run(folder, "Run kyvsim", args="pol\n--resource 'my manifests'")
    assert done.returncode == 0, done.stderr
    done = step_run(folder, "Run kyvsim", args="pol -r 'my manifests")
    assert done.returncode == 2
    assert "::error title=kyvsim::the input args has a quotation mark" in done.stdout


def test_results_are_in_the_summary_and_the_status_is_an_output(folder):
    (folder / "man/n.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    done = step_run(folder, "Run kyvsim", args="pol -r man")
    assert done.returncode == 1
    assert (folder / "output").read_text() == "exit-status=1\n"
    summary = (folder / "summary").read_text()
    assert summary.startswith("## kyvsim apply\n\n")
    assert "require-team-label" in summary
    (folder / "summary").unlink()
    step_run(folder, "Run kyvsim", args="pol -r man", summary="false")
    assert not (folder / "summary").exists()


def test_a_run_without_manifests_says_what_to_do(folder):
    done = step_run(folder, "Run kyvsim", args="pol")
    assert done.returncode == 2
    assert "--resource" in done.stderr


def test_what_inputs_hold_is_no_script(folder):
    done = step_run(folder, "Run kyvsim", args="pol -r man; touch broken $(touch broken)")
    assert done.returncode == 2
    assert not (folder / "broken").exists()
    done = step_run(folder, "Run kyvsim", args="pol -r `touch broken`")
    assert done.returncode == 2
    assert not (folder / "broken").exists()
    written = [step["run"] for step in STEPS.values() if "run" in step]
    assert not [text for text in written if "${{" in text]


def test_the_template_installs_nothing_that_was_not_named(folder):
    install = TEMPLATE[".kyvsim"]["before_script"][0]
    done = run(folder, install, **TEMPLATE["variables"])
    assert done.returncode != 0
    assert "INSTALL_KYVSIM: set this variable to a wheel of kyvsim" in done.stderr


@pytest.mark.parametrize("job", [name for name in TEMPLATE if name.startswith("kyvsim:")])
def test_jobs_of_the_template_run(folder, job):
    (folder / ".kyvsim.yaml").write_text("policies: pol\nresource: man\ntest: {tests: pol}\n")
    (script,) = TEMPLATE[job]["script"]
    done = run(folder, script, **TEMPLATE["variables"])
    assert "Usage" not in done.stderr
    assert "KV095" not in done.stderr  # its variables are not taken for options
    assert "internal" not in done.stderr
    for report in TEMPLATE[job]["artifacts"]["reports"].values():
        assert (folder / report).is_file(), done.stderr


def test_the_image_runs_as_nobody_and_starts_the_program():
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    assert lines.index("USER 65532:65532") > max(
        number for number, line in enumerate(lines) if line.startswith(("FROM", "COPY", "RUN"))
    )
    assert lines[-1] == 'ENTRYPOINT ["/opt/kyvsim/bin/python", "-I", "-m", "kyvsim"]'


def test_everything_in_the_image_has_a_version():
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    images = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert len(images) == 3
    assert all(re.search(r":\d+\.\d+\.\d+-", image) for image in images)
    programs = re.findall(r"go install \S+/(\S+)@(\S+)", text)
    assert all(re.fullmatch(r"v\d+\.\d+\.\d+", version) for _, version in programs)
    assert [name for name, _ in programs] == ["helm", "v5"]


def test_the_image_is_made_of_what_it_needs():
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    copied = re.findall(r"^COPY (?!--from)(.+) /src", text, re.MULTILINE)
    names = {name for one in copied for name in one.split()}
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in lines if line.startswith("!")} == names
    assert "*" in lines
    assert all((ROOT / name).exists() for name in names)


RECORDER = """#!/bin/sh
if [ "$2" = -c ]; then exec {real} "$@"; fi
{{ pwd; for word in "$@"; do echo "$word"; done; echo; }} >> "$RUNNER_TEMP/called"
if [ "$3" = venv ]; then mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; fi
"""


def test_the_action_installs_what_is_locked_outside_of_the_checkout(folder):
    step = STEPS["Install kyvsim"]
    assert step["working-directory"] == "${{ runner.temp }}"
    (folder / "bin/python3").write_text(RECORDER.format(real=sys.executable))
    (folder / "bin/python3").chmod(0o755)
    done = run(folder, step["run"], GITHUB_ACTION_PATH="/action", GITHUB_PATH=str(folder / "path"))
    assert done.returncode == 0, done.stderr
    calls = [one.splitlines()[1:] for one in (folder / "called").read_text().split("\n\n") if one]
    assert [one[:3] for one in calls] == [
        ["-I", "-m", "venv"],
        ["-I", "-m", "pip"],
        ["-I", "-m", "pip"],
    ]
    assert calls[1][-3:] == ["--require-hashes", "--requirement", "/action/requirements.lock"]
    assert calls[1][-5:-3] == ["--cache-dir", f"{folder}/kyvsim-downloads"]
    assert {"--no-index", "--no-deps", "--no-build-isolation", "/action"} <= {*calls[2]}
    start = (folder / "kyvsim-program/kyvsim").read_text()
    assert start == f'#!/bin/sh\nexec "{folder}/kyvsim/bin/python" -I -m kyvsim "$@"\n'
    assert (folder / "path").read_text() == f"{folder}/kyvsim-program\n"
    refused = run(folder, step["run"], RUNNER_OS="Windows")
    assert refused.returncode == 2
    assert "::error title=kyvsim::this action runs on Linux and macOS" in refused.stdout


def test_no_module_of_the_checkout_is_imported(folder):
    for name in ("json", "kyvsim", "yaml", "click", "sitecustomize"):
        (folder / f"{name}.py").write_text("raise SystemExit(99)\n")
    done = step_run(folder, "Run kyvsim", args="pol -r man")
    assert done.returncode == 0, done.stderr


def test_actions_of_others_are_pinned_by_commit():
    texts = [ROOT / "action.yml", *(ROOT / "docs").glob("*.md")]
    used = [
        one
        for path in texts
        for one in re.findall(r"uses: ([^\s<]+@\S+)", path.read_text(encoding="utf-8"))
    ]
    assert used
    assert not [one for one in used if not re.fullmatch(r"[^@]+@[0-9a-f]{40}", one)]
