"""What the server of the page answers, and what it refuses."""

import html
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "kyvsim/playground/examples"
JSON = {"Content-Type": "application/json"}
MOST = 1 << 20


def example(name):
    return {one.stem: one.read_text(encoding="utf-8") for one in (EXAMPLES / name).iterdir()}


def test_the_page_is_one_file_that_forbids_all_but_itself(served):
    status, text, headers = served.ask("GET", "/")
    text = html.unescape(text)
    assert status == 200
    assert "default-src 'none'" in text
    assert "connect-src 'self'" in text
    assert "unsafe" not in text.partition("</head>")[0].partition("<style>")[0]
    assert "http://" not in text.partition("<main")[0]
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("name", "view", "words"),
    [
        ("failing-pod", "verdicts", ["FAILED: 1 of 2 results failed", "resources.yaml:9:7"]),
        ("failing-pod", "reasons", ["wanted", "policies.yaml:18:17"]),
        ("failing-pod", "timeline", ["denied", "Timeline"]),
        ("mutation", "verdicts", ["mutated", "team: shop"]),
        ("generation", "verdicts", ["generated", "NetworkPolicy", "podSelector"]),
        ("generation", "timeline", ["background", "shop/deny-all"]),
        ("cel", "verdicts", ["at most 3 replicas, not 5", ">skip<"]),
    ],
)
def test_examples_are_answered(served, name, view, words):
    status, found = served.evaluate(**example(name), view=view)
    assert status == 200
    for word in words:
        assert word in found["html"]


def test_what_is_wrong_with_a_text_is_told_at_its_place(served):
    _, found = served.evaluate(policies="kind: [x\nspec: {}\n", resources="a: b")
    assert "policies.yaml:2:5: error KV006" in found["html"]


def test_texts_of_users_are_escaped(served):
    attack = "<img src=x onerror=alert(1)>"
    texts = example("failing-pod")
    texts["policies"] = texts["policies"].replace("An image needs", f"{attack} needs")
    for view in ("verdicts", "reasons", "timeline"):
        _, found = served.evaluate(**texts, view=view)
        assert "<img" not in found["html"]
        assert "&lt;img" in found["html"]


def test_no_text_is_an_answer(served):
    status, found = served.evaluate()
    assert status == 200
    assert "exit status" in found["html"]


HIDDEN = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
metadata: {name: values}
globalContextEntries:
  - name: all
    resourceFiles: [secret.yaml]
"""
SCENARIO = "apiVersion: kyvsim/v1\nkind: Scenario\npolicies: [secret.yaml]\nsteps: []\n"


def test_no_file_is_read(served):
    _, found = served.evaluate(**example("failing-pod"), values=HIDDEN)
    assert "values.yaml:7:5: error KV033: no file is read" in found["html"]
    assert "INCOMPLETE" in found["html"]
    _, found = served.evaluate(policies=SCENARIO, view="timeline")
    assert "policies.yaml:1:1: error KV051" in found["html"]
    assert "hidden" not in found["html"]


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ("{", 400, "this is no JSON"),
        ("[]", 400, "a question is a JSON object"),
        ('{"policy": ""}', 400, "unknown key `policy`: did you mean `policies`?"),
        ('{"policies": 1}', 400, "`policies` must be a text"),
        ('{"view": "tables"}', 400, "`view` must be one of"),
        ("[" * 100_000, 400, "this is no JSON"),
        (b"\xff\xfe\x00", 400, "this is no JSON"),
        (json.dumps({"policies": "#" * MOST}), 413, "more than 1024 KiB are not read"),
    ],
)
def test_odd_questions_get_one_clear_answer(served, body, status, text):
    found, said, _ = served.ask("POST", "/evaluate", body, JSON)
    assert found == status
    assert text in json.loads(said)["error"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/evaluate", {}, 405),
        ("POST", "/", {}, 405),
        ("GET", "/etc/passwd", {}, 404),
        ("GET", "/../secret.yaml", {}, 404),
        ("POST", "/evaluate", {"Content-Type": "text/plain"}, 415),
        ("GET", "/", {"Host": "rebound.example"}, 403),
        ("GET", "/", {"Host": "127.0.0.1"}, 403),
        ("POST", "/evaluate", {**JSON, "Origin": "http://evil.example"}, 403),
        ("POST", "/evaluate", {**JSON, "Origin": "null"}, 403),
    ],
)
def test_others_are_refused(served, method, path, headers, status):
    found, said, _ = served.ask(method, path, "{}", headers)
    assert found == status
    assert json.loads(said)["error"]


def test_its_own_page_may_ask(served):
    headers = {**JSON, "Origin": f"http://127.0.0.1:{served.port}"}
    assert served.ask("POST", "/evaluate", "{}", headers)[0] == 200
    headers = {"Host": f"localhost:{served.port}"}
    assert served.ask("GET", "/", None, headers)[0] == 200


def playground(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "kyvsim", "playground", "--no-open", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_port_that_is_taken_is_told(served):
    done = playground("--port", str(served.port))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"port {served.port} of 127.0.0.1 cannot be used: Address already in use" in done.stderr


def test_the_server_listens_on_this_machine_only(served):
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", served.port))


def test_an_interrupt_ends_it_without_a_word(served):
    assert served.ask("GET", "/")[0] == 200
    assert served.end(signal.SIGINT) == (0, "")


def test_without_its_extra_the_command_says_what_to_install():
    code = (
        "import sys; sys.modules['uvicorn'] = None;"
        "from kyvsim.cli.main import run; sys.exit(run(['playground', '--no-open']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "error: this needs the package uvicorn: pip install 'kyvsim[playground]'\n"
    )
