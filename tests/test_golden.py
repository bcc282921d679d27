"""Golden cases: `golden/<command>/<case>/` holds `cmd`, its inputs, `stdout`, `exit`, `stderr`.

`cmd` is the command line as typed in the case's folder; a first line `cd PATH` starts it elsewhere.
A file `stdin` is piped in. Without a file `stderr` nothing may be said there.
The version of the program is `VERSION` in them, so that a release changes none.
`pytest --update-golden` writes what the program says now and fails, listing what changed, so that
an update is a step of its own and a diff to review.
"""

import difflib
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kyvsim import __version__
from kyvsim.cli import main

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.parent for path in GOLDEN.glob("*/*/cmd"))
LONG = {"migrate/exceptions", "migrate/pod-security", "migrate/rules-json", "test/mutants-json"}
"""Cases that are slow tests: each takes more than a second."""


def read_command(case):
    """Return the folder in which a case runs, its arguments, and what is piped into it."""
    *steps, line = (case / "cmd").read_text().strip().splitlines()
    folder = case.joinpath(*(step.removeprefix("cd ") for step in steps)).resolve()
    program, *arguments = shlex.split(line)
    assert program == "kyvsim"
    piped = case / "stdin"
    return folder, arguments, piped.read_bytes() if piped.exists() else b""


@pytest.fixture
def run(monkeypatch, capfdbinary):
    """A function that runs a case and returns what it gives, by file name.

    In this process, which saves two thirds of the time; the slow tests run each as a process.
    """

    def in_this_process(case):
        folder, arguments, piped = read_command(case)
        if any("/dev/" in one for one in arguments):  # a file that pytest captures into, not a pipe
            return run_as_process(case)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped), encoding="utf-8"))
        capfdbinary.readouterr()
        status = main.run(arguments)
        written = capfdbinary.readouterr()
        return by_file(written.out, written.err, status)

    return in_this_process


def by_file(stdout, stderr, status):
    """Return outputs and status by file name."""
    texts = (one.decode().replace(__version__, "VERSION") for one in (stdout, stderr))
    return dict(zip(("stdout", "stderr"), texts, strict=True)) | {"exit": f"{status}\n"}


def run_as_process(case):
    """Return what a case's command gives as a process of its own, by file name."""
    folder, arguments, piped = read_command(case)
    root = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-m", "kyvsim", *arguments],
        cwd=folder,
        input=piped,
        capture_output=True,
        check=False,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": root},
    )
    return by_file(done.stdout, done.stderr, done.returncode)


def expected(case):
    """Return what the case's files say; a file that is missing is empty."""
    names = ("stdout", "stderr", "exit")
    return {name: (case / name).read_text() if (case / name).exists() else "" for name in names}


def update(case, now, before):
    """Write what changed and fail with its names."""
    changed = [name for name in now if now[name] != before[name]]
    for name in changed:
        if now[name]:
            (case / name).write_text(now[name])
        else:
            (case / name).unlink()
    if changed:
        pytest.fail(
            f"updated {', '.join(changed)}: review the change, then run again", pytrace=False
        )


def compare(now, before):
    """Fail with the difference where a case gives something else than its files."""
    for name, text in now.items():
        lines = difflib.unified_diff(
            before[name].splitlines(),
            text.splitlines(),
            f"golden {name}",
            f"{name} now",
            lineterm="",
        )
        assert text == before[name], "\n".join(lines)


def name_of(case):
    return case.relative_to(GOLDEN).as_posix()


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name_of(case), marks=[pytest.mark.slow] * (name_of(case) in LONG))
        for case in CASES
    ],
)
def test_golden(case, request, run):
    now, before = run(case), expected(case)
    if request.config.getoption("--update-golden"):
        update(case, now, before)
        return
    compare(now, before)


@pytest.mark.slow
@pytest.mark.parametrize("case", {case.parent: case for case in CASES}.values(), ids=name_of)
def test_golden_as_a_process(case):
    """One case of each command: what `run` does in this process is what the program does."""
    compare(run_as_process(case), expected(case))


def test_there_are_cases():
    assert CASES
