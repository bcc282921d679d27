"""What a program that soon ends does not do: look for cycles, and take apart what it holds."""

import gc
import subprocess
import sys

import pytest

from kyvsim.cli.main import main


def test_the_program_seldom_looks_for_cycles():
    usual = gc.get_threshold()
    try:
        with pytest.raises(SystemExit):
            main(["version"])
        assert gc.isenabled()
        assert gc.get_threshold()[0] >= 50_000
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


@pytest.mark.parametrize("watching", [["-m", "cProfile", "-o"], ["-m", "trace", "--count", "-C"]])
def test_who_watches_a_run_is_asked_at_its_end(watching, tmp_path):
    kept = tmp_path / "kept"
    command = [sys.executable, *watching, str(kept), "-m", "kyvsim", "version"]
    if "trace" in watching:
        command = [sys.executable, *watching, str(kept), "--module", "kyvsim", "version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("kyvsim, version ")
    assert kept.exists()


@pytest.mark.parametrize(
    "waiting",
    [
        "import atexit; atexit.register(print, 'at the end')",
        "import threading; threading._register_atexit(print, 'at the end')",
    ],
)
def test_what_waits_for_the_end_of_a_run_is_done(waiting):
    code = (
        f"import sys; {waiting}\n"
        "from kyvsim.cli.main import main; sys.argv[1:] = ['version']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("at the end\n")
