"""Policies of mode HTTP over requests in files."""

import json

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.load.files import Source
from kyvsim.model.payload import PayloadMode

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


def run(*validations, request=REQUEST, **spec):
    """Return (rule, status, message) of all results, and what is told."""
    policy = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "evaluation": {"mode": "HTTP"},
            "validations": [{"expression": one} for one in validations],
            **spec,
        },
    }
    found = open_application(
        ApplyInputs(
            (Source("policy.yaml", json.dumps(policy)),),
            payloads=((PayloadMode.HTTP, Source("r.json", json.dumps(request))),),
        )
    )
    rows = [
        (result.rule.name, result.status.value, result.message)
        for response in found.responses
        for answer in response.responses
        for result in answer.results
    ]
    return rows, [one.message for one in found.diagnostics if one.code == "KV150"]


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
def test_what_expressions_see(test, row):
    assert run(f"{test} ? http.Allowed().Response() : null")[0] == [row]


def test_the_first_decision_counts():
    rows, _ = run("null", "http.Denied('first').Response()", "http.Allowed().Response()")
    assert rows == [denied("first")]


def test_variables_and_conditions():
    variables = [{"name": "m", "expression": "object.attributes.method"}]
    validation = "http.Denied(variables.m).Response()"
    assert run(validation, variables=variables)[0] == [denied("GET")]
    unmet = [{"name": "a", "expression": "object.attributes.method == 'PUT'"}]
    assert run("http.Allowed().Response()", matchConditions=unmet)[0] == [UNDECIDED]


def test_faults_are_errors_unless_they_are_to_be_ignored():
    fault = "1 / 0 == 1 ? http.Allowed().Response() : null"
    assert run(fault)[0] == [("p", "error", "division by zero")]
    assert run(fault, failurePolicy="Ignore")[0] == [UNDECIDED]


@pytest.mark.parametrize(
    ("validation", "problem"),
    [
        ("true", "rule response output is expected to be of type http.CheckResponse"),
        ("http.Allowed()", "rule response output is expected to be of type http.CheckResponse"),
        ("object.attributes.zzz == 1 ? null : null", "undefined field 'zzz'"),
        ("object.mcp == 1 ? null : null", "undefined field 'mcp'"),
        ("jwt.Decode('a', 'b') == 1 ? null : null", "undeclared reference to 'jwt'"),
        ("request == 1 ? null : null", "undeclared reference to 'request'"),
    ],
)
def test_what_does_not_compile_is_refused(validation, problem):
    rows, told = run(validation)
    assert rows == []
    assert problem in told[0]


@pytest.mark.parametrize(
    ("request_data", "problem"),
    [
        ({"attributes": []}, "`attributes` has to be a map"),
        ({"attributes": {"method": 1}}, "`attributes.method` has to be a text"),
        ({"attributes": {"body": "?"}}, "`attributes.body` has to be in base64"),
        ({"attributes": {"header": {"a": "b"}}}, "`attributes.header` has to hold lists of texts"),
    ],
)
def test_data_that_is_no_request_is_an_error(request_data, problem):
    ((_, status, message),) = run("http.Allowed().Response()", request=request_data)[0]
    assert (status, message) == ("error", f"this payload is no HTTP request: {problem}")


def test_such_policies_say_nothing_of_objects_and_of_json():
    assert run("http.Allowed().Response()", request={})[0] == [ALLOWED]
