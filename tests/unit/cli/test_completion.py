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


def test_paths_go_on_as_files_do():
    assert completed("apply", "-r", "man") == ["file,man"]
    assert completed("lint", "pol") == ["file,pol"]


def test_choices_are_completed():
    assert completed("apply", "--show", "ch") == ["plain,changes"]
