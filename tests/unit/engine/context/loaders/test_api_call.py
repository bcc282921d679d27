"""`apiCall` entries: answered by the objects given, by mocks, or by values."""

import pytest

from kyvsim.model.values import Values

OX = {"apiVersion": "x.io/v1", "kind": "Ox", "metadata": {"name": "a", "namespace": "shop"}}
OXEN = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "oxen.x.io"},
    "spec": {
        "group": "x.io",
        "names": {"kind": "Ox", "plural": "oxen"},
        "versions": [{"name": "v1", "served": True}],
    },
}
MAPS = "/api/v1/namespaces/{{request.namespace}}/configmaps"


@pytest.fixture
def call(ask):
    return lambda values=None, **fields: ask(values, apiCall=fields)


def test_a_list_is_queried(call):
    assert call(urlPath=MAPS, jmesPath="items[].data.k") == ["1", "2"]
    assert call(urlPath=f"{MAPS}?labelSelector=x%3Dy", jmesPath="items[].metadata.name") == ["a"]


def test_variables_in_the_query(call):
    path = "items[?metadata.namespace == '{{request.namespace}}'].metadata.name"
    assert call(urlPath="/api/v1/configmaps", jmesPath=path) == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"urlPath": f"{MAPS}/no"},
            (
                "failed to fetch data for APICall: failed to GET resource with raw url: "
                "/api/v1/namespaces/shop/configmaps/no: failed to get resource v1/ConfigMap/no: "
                'configmaps "no" not found'
            ),
        ),
        (
            {"urlPath": f"{MAPS}/a", "jmesPath": "data.no", "default": "d"},
            (
                "failed to store data for APICall: failed to apply JMESPath data.no for context "
                'entry got: Unknown key "no" in path'
            ),
        ),
        (
            {"urlPath": "/api/v1/{{request.object.no}}"},
            (
                "failed to fetch data for APICall: failed to substitute variables in context entry "
                "got /api/v1/{{request.object.no}}: failed to resolve request.object.no at path "
                '/urlPath: JMESPath query failed: Unknown key "no" in path'
            ),
        ),
        (
            {"urlPath": "/version"},
            (
                "failed to fetch data for APICall: failed to GET resource with raw url: /version: "
                "failed to parse path: version; add the response to the values file: "
                'apiCallResponses: [{urlPath: "/version", method: GET, response: {body: {}}}]'
            ),
        ),
        (
            {"method": "POST", "service": {"url": "https://x.io/y"}},
            (
                "failed to fetch data for APICall: failed to execute HTTP request for APICall got: "
                "POST https://x.io/y: kyvsim is offline: add the response to the values file: "
                "apiCallResponses: "
                '[{url: "https://x.io/y", method: POST, response: {body: {}}}]'
            ),
        ),
    ],
)
def test_errors_name_the_call(call, fields, message):
    assert call(**fields) == message


def test_reviews_need_rbac_objects(ask, thing):
    body = {
        "method": "POST",
        "urlPath": "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        "data": [
            {"key": "kind", "value": "SubjectAccessReview"},
            {"key": "spec", "value": {"user": "{{request.namespace}}", "resourceAttributes": {}}},
        ],
        "jmesPath": "[spec.user, status.allowed]",
    }
    role = thing("Role", api_version="rbac.authorization.k8s.io/v1", rules=[])
    assert ask(apiCall=body, given=[role]) == ["shop", False]
    assert "there are no RBAC objects" in ask(apiCall=body)
    body["urlPath"] = "/api/v1/namespaces"
    assert "kyvsim does not support this call" in ask(apiCall=body)


def test_a_default_stands_in_for_a_failed_call_and_is_not_queried(call):
    found = call(urlPath=f"{MAPS}/no", jmesPath="a", default={"a": 1})
    assert found == {"a": 1}


VALUES = (
    Values(global_values={"got": {"items": ["v"]}}),
    Values(global_values={"got.items": ["v"]}),
    Values(resource_values={("p", "web"): {"got": {"items": ["v"]}}}),
    Values(rule_values={("p", "r"): {"got": {"items": ["v"]}}}),
)


@pytest.mark.parametrize("given", VALUES)
def test_a_value_that_a_user_wrote_wins(call, given):
    assert call(given, urlPath="/api/v1/secrets") == {"items": ["v"]}
    assert call(given, urlPath=f"{MAPS}/no", default="d") == {"items": ["v"]}
    assert call(given, service={"url": "http://x.io"}) == {"items": ["v"]}
    assert call(given, urlPath=MAPS, jmesPath="items[].data.k") == {"items": ["v"]}
    assert call(given, urlPath="/api/v1/{{request.object.no}}") == {"items": ["v"]}


def test_a_kind_of_which_nothing_is_given_has_an_empty_list(call):
    assert call(urlPath="/api/v1/secrets", jmesPath="[kind, items]") == ["SecretList", []]


@pytest.mark.parametrize(
    ("path", "given", "told"),
    [
        ("/apis/x.io/v1/oxen", [], True),
        ("/apis/x.io/v1/oxen", [OX], True),
        ("/apis/x.io/v1/oxen", [OX, OXEN], False),
        ("/apis/x.io/v1/oxes", [OX], False),
        ("/api/v1/secrets", [], False),
    ],
)
def test_a_list_of_what_nobody_knows_is_empty_and_that_is_told(rule, run, pod, path, given, told):
    """The plural may be that of a kind that is given: who uniqueness matters to must hear of it."""
    response = run(rule(apiCall={"urlPath": path}), pod(), given=given)
    note = response.responses[0].results[0].note
    start = f"missing input: the kind behind {path} is unknown, so context entry `got` is empty"
    assert note.startswith(start) is told


@pytest.mark.parametrize(("kind", "hinted"), [("Pod", True), ("Secret", False)])
def test_an_empty_list_of_a_kind_that_is_not_given_has_a_hint(rule, run, pod, kind, hinted):
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "other"}}
    called = rule(apiCall={"urlPath": "/api/v1/namespaces/shop/secrets"})
    note = run(called, pod(), given=[obj]).responses[0].results[0].note
    start = "missing input: there are no existing secrets of v1 among the resources, so context "
    assert note.startswith(start) is hinted


def test_a_value_that_an_option_set_wins(call):
    assert call(Values(overrides={"got": "v"}), urlPath=MAPS) == "v"


def test_a_value_for_another_name_is_none_for_the_entry(call):
    given = Values(global_values={"other.got": "v", "request.got": "v"})
    assert call(given, urlPath=MAPS, jmesPath="items[].data.k") == ["1", "2"]


def test_mocks_answer_first(call, mocked):
    url, path = "https://x.io/y", "/api/v1/namespaces/shop/configmaps"
    given = mocked(
        (("POST", url), 200, {"from": "post"}),
        (("", url), 201, {"from": "any"}),
        (("GET", path), 200, {"from": "path"}),
        (("", "/bad"), 503, {}),
    )
    assert call(given, method="POST", service={"url": url}) == {"from": "post"}
    assert call(given, service={"url": url}, jmesPath="from") == "any"
    assert call(given, urlPath=MAPS) == {"from": "path"}
    assert call(given, urlPath="/bad", default="d") == (
        'HTTP 503 from apiCall mock for context entry "got" (v1 apiCall treats non-2xx as failure)'
    )
    assert call(given, urlPath=MAPS, jmesPath="no") == (
        'failed to apply JMESPath "no" for context entry "got": Unknown key "no" in path'
    )


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (MAPS, ""),
        (
            "/api/v1/namespaces/bank/../other/configmaps",
            (
                "path /api/v1/namespaces/other/configmaps refers to namespace other, "
                "which is different from the policy namespace shop"
            ),
        ),
        (
            "/api/v1/nodes",
            (
                "path /api/v1/nodes does not contain a namespace segment, which is required for "
                "namespaced policies"
            ),
        ),
    ],
)
def test_namespaced_policies_stay_in_their_namespace(
    rule, run, verdicts, policy, pod, path, problem
):
    namespaced = policy(rule(apiCall={"urlPath": path, "jmesPath": "kind"}), namespace="shop")
    ((_, status, message),) = verdicts(run([namespaced], pod()))
    if problem:
        assert message.endswith(f"at path : failed to fetch data for APICall: {problem}")
    else:
        assert (status, message) == ("fail", "got ConfigMapList")
