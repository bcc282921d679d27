"""Policies of mode JSON over payloads, and over objects as if they were payloads."""

import base64
import hmac
import json
from datetime import UTC, datetime
from types import MappingProxyType

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.load.files import Source
from kyvsim.model.request import PayloadMode

# payloads


POD = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}}"


def policy(spec, kind="ValidatingPolicy"):
    """Return a policy of mode JSON."""
    text = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": kind,
        "metadata": {"name": "p"},
        "spec": {"evaluation": {"mode": "JSON"}, **spec},
    }
    return Source("policy.yaml", json.dumps(text))


def run(given, *payloads, **more):
    """Return (rule, status, message) of all results, and the codes of what is told."""
    paths = tuple((PayloadMode.JSON, Source("p.json", json.dumps(one))) for one in payloads)
    found = open_application(ApplyInputs((given,), payloads=paths)._replace(**more))
    rows = [
        (result.rule.name, result.status.value, result.message)
        for response in found.responses
        for answer in response.responses
        for result in answer.results
    ]
    return rows, [one.code for one in found.diagnostics]


def expecting(test, **more):
    return policy({"validations": [{"expression": test, "message": "no"}], **more})


@pytest.mark.parametrize(
    ("test", "row"),
    [
        ("object.a > 1", ("", "pass", "success")),
        ("object.a > 2", ("", "fail", "no")),
        ("object.b == 1", ("", "error", "error: no such key: b")),
        ("oldObject == dyn(null)", ("", "pass", "success")),
        ("request.operation == 'CREATE'", ("", "error", "error: no such key: operation")),
        ("namespaceObject.metadata.name == ''", ("", "error", "error: no such key: metadata")),
    ],
)
def test_payloads_what_expressions_see(test, row):
    assert run(expecting(test), {"a": 2})[0] == [row]


def test_constraints_do_not_count_and_conditions_do():
    constraints = {
        "resourceRules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["configmaps"],
            }
        ]
    }
    assert run(expecting("true", matchConstraints=constraints), {})[0] == [("", "pass", "success")]
    unmet = [{"name": "a", "expression": "object.a == 1"}]
    assert run(expecting("true", matchConditions=unmet), {"a": 2.5})[0] == [("", "skip", "skip")]


def test_objects_are_judged_as_payloads():
    rows, _ = run(expecting("object.kind == 'Pod'"), resources=(Source("r.yaml", POD),))
    assert rows == [("", "pass", "success")]


def test_policies_on_objects_say_nothing_of_payloads():
    given = policy({"validations": [{"expression": "false"}], "evaluation": {}})
    assert run(given, {"a": 1})[0] == []


@pytest.mark.parametrize("payload", [{"kind": 5, "metadata": "x", "apiVersion": []}, {}])
def test_payloads_need_not_look_like_objects(payload):
    assert run(expecting("true"), payload)[0] == [("", "pass", "success")]


def images(test, **more):
    spec = {"attestors": [], "validations": [{"expression": test}]}
    return policy({**spec, **more}, "ImageValidatingPolicy")


def test_images_of_a_payload_are_what_expressions_find():
    found = [{"name": "all", "expression": "object.images"}]
    assert run(images("true", images=found), {"images": ["nginx:1"]})[0] == [
        ("p", "fail", "image nginx:1 does not have a digest")
    ]
    assert run(images("images == {}"), {"spec": {"containers": [{"image": "nginx:1"}]}})[0] == [
        ("p", "pass", "success")
    ]


def test_image_policies_on_payloads_know_no_request():
    rows, codes = run(images("request.operation == 'CREATE'"), {})
    assert rows[0][:2] == ("evaluation", "error")
    assert "undeclared reference to 'request'" in rows[0][2]
    assert "KV150" in codes


# authorization


REQUEST = {
    "attributes": {
        "method": "GET",
        "path": "/api",
        "header": {"X-Role": ["admin", "dev"], "lower": ["x"]},
        "query": {"q": ["1"]},
        "body": "aGk=",
        "contentLength": 2,
    }
}


def application(mode, validations, request, *, given="", now=None, **spec):
    """Return a run of a policy of some mode on one request."""
    policy = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "evaluation": {"mode": mode},
            "validations": [{"expression": one} for one in validations],
            **spec,
        },
    }
    return open_application(
        ApplyInputs(
            (Source("policy.yaml", json.dumps(policy)),),
            payloads=((PayloadMode(given or mode), Source("r.json", json.dumps(request))),),
            now=now,
        )
    )


def rows_of(found):
    """Return (rule, status, message) of all results."""
    return [
        (result.rule.name, result.status.value, result.message)
        for response in found.responses
        for answer in response.responses
        for result in answer.results
    ]


def run_authorization(*validations, request=REQUEST, **spec):
    """Return (rule, status, message) of all results, and what is told."""
    found = application("HTTP", validations, request, **spec)
    return rows_of(found), [one.message for one in found.diagnostics if one.code == "KV150"]


def envoy_http(**fields):
    """Return the data of a request of Envoy."""
    return {"attributes": {"request": {"http": fields}}}


LATEST = "{a: [null, y], b: x} 1.200000e+01 1.5"
NO_RESPONSE = "rule result is expected to be *authv3.CheckResponse"
ALLOWED = ("p", "pass", "request allowed")
UNDECIDED = ("p", "skip", "request does not match")


def denied(reason):
    return ("p", "fail", f"request denied, reason: {reason}")


@pytest.mark.parametrize(
    ("test", "row"),
    [
        ("object.attributes.method == 'GET'", ALLOWED),
        ("object.attributes.path.startsWith('/x')", UNDECIDED),
        ("object.attributes.Header('x-role') == ['admin', 'dev']", ALLOWED),
        ("object.attributes.Header('lower') == []", ALLOWED),
        ("object.attributes.QueryParam('q')[0] == '1'", ALLOWED),
        ("object.attributes.QueryParam('z') == []", ALLOWED),
        ("object.attributes.body == b'hi'", ALLOWED),
        ("object.attributes.contentLength == 2", ALLOWED),
        ("object.attributes.fragment == ''", ALLOWED),
        ("has(object.attributes.method)", ALLOWED),
        ("has(object.attributes.fragment)", UNDECIDED),
        ("object.attributes.?method.hasValue()", ("p", "error", "no such field: method")),
        ("object.attributes.header[?'X-Role'].hasValue()", ALLOWED),
        ("object.attributes.header['none'] == []", ("p", "error", "no such key: none")),
    ],
)
def test_authorization_what_expressions_see(test, row):
    assert run_authorization(f"{test} ? http.Allowed().Response() : null")[0] == [row]


def test_the_first_decision_counts():
    rows, _ = run_authorization(
        "null", "http.Denied('first').Response()", "http.Allowed().Response()"
    )
    assert rows == [denied("first")]


def test_variables_and_conditions():
    variables = [{"name": "m", "expression": "object.attributes.method"}]
    validation = "http.Denied(variables.m).Response()"
    assert run_authorization(validation, variables=variables)[0] == [denied("GET")]
    unmet = [{"name": "a", "expression": "object.attributes.method == 'PUT'"}]
    assert run_authorization("http.Allowed().Response()", matchConditions=unmet)[0] == [UNDECIDED]


def test_faults_are_errors_unless_they_are_to_be_ignored():
    fault = "1 / 0 == 1 ? http.Allowed().Response() : null"
    assert run_authorization(fault)[0] == [("p", "error", "division by zero")]
    assert run_authorization(fault, failurePolicy="Ignore")[0] == [UNDECIDED]


@pytest.mark.parametrize(
    ("validation", "problem"),
    [
        ("true", "rule response output is expected to be of type http.CheckResponse"),
        ("http.Allowed()", "rule response output is expected to be of type http.CheckResponse"),
        ("object.attributes.zzz == 1 ? null : null", "undefined field 'zzz'"),
        ("http.CheckResponse{zzz: 1}", "undefined field 'zzz'"),
        ("request == 1 ? null : null", "undeclared reference to 'request'"),
    ],
)
def test_what_does_not_compile_is_refused(validation, problem):
    rows, told = run_authorization(validation)
    assert rows == []
    assert problem in told[0]


@pytest.mark.parametrize(
    ("mode", "request_data", "code", "problem"),
    [
        ("HTTP", {"attributes": []}, "KV152", "`attributes`: this must be a map"),
        ("HTTP", {"attributes": {"method": 1}}, "KV152", "`attributes.method`: this must be a"),
        (
            "HTTP",
            {"attributes": {"body": "?"}},
            "KV152",
            "`attributes.body`: this must be base64",
        ),
        ("HTTP", {"attributes": {"header": {"a": "b"}}}, "KV152", "`attributes.header.a`: this"),
        ("HTTP", {"apiVersion": "v1", "kind": "Pod"}, "KV152", "none of the fields attributes"),
        ("HTTP", {"attributes": {"request": {"http": {}}}}, "KV152", "none of the fields method"),
        ("HTTP", {"attributes": {"metod": "GET", "path": "/"}}, "KV170", "did you mean `method`?"),
        ("HTTP", {"Attributes": {"path": "/"}, "more": 1}, "KV170", "unknown field `more`"),
        ("HTTP", {}, "KV171", "policies see an empty one"),
        ("Envoy", {}, "KV171", "policies see an empty one"),
        ("Envoy", {"attributes": {"method": "GET"}}, "KV152", "unknown field `method`"),
        ("Envoy", {"apiVersion": "v1", "kind": "Pod"}, "KV152", "unknown field `apiVersion`"),
        ("Envoy", {"attributes": 1}, "KV152", "`attributes`: this must be a map"),
        ("Envoy", envoy_http(headers={"a": 1}), "KV152", "headers.a`: this must be a string"),
        ("Envoy", envoy_http(size="x"), "KV152", "http.size`: this must be a whole number"),
        ("Envoy", envoy_http(rawBody="?"), "KV152", "http.rawBody`: this must be base64"),
        ("Envoy", {"attributes": {"request": {"time": "x"}}}, "KV152", "this must be a time"),
    ],
)
def test_what_is_wrong_with_a_request_is_told(mode, request_data, code, problem):
    allowed = "http.Allowed().Response()" if mode == "HTTP" else "envoy.Allowed().Response()"
    found = application(mode, (allowed,), request_data)
    told = [one for one in found.diagnostics if one.code == code]
    assert problem in told[0].message
    assert told[0].location.line
    assert len(list(found.responses)) == (code != "KV152")


def test_a_policy_for_which_there_is_no_request_is_told():
    found = application("HTTP", ("http.Allowed().Response()",), envoy_http(), given="Envoy")
    assert [one.code for one in found.diagnostics] == ["KV172"]
    (response,) = found.responses
    assert not response.responses
    (last,) = found.final_diagnostics()
    assert last.message == "no policy applies to the given input: payloads of mode `Envoy`"


@pytest.mark.parametrize(
    ("validation", "row"),
    [
        ("envoy.Allowed().Response()", ("p", "pass", "request allowed")),
        ("envoy.Denied(403).Response()", ("p", "fail", "request denied with status code 403")),
        ("null", UNDECIDED),
        ("envoy.service.auth.v3.CheckResponse{}", ("p", "error", NO_RESPONSE)),
    ],
)
def test_envoy_requests_are_decided_on(validation, row):
    found = application("Envoy", (validation,), envoy_http(method="GET"))
    assert rows_of(found) == [row]


CALL = (
    'mcp.Parse(\'{"method": "tools/call", "params": {"arguments": '
    '{"b": [true, "f", 2], "f": [1, "2.5", null]}}}\')'
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"'%s'.format([{CALL}.GetBoolSliceArgument('b', [])])", "[true, false, true]"),
        (f"'%s'.format([{CALL}.GetFloatSliceArgument('f', [])])", "[1, 2.5]"),
        (f"'%s'.format([{CALL}.GetFloatSliceArgument('g', [9.0])])", "[9]"),
        ("'%s %e %d'.format([{'b': 'x', 'a': [null, b'y']}, 12, 1.5])", LATEST),
        ("'%x %X %b %o %.1f'.format([255, 'ab', true, 8, 2])", "ff 6162 1 10 2.0"),
        ("'%s'.format([[duration('90s'), int]])", "[90s, int]"),
    ],
)
def test_functions_give_what_they_give_upstream(text, reason):
    assert run_authorization(f"http.Denied({text}).Response()")[0] == [denied(reason)]


def test_keys_are_never_fetched():
    text = "http.Denied(string(jwt.Decode('a.b.c', jwks.Fetch('http://a')).Valid)).Response()"
    ((_, status, message),) = run_authorization(text)[0]
    assert status == "error"
    assert "kyvsim is offline" in message
    assert 'jwt.Decode(token, "secret")' in message


@pytest.mark.parametrize(
    ("header", "claims", "message"),
    [
        ({"alg": []}, {}, "cannot unmarshal array into Go value of type string"),
        ({"alg": "HS256", "kid": {}}, {}, "cannot unmarshal object into Go value of type string"),
        ({"alg": "HS256"}, {"exp": "9" * 400}, "invalid value for NumericDate"),
        ({"alg": "HS256"}, {"exp": True}, "invalid value for NumericDate"),
    ],
)
def test_odd_tokens_are_errors(header, claims, message):
    token = signed(claims, header)
    text = "http.Denied(string(jwt.Decode(object.attributes.path, 'secret').Valid)).Response()"
    ((_, status, told),) = run_authorization(text, request={"attributes": {"path": token}})[0]
    assert status == "error"
    assert message in told


def test_tokens_are_valid_for_their_time():
    text = "http.Denied(string(jwt.Decode(object.attributes.path, 'secret').Valid)).Response()"
    first, last = 1_000_000_000, 1_999_999_999
    ends = ((first - 1, "false"), (first, "true"), (last, "true"), (last + 1, "false"))
    for begin in ("nbf", "iat"):
        token = signed({begin: first, "exp": last + 1})
        for second, valid in ends:
            now = datetime.fromtimestamp(second, UTC)
            found = application("HTTP", (text,), {"attributes": {"path": token}}, now=now)
            assert rows_of(found) == [denied(valid)]


def signed(claims, header=MappingProxyType({"alg": "HS256"})):
    """Return a token for claims, signed with HS256 and the key `secret`."""
    parts = (json.dumps(dict(header)).encode(), json.dumps(claims).encode())
    text = b".".join(base64.urlsafe_b64encode(one).rstrip(b"=") for one in parts)
    digest = hmac.digest(b"secret", text, "sha256")
    return (text + b"." + base64.urlsafe_b64encode(digest).rstrip(b"=")).decode()


def test_such_policies_say_nothing_of_objects_and_of_json():
    assert run_authorization("http.Allowed().Response()", request={})[0] == [ALLOWED]
