"""The program curl with `kubectl proxy`."""

import json

import pytest

from kyvsim.chainsaw.environment import STDERR, STDOUT, ShellEnvironment
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.shell.interpreter import Shell, parsed

API = "http://localhost:8001/api/v1/namespaces/default"
CM = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}'
MERGE = "-X PATCH -H 'Content-Type: application/merge-patch+json'"


@pytest.fixture
def sh(situation):
    """Return what runs a script after `kubectl proxy` has been started."""

    def run(script):
        shell = Shell(ShellEnvironment(situation.session), {})
        shell.run(parsed("kubectl create cm a --from-literal=x=1; kubectl proxy &"))
        shell.printed.clear()
        return shell.run(parsed(script))

    return run


def test_objects_are_read_changed_created_and_deleted(sh):
    got = json.loads(sh(f"curl -s {API}/configmaps/a").text(STDOUT))
    assert (got["kind"], got["data"]) == ("ConfigMap", {"x": "1"})
    patch = json.dumps({"data": {"y": "2"}})
    changed = json.loads(sh(f"curl {MERGE} -d '{patch}' {API}/configmaps/a").text(STDOUT))
    assert changed["data"] == {"x": "1", "y": "2"}
    assert (
        sh(f"curl -fsS -o f --data '{CM}' {API}/configmaps; kubectl get cm b -o name").text(STDOUT)
        == "configmap/b\n"
    )
    gone = "curl -X DELETE -o /dev/null {0}/configmaps/b; kubectl get cm b || echo gone"
    assert sh(gone.format(API)).text(STDOUT) == "gone\n"


def test_a_json_patch_of_a_subresource_is_sent_as_such(sh):
    patch = '[{"op": "add", "path": "/status/phase", "value": "odd"}]'
    head = "curl -X PATCH -H 'Content-Type: application/json-patch+json' -o /dev/null"
    url = "http://localhost:8001/api/v1/namespaces/default/status"
    shown = "kubectl get ns default -o jsonpath={.status.phase}"
    assert sh(f"{head} --data '{patch}' {url}; {shown}").text(STDOUT) == "odd"


def test_a_pod_is_evicted(sh):
    pod = "kubectl run p --image=nginx > /dev/null"
    evicted = f"curl -s -d '{{}}' -o /dev/null {API}/pods/p/eviction"
    assert "(NotFound)" in sh(f"{pod}; {evicted}; sleep 60; kubectl get pod p").text(STDERR)


@pytest.mark.parametrize(
    ("script", "status", "shown"),
    [
        ("curl -s http://127.0.0.1:8001/healthz > /dev/null", 0, ""),
        (f"curl -s {API}/configmaps/none | grep -q '\"code\": 404'", 0, ""),
        (f"curl -fs {API}/configmaps/none", 22, "returned error: 404"),
        (f"curl -v {API}/nothings/a 2>&1 | grep 'HTTP/1.1 404' >&2", 0, "< HTTP/1.1 404"),
        ("curl -s http://localhost:9999/api", 7, "Connection refused"),
        ("kill 4711; curl -s http://localhost:8001/api", 7, "Connection refused"),
    ],
)
def test_failures_have_curls_status(script, status, shown, sh):
    result = sh(script)
    assert result.status == status
    assert shown in result.text(STDERR)


@pytest.mark.parametrize(
    "arguments",
    [
        "http://example.com",
        "http://localhost:8001@example.com/api",
        "file:///etc/passwd",
        f"{API}/configmaps?watch=true",
        f"-X OPTIONS {API}/configmaps/a",
        f"-d @/etc/passwd {API}/configmaps",
        f"-X PATCH -d '{{}}' {API}/configmaps/a",
        f"{MERGE} -d '[' {API}/configmaps/a",
        f"-T f {API}/configmaps/a",
        "http://localhost:8001/version | cat",
        "",
    ],
)
def test_everything_else_is_unsupported(arguments, sh):
    with pytest.raises(UnsupportedError):
        sh(f"curl {arguments}")
