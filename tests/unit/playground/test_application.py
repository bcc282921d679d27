"""What the server of the page answers, and what it refuses."""

import contextlib
import html
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `playground` is not installed")
pytest.importorskip("uvicorn", reason="the extra `playground` is not installed")

from kyvsim.playground import serving
from kyvsim.playground.application import _EXAMPLES, ConnectionLimits

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
        ("failing-pod", "reasons", ["expected", "policies.yaml:18:17", "1 fail, 1 pass"]),
        ("failing-pod", "timeline", ["denied", "Timeline"]),
        ("mutation", "verdicts", ["mutated", "team: shop"]),
        ("generation", "verdicts", ["generated", "NetworkPolicy", "podSelector"]),
        ("generation", "timeline", ["background", "shop/deny-all"]),
        ("cel", "verdicts", ["at most 3 replicas, not 5", ">skip<"]),
        ("deletion", "verdicts", ["jane may not delete orders"]),
        ("lookup", "verdicts", ["one of shop,search; there are 2 Deployments"]),
        ("admission", "verdicts", ["only system namespaces", "resources.yaml:16:3"]),
        ("mistakes", "verdicts", ["KV215", "The namespace must be that of the team"]),
    ],
)
def test_examples_are_answered(served, name, view, words):
    (inputs,) = (inputs for folder, _, inputs in _EXAMPLES if folder == name)
    status, found = served.evaluate(**example(name), **inputs, view=view)
    assert status == 200
    for word in words:
        assert word in found["html"]


def test_what_is_wrong_with_a_text_is_told_at_its_place(served):
    _, found = served.evaluate(policies="kind: [x\nspec: {}\n", resources="a: b")
    assert "policies.yaml:2:5: error KV006" in found["html"]


def test_diagnostics_and_failures_are_marks_with_positions(served):
    _, found = served.evaluate(**example("mistakes"))
    marks = {(one["text"], one["line"], one["severity"]): one for one in found["marks"]}
    assert marks["resources", 6, "error"]["message"].endswith("must be that of the team.")
    kinds = marks["policies", 11, "warning"]
    assert kinds["message"].startswith("KV215")
    assert (kinds["column"], kinds["end"]) == (23, 28)
    assert ("policies", 29, "warning") in marks  # only `lint` reports a deprecated operator
    _, found = served.evaluate(**example("failing-pod"), view="reasons")
    assert [(one["text"], one["line"]) for one in found["marks"]] == [("resources", 9)]


def test_the_operation_and_the_user_are_those_of_the_request(served):
    for operation, groups, denied in (
        ("DELETE", "shop", True),
        ("DELETE", "shop, operators", False),
        ("CREATE", "shop", False),
    ):
        inputs = {"operation": operation, "user": "jane", "groups": groups}
        _, found = served.evaluate(**example("deletion"), **inputs)
        assert ("jane may not delete orders" in found["html"]) is denied


def test_the_licences_of_all_packages_in_the_editor_are_there():
    assets = ROOT / "kyvsim/playground/assets"
    licences = (assets / "LICENSES.txt").read_text("utf-8")
    listed = json.loads((assets / "editor.cdx.json").read_text("utf-8"))["components"]
    assert {"@codemirror/view", "style-mod"} <= {one["name"] for one in listed}
    locked = json.loads((ROOT / "editors/playground/package-lock.json").read_text("utf-8"))
    for one in listed:
        assert f"{one['name']} {one['version']} (MIT)" in licences
        assert locked["packages"][f"node_modules/{one['name']}"]["version"] == one["version"]
    assert "resolved" not in json.dumps(locked)


def complete(served, **query):
    status, text, _ = served.ask("POST", "/complete", json.dumps(query), JSON)
    return status, json.loads(text)


def test_completions_are_those_of_the_language_server(served):
    text = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec:\n  backg"
    status, found = complete(served, text=text, line=4, column=8)
    assert status == 200
    (offer,) = (one for one in found if one["label"] == "background")
    assert offer["insert"] == "background: "
    assert offer["column"] == 3
    assert offer["kind"] == "property"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"text": "a", "line": 0, "column": 1}, "`line` must be a number from 1"),
        ({"text": "a", "line": 1, "column": True}, "`column` must be a number from 1"),
        ({"text": "a", "line": 1}, "`column` must be a number from 1"),
        ({"line": 1, "column": 1}, "`text` must be a string"),
        ({"text": "a", "line": 1, "colum": 1}, "unknown key `colum`: did you mean `column`?"),
    ],
)
def test_odd_positions_are_refused(served, query, text):
    assert complete(served, **query) == (400, {"error": text})


def test_a_position_after_the_text_has_completions_or_none(served):
    assert complete(served, text="a", line=10**9, column=10**9)[0] == 200


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
    assert "values.yaml:7:5: error KV033: files cannot be read" in found["html"]
    assert "INCOMPLETE" in found["html"]
    _, found = served.evaluate(policies=SCENARIO, view="timeline")
    assert "policies.yaml:1:1: error KV051" in found["html"]
    assert "hidden" not in found["html"]


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ("{", 400, "invalid JSON"),
        ("[]", 400, "a request must be a JSON object"),
        ('{"policy": ""}', 400, "unknown key `policy`: did you mean `policies`?"),
        ('{"policies": 1}', 400, "`policies` must be a string"),
        ('{"view": "tables"}', 400, "`view` must be one of"),
        ('{"operation": "create"}', 400, "`operation` must be one of `C"),
        ("[" * 100_000, 400, "invalid JSON"),
        (b"\xff\xfe\x00", 400, "invalid JSON"),
        (json.dumps({"policies": "#" * MOST}), 413, "more than 1024 KiB are not accepted"),
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_port_that_is_taken_is_told(served):
    done = playground("--port", str(served.port))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"port {served.port} of 127.0.0.1 cannot be used: Address already in use" in done.stderr


def test_the_server_listens_on_this_machine_only(served):
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", served.port))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"\\ud800": ""}', 'the key "\\ud800" is not a valid string'),
        (b'{"policies": "\\udfff"}', "`policies` is not a valid string"),
        (b'{"view": "\\ud800"}', "`view` is not a valid string"),
        (b'{"policies": "\xed\xa0\x80"}', "invalid JSON"),
        ('{"policies": ""}'.encode("utf-16"), "invalid JSON"),
        (b'{"policies": "\xff"}', "invalid JSON"),
        (b'{"policies": {"a": ["\\ud800"]}}', "`policies` must be a string"),
        (b'{"policies": null}', "`policies` must be a string"),
        (b'{"a":' * 50_000, "invalid JSON"),
        (b"9" * 5000, "invalid JSON"),
        (b"", "invalid JSON"),
        (b"null", "a request must be a JSON object"),
    ],
)
def test_malformed_text_is_refused(served, body, text):
    status, said, _ = served.ask("POST", "/evaluate", body, JSON)
    assert status == 400
    assert text in json.loads(said)["error"]


def test_characters_without_utf_8_that_come_of_a_text_are_answered(served):
    policies = 'apiVersion: v1\nkind: "\\uD800"\nmetadata: {name: "\\uDFFF"}\n'
    for view in ("verdicts", "reasons", "timeline"):
        status, _ = served.evaluate(policies=policies, resources=policies, view=view)
        assert status == 200


def raw(port, sent, seconds=20):
    """Return all that comes back for some bytes, until the other side ends it."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as one:
        one.sendall(sent)
        found = b""
        while piece := one.recv(1 << 16):
            found += piece
    return found


def head(port, *lines):
    fields = [f"Host: 127.0.0.1:{port}", "Content-Type: application/json", *lines]
    return "\r\n".join(["POST /evaluate HTTP/1.1", *fields, "", ""]).encode()


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "5, 6", "\u0665".encode().decode("latin-1")])
def test_an_odd_length_is_refused(served, length):
    assert raw(served.port, head(served.port, f"Content-Length: {length}")).startswith(
        b"HTTP/1.1 400 "
    )


def test_a_length_that_is_too_large_is_refused_before_anything_is_read(served):
    for length in (str(MOST + 1), "9" * 4000):
        found = raw(
            served.port, head(served.port, f"Content-Length: {length}", "Connection: close")
        )
        assert found.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 "))


class Answering:
    """Answers after it has been let."""

    def __init__(self):
        self.let = threading.Event()
        self.begun = threading.Event()

    def evaluate(self, asked):
        self.begun.set()
        self.let.wait(20)
        return {"html": "", "style": asked.view}


@pytest.fixture
def limited():
    """A function that serves with limits: the port, and what answers."""
    pytest.importorskip("starlette", reason="the extra `playground` is not installed")
    running = []

    def begin(**limits):
        answering = Answering()
        listener = serving.listening(0)
        made = serving.server(listener, answering, ConnectionLimits(**limits))
        thread = threading.Thread(target=made.run, kwargs={"sockets": [listener]})
        thread.start()
        running.append((made, thread, answering, listener))
        return listener.getsockname()[1], answering

    yield begin
    for made, thread, answering, listener in running:
        answering.let.set()
        made.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"POST /evaluate HTTP/1.1\r\nHost: x\r\nA: b\r\n"]
)
def test_a_head_that_does_not_come_ends_the_connection(limited, sent):
    port, _ = limited(header_seconds=0.2)
    assert raw(port, sent) == b""


def test_a_second_head_that_does_not_come_ends_it_too(limited):
    port, _ = limited(header_seconds=0.2)
    found = raw(port, f"GET /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\nGET / HT".encode())
    assert found.count(b"HTTP/1.1 404 ") == 1


def test_a_body_that_does_not_come_is_told(limited):
    port, _ = limited(body_seconds=0.2)
    found = raw(port, head(port, "Content-Length: 100", "Connection: close") + b"{")
    assert found.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.2 seconds" in found


def test_no_more_connections_than_there_may_be(limited):
    port, _ = limited(connections=3)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
        assert raw(port, b"").startswith(b"HTTP/1.1 503 ")


def test_a_question_waits_for_others_only_so_long(limited):
    port, answering = limited(waiting_seconds=0.2)
    asked = head(port, "Content-Length: 2", "Connection: close") + b"{}"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as first:
        first.sendall(asked)
        assert answering.begun.wait(20)
        assert raw(port, asked).startswith(b"HTTP/1.1 503 ")
        answering.let.set()
        assert first.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_a_question_takes_only_so_long_at_all(limited):
    port, _ = limited(request_seconds=0.3)
    assert raw(port, head(port, "Content-Length: 2", "Connection: close") + b"{}") == b""


def test_one_who_leaves_is_nothing_to_tell(limited, capfd):
    port, answering = limited()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
        one.sendall(head(port, "Content-Length: 100") + b"{")
    answering.let.set()
    asked = head(port, "Content-Length: 2", "Connection: close") + b"{}"
    assert raw(port, asked).startswith(b"HTTP/1.1 200 ")
    assert capfd.readouterr().err == ""


@pytest.mark.slow
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
