"""`kyvsim cel`: which object is looked at, and what is told of empty input."""

import json

import pytest

PODS = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop}
---
apiVersion: v1
kind: Service
metadata: {name: b, namespace: shop}
"""
NAME = "object.kind + ' ' + object.metadata.name"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "pods.yaml").write_text(PODS)
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "pod.yaml").write_text(PODS.partition("---")[0])
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
class TestObject:
    def test_of_one_object_nothing_is_said(self, kyvsim):
        assert kyvsim("cel", "eval", "-r", "pod.yaml", NAME) == (
            0,
            f'# {NAME}\nstring "Pod a"\n',
            "",
        )

    def test_of_several_the_first_is_taken_and_that_is_told(self, kyvsim):
        status, out, err = kyvsim("cel", "eval", "-r", "pods.yaml", NAME)
        assert (status, out) == (0, f'# {NAME}\nstring "Pod a"\n')
        assert err == (
            "pods.yaml:1:1: warning KV077: `object` is Pod/shop/a, the first of 3 objects: choose "
            "another with --name (`Pod/shop/a`, `Pod/shop/b`, `Service/shop/b`)\n"
        )

    @pytest.mark.parametrize("name", ["a", "Pod/a", "shop/a", "Pod/shop/a"])
    def test_a_name_chooses(self, kyvsim, name):
        status, out, err = kyvsim("cel", "eval", "-r", "pods.yaml", "--name", name, NAME)
        assert (status, out, err) == (0, f'# {NAME}\nstring "Pod a"\n', "")

    def test_the_others_can_be_looked_up(self, kyvsim):
        look = "resource.get('v1', 'services', 'shop', 'b').kind"
        _, out, _ = kyvsim("cel", "eval", "-r", "pods.yaml", "--name", "a", look)
        assert out == f'# {look}\nstring "Service"\n'

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("c", "no object is named `c`: there is `Pod/shop/a`, `Pod/shop/b`, `Service/shop/b`"),
            ("b", "several objects are named `b`: there is `Pod/shop/b`, `Service/shop/b`"),
        ],
    )
    def test_a_name_of_none_or_several_is_an_error(self, kyvsim, name, message):
        status, out, err = kyvsim("cel", "eval", "-r", "pods.yaml", "--name", name, NAME)
        assert (status, out, err) == (2, "", f"pods.yaml: error KV078: {message}\n")

    def test_a_name_needs_a_file(self, kyvsim):
        status, _, err = kyvsim("cel", "eval", "--name", "a", "1")
        assert status == 2
        assert "--name selects an object in --resource" in err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", ""], "an expression is empty"),
        (["eval", "-e", " ", "1"], "an expression is empty"),
        (["check", "\n"], "an expression is empty"),
        (["eval", "--batch", "empty"], "empty is empty: it must have at least one line"),
        (["eval", "--batch", "empty", "1"], "--batch reads its own expressions: remove the others"),
        (["eval", "-r", "empty", "1"], "empty: error KV009: this file contains no document"),
    ],
)
def test_what_is_empty_or_lost_is_an_error(kyvsim, arguments, message):
    status, out, err = kyvsim("cel", *arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_batch_answers_each_line_in_order(kyvsim, tmp_path):
    lines = [{"expr": "1 + 1"}, {"expr": "1 +"}, {"expr": "1 / 0"}, {"no": "expr"}, []]
    (tmp_path / "lines").write_text("\n\n".join(map(json.dumps, lines)))
    status, out, _ = kyvsim("cel", "eval", "--batch", f"{tmp_path}/lines")
    first, *others = map(json.loads, out.splitlines())
    assert (status, first) == (0, {"type": "int", "value": 2})
    assert [list(one) for one in others] == [["error"]] * 4


def test_each_fault_has_its_line_and_a_mark(kyvsim):
    status, _, err = kyvsim("cel", "check", "nope +\n  gone")
    assert (status, err) == (
        2,
        (
            "error: 1:1: undeclared reference to 'nope' (in container '')\n | nope +\n | ^\n"
            "error: 2:3: undeclared reference to 'gone' (in container '')\n |   gone\n | ..^\n"
        ),
    )


def test_the_namespace_of_the_object_is_known_where_it_is_given(kyvsim, tmp_path):
    namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {a: b}}}"
    (tmp_path / "all.yaml").write_text(f"{PODS.partition('---')[0]}---\n{namespace}\n")
    asked = ("cel", "eval", "-r", f"{tmp_path}/all.yaml", "--name")
    text = "namespaceObject.metadata.labels.a"
    assert kyvsim(*asked, "a", text) == (0, f'# {text}\nstring "b"\n', "")
    assert kyvsim(*asked, "shop", text)[0] == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("ValidatingPolicy", "oldObject == null", "bool false"),
        ("ValidatingAdmissionPolicy", "oldObject == null", "bool true"),
        ("ValidatingAdmissionPolicy", "namespaceObject.metadata.name", 'string "shop"'),
        ("ValidatingAdmissionPolicy", "request.operation", 'string "CREATE"'),
        ("ValidatingAdmissionPolicy", "quantity('1Ki').asInteger()", "int 1024"),
        ("MutatingAdmissionPolicy", "Object{spec: Object.spec{a: 1}}", 'Object {"spec":{"a":1}}'),
        ("MutatingAdmissionPolicy", "jsonpatch.escapeKey('a/b')", 'string "a~1b"'),
    ],
)
def test_kinds_of_kubernetes_have_their_own_values(kyvsim, kind, text, found):
    asked = ("cel", "eval", "--kind", kind, "-r", "pod.yaml", text)
    assert kyvsim(*asked) == (0, f"# {text}\n{found}\n", "")


@pytest.mark.parametrize("text", ["resource.Get('v1', 'pods', 'a', 'b')", "Object{}", "md5('a')"])
def test_kinds_of_kubernetes_know_nothing_of_kyverno(kyvsim, text):
    status, _, err = kyvsim("cel", "check", "--kind", "ValidatingAdmissionPolicy", text)
    assert status == 2
    assert "undeclared reference" in err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http.client('')", 'http.Context "(http.Context)"'),
        ("[json]", 'list ["(json.Json)"]'),
        ("image('a/b:1')", 'kyverno.image "a/b:1"'),
    ],
)
def test_what_only_functions_look_into_is_shown_by_its_type(kyvsim, text, shown):
    assert kyvsim("cel", "eval", text)[1] == f"# {text}\n{shown}\n"


@pytest.mark.parametrize(
    ("kind", "request_text", "text", "shown"),
    [
        ("HTTP", '{"attributes": {"path": "/a"}}', "object.attributes.path", 'string "/a"'),
        ("HTTP", '{"attributes": {"path": "/a"}}', "mcp.ToolsCallMethod", 'string "tools/call"'),
        (
            "Envoy",
            '{"attributes": {"request": {"http": {"method": "GET"}}}}',
            "object.attributes.request.http.?method.orValue('')",
            'string "GET"',
        ),
        (
            "Envoy",
            '{"attributes": {"request": {}}}',
            "envoy.Denied(envoy.type.v3.StatusCode.Forbidden).status",
            'envoy.type.v3.HttpStatus {"code":403}',
        ),
    ],
)
def test_modes_that_decide_on_requests_have_their_own_names(
    kyvsim, tmp_path, kind, request_text, text, shown
):
    (tmp_path / "r.json").write_text(request_text)
    found = kyvsim("cel", "eval", "--kind", kind, "-r", str(tmp_path / "r.json"), text)
    assert found == (0, f"# {text}\n{shown}\n", "")


def test_the_functions_of_modes_are_listed(kyvsim):
    _, shown, _ = kyvsim("cel", "functions", "--kind", "Envoy", "jwt.Decode", "reverse")
    assert "jwt.Decode(string, jwk.Set) -> jwt.Token" in shown
    assert "string.reverse() -> string" in shown


def test_what_is_no_request_is_told(kyvsim, tmp_path):
    (tmp_path / "r.json").write_text('{"kind": "Pod"}')
    status, _, told = kyvsim(
        "cel", "eval", "--kind", "Envoy", "-r", str(tmp_path / "r.json"), "object.attributes"
    )
    assert status == 2
    assert "KV152" in told


def test_a_request_has_no_name(kyvsim):
    status, _, told = kyvsim("cel", "eval", "--kind", "HTTP", "-r", "r.json", "--name", "a", "1")
    assert status == 2
    assert "HTTP evaluates one request" in told
