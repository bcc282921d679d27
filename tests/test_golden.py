"""Golden cases: `golden/<command>/<case>/` holds `cmd`, its inputs, `stdout`, `exit`, `stderr`.

`cmd` is the command line as typed in the case's folder; a first line `cd PATH` starts it elsewhere.
A file `stdin` is piped in. Without a file `stderr` nothing may be said there.
`pytest --update-golden` writes what the program says now and fails, listing what changed, so that
an update is a step of its own and a diff to review.
"""

import difflib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.parent for path in GOLDEN.glob("*/*/cmd"))


def run(case):
    """Return what the case's command gives, by file name."""
    *steps, line = (case / "cmd").read_text().strip().splitlines()
    folder = case.joinpath(*(step.removeprefix("cd ") for step in steps)).resolve()
    program, *arguments = shlex.split(line)
    assert program == "kyvsim"
    piped = case / "stdin"
    root = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-m", "kyvsim", *arguments],
        cwd=folder,
        input=piped.read_bytes() if piped.exists() else b"",
        capture_output=True,
        check=False,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": root},
    )
    return {
        "stdout": done.stdout.decode(),
        "stderr": done.stderr.decode(),
        "exit": f"{done.returncode}\n",
    }


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


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.relative_to(GOLDEN)))
def test_golden(case, request):
    now, before = run(case), expected(case)
    if request.config.getoption("--update-golden"):
        update(case, now, before)
        return
    for name, text in now.items():
        lines = difflib.unified_diff(
            before[name].splitlines(),
            text.splitlines(),
            f"golden {name}",
            f"{name} now",
            lineterm="",
        )
        assert text == before[name], "\n".join(lines)


def test_there_are_cases():
    assert CASES
