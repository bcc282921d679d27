"""The command as people run it, and questions to its server."""

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
JSON = {"Content-Type": "application/json"}


class Served:
    """A running `kyvsim playground`."""

    def __init__(self, folder):
        # A place with files of a user: none of them may be read.
        command = [sys.executable, "-m", "kyvsim", "playground", "--port", "0", "--no-open"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        self.url = self.process.stderr.readline().split()[0]
        self.port = int(self.url.rstrip("/").rpartition(":")[2])

    def ask(self, method, path, body=None, headers=None):
        """Return the status, what is said, and the headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, body, headers or {})
            found = connection.getresponse()
            return found.status, found.read().decode(), found.headers
        finally:
            connection.close()

    def evaluate(self, **typed):
        """Return what is shown of texts, or the error."""
        status, text, _ = self.ask("POST", "/evaluate", json.dumps(typed), JSON)
        return status, json.loads(text)

    def end(self, number=signal.SIGINT):
        """End it; return its status and all that it said besides the address."""
        self.process.send_signal(number)
        _, said = self.process.communicate()
        return self.process.returncode, said


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    pytest.importorskip("starlette", reason="the extra `playground` is not installed")
    pytest.importorskip("uvicorn", reason="the extra `playground` is not installed")
    folder = tmp_path_factory.mktemp("own")
    (folder / "secret.yaml").write_text("kind: Secret\napiVersion: v1\nmetadata: {name: hidden}\n")
    one = Served(folder)
    yield one
    if one.process.poll() is None:
        one.end()
