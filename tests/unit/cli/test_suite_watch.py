"""`kyvsim test --watch`: what is shown, what it ends with, and what it refuses."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kyvsim.api.suite import INTERVAL
from kyvsim.cli import suite as suite_command
from kyvsim.cli.suite import Clock

pytestmark = pytest.mark.usefixtures("older_release")

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "fixtures/tests"
WAITS = "waiting for changes"


@pytest.fixture
def tests(tmp_path, monkeypatch):
    shutil.copytree(FIXTURES / "mutate", tmp_path / "tests/mutate")
    shutil.copytree(FIXTURES / "team", tmp_path / "tests/team")
    monkeypatch.chdir(tmp_path)
    return Path("tests")


@pytest.fixture
def watched(monkeypatch, kyvsim):
    """A function that watches while steps are done, one each time the clock sleeps."""

    def watch(arguments, *steps):
        waiting = list(steps)

        def sleep(seconds):
            if waiting:
                waiting.pop(0)()
            elif seconds == INTERVAL:
                raise KeyboardInterrupt

        clock = Clock(sleep, lambda: datetime(2026, 1, 2, 14, 3, 22, tzinfo=UTC))
        monkeypatch.setattr("kyvsim.cli.suite.MACHINE", clock)
        return kyvsim("test", "--watch", *arguments)

    return watch


def nothing():
    """Let time pass."""


def turn_round(tests):
    file = tests / "mutate/policy.yaml"
    file.write_text(file.read_text().replace("Always", "IfNotPresent"))


def test_each_round_shows_what_ran_and_how_all_stands(tests, watched):
    status, out, err = watched(["tests"], lambda: turn_round(tests))
    assert status == 1
    first, second, rest = out.split(f"{WAITS}\n")
    assert "pass  tests/team/kyverno-test.yaml" in first
    assert first.endswith("\n14:03:22  all: 11 rows in 2 manifests: 11 passed, 0 failed; ")
    assert "FAIL  tests/mutate/kyverno-test.yaml" in second
    assert "tests/team" not in second
    assert second.endswith("\n14:03:22  all: 11 rows in 2 manifests: 10 passed, 1 failed; ")
    assert rest.strip() == "FAILED: 1 of 11 rows failed · Kyverno 1.19.0 · exit status 1"
    assert err.strip() == ""


def test_the_status_is_that_of_the_last_state(tests, watched):
    manifest = tests / "team/kyverno-test.yaml"
    text = manifest.read_text()
    assert watched(["tests"])[0] == 0
    status, out, err = watched(["tests"], lambda: manifest.write_text(f"{text}nonsense: 1\n"))
    assert status == 2
    assert "2 rows in 1 manifest: 2 passed, 0 failed; 1 manifest with unusable input; " in out
    assert "nonsense" in err
    assert watched(["tests"], lambda: manifest.write_text(text))[0] == 0


def test_an_interrupt_before_anything_is_known_has_its_own_status(watched, monkeypatch):
    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("kyvsim.api.suite.read_manifests", interrupted)
    assert watched([str(FIXTURES)])[0] == 130


def test_manifests_that_go_are_named(tests, watched):
    _, out, _ = watched(["tests"], lambda: shutil.rmtree(tests / "team"))
    assert "\ndeleted  tests/team/kyverno-test.yaml\n" in out
    assert "all: 2 rows in 1 manifest: 2 passed, 0 failed" in out


def test_an_empty_folder_is_waited_on(tests, watched):
    Path("later").mkdir()
    status, out, err = watched(["later"], lambda: shutil.copytree(tests / "mutate", "later/mutate"))
    assert status == 0
    assert "there is no `kyverno-test.yaml` in or below" in err
    assert "2 rows in 1 manifest: 2 passed" in out


def test_files_get_the_report_of_everything_each_time(tests, watched):
    found = []

    def read():
        found.append(json.loads(Path("all.json").read_text())["summary"])

    def change_and_read():
        read()
        turn_round(tests)

    watched(["tests", "-o", "json=all.json"], change_and_read, nothing, read)
    assert [(one["total"], one["failed"]) for one in found] == [(11, 0), (11, 1)]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tests", "--update"], "--watch cannot be combined with --update"),
        (["tests", "--coverage"], "--watch cannot be combined with --coverage"),
        (["tests", "-o", "json"], "write json to a file with --output-format json=FILE"),
        (["tests", "-o", "junit"], "--watch prints text or table"),
        (["--create", "p.yaml", "-r", "r.yaml"], "--create cannot be combined with --watch"),
    ],
)
def test_what_watching_does_not_go_with_is_refused(tests, kyvsim, arguments, told):
    assert tests.exists()
    status, out, err = kyvsim("test", "--watch", *arguments)
    assert (status, out) == (2, "")
    assert told in err


@pytest.mark.skipif(os.name == "nt", reason="an interrupt can't be sent to a process there")
def test_the_program_sees_a_real_change_and_ends_by_an_interrupt(tests):
    # Where this runs in the background of a shell, interrupts are ignored from birth.
    start = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler)"
    start += "; runpy.run_module('kyvsim', run_name='__main__')"
    command = [sys.executable, "-c", start, "test", "--watch", "tests"]
    watching = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    hang = threading.Timer(120, watching.kill)  # only where something is broken
    hang.start()
    try:
        assert any(WAITS in line for line in watching.stdout)
        turn_round(tests)
        assert any("10 passed, 1 failed; waiting" in line for line in watching.stdout)
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate()
    finally:
        hang.cancel()
        watching.kill()
    assert (watching.returncode, err.strip()) == (1, "")


def test_nobody_reading_ends_it(monkeypatch, watched):
    monkeypatch.setattr(suite_command, "write_out", lambda *_: False)
    status, _, _ = watched([str(FIXTURES / "holes")], lambda: pytest.fail("it went on"))
    assert status == 1
