"""Scripts by which shells complete words, and what they are answered."""

import os
import shutil
import subprocess
import sys

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(kyvsim, shell):
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    status, out, _ = kyvsim("completion", shell)
    assert (status, "_KYVSIM_COMPLETE" in out) == (0, True)


def test_another_shell_is_an_error(kyvsim):
    status, out, err = kyvsim("completion", "tcsh")
    assert (status, out, "tcsh: not one of bash, zsh, fish" in err) == (2, "", True)


def completed(*words):
    """Return how the last word may go on, as bash is told: kind and text."""
    asked = {"COMP_WORDS": " ".join(("kyvsim", *words)), "COMP_CWORD": str(len(words))}
    done = subprocess.run(
        [sys.executable, "-c", "from kyvsim.cli.main import main; main()"],
        env={**os.environ, **asked, "_KYVSIM_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.splitlines()


def test_commands_and_options_are_completed():
    assert "plain,apply" in completed("app")
    assert "plain,--exceptions-with-resources" in completed("apply", "--exceptions-wi")


@pytest.mark.slow
def test_paths_go_on_as_files_do():
    assert completed("apply", "-r", "man") == ["file,man"]
    assert completed("lint", "pol") == ["file,pol"]


def test_choices_are_completed():
    assert completed("apply", "--show", "ch") == ["plain,changes"]


@pytest.mark.slow
def test_formats_and_names_are_completed():
    assert completed("apply", "--output-format", "sa") == ["plain,sarif"]
    assert completed("rule", "KV202") == ["plain,KV202"]
    assert "plain,ClusterPolicy" in completed("schema", "ClusterPo")
    assert completed("jp", "function", "to_up") == ["plain,to_upper"]
    assert "plain,startsWith" in completed("cel", "functions", "startsW")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("typed", "word"), [("appl", "apply"), ("apply --output-format sa", "sarif")]
)
def test_fish_asks_the_program(kyvsim, tmp_path, typed, word):
    (tmp_path / "script").write_text(kyvsim("completion", "fish")[1])
    program = tmp_path / "kyvsim"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kyvsim "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["fish", "-c", f"source {tmp_path}/script; complete -C 'kyvsim {typed}'"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[:1] == [word]
