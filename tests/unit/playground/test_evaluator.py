"""The process that evaluates what is typed: its limits, and the wall around it."""

import multiprocessing
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kyvsim.api.inline_inputs import Typed
from kyvsim.playground.evaluator import Evaluator, NoAnswerError, PageQuery, confine

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: slow}
spec:
  rules:
    - name: slow
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      validate:
        message: "no"
        deny:
          conditions:
            any:
              - key: "{{ to_string(range_of_all[]) }}"
                operator: Equals
                value: x
"""
FINE = PageQuery(Typed("apiVersion: v1", "kind: x"), "verdicts")


def many(count):
    return "---\n".join(
        f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}}}}}\n"
        for number in range(count)
    )


@pytest.mark.slow
def test_what_takes_too_long_is_given_up():
    slow = PageQuery(Typed(POLICY, many(20_000)), "verdicts")
    with (
        closing(Evaluator(0.2)) as asked,
        pytest.raises(NoAnswerError, match=r"longer than 0\.2 seconds"),
    ):
        asked.evaluate(slow)
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_process_that_died_is_replaced():
    with closing(Evaluator(60)) as asked:
        assert asked.evaluate(FINE)["html"]
        for child in multiprocessing.active_children():
            child.kill()
            child.join()
        with pytest.raises(NoAnswerError, match="crashed"):
            asked.evaluate(FINE)
        assert asked.evaluate(FINE)["html"]
    assert not multiprocessing.active_children()


ATTEMPTS = {
    "a file": lambda: open("/etc/hostname", encoding="utf-8").close(),
    "a file of the working folder": lambda: open("own.yaml", encoding="utf-8").close(),
    "a file to write": lambda: open(os.__file__, "a", encoding="utf-8").close(),
    "a number of a file": lambda: os.open("/etc/hostname", os.O_RDONLY),
    "a folder": lambda: os.listdir("/etc"),
    "a program": lambda: subprocess.run(["true"], check=False),
    "a shell": lambda: os.system("true"),
    "a connection": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
    "a file that goes": lambda: os.unlink("own.yaml"),
    "a library": lambda: __import__("ctypes").CDLL(None),
}


def _try(name, answers):
    sys.path.insert(0, os.getcwd())
    confine()
    try:
        ATTEMPTS[name]()
    except PermissionError as error:
        answers.send(str(error))
    except BaseException as error:  # noqa: BLE001 — whatever it is, it is told
        answers.send(f"{type(error).__name__}: {error}")
    else:
        answers.send("done")


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_confined_process_reaches_nothing(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text("a: b\n", encoding="utf-8")
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_try, args=(name, theirs))
    process.start()
    assert ours.poll(60)
    assert "files are not read here" in ours.recv()
    process.join()
    assert Path("own.yaml").exists()
