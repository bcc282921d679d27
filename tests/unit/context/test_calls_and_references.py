import json

import pytest

from kyvsim.model.mocks import CallAnswer, GlobalData, Mocks
from kyvsim.model.values import Values

MAPS = "/api/v1/namespaces/{{request.namespace}}/configmaps"


def rule(**entry):
    """Return a rule that fails with what its entry `got` holds."""
    condition = {"key": "{{ got || '' }}", "operator": "NotEquals", "value": "never"}
    return {
        "context": [{"name": "got", **entry}],
        "validate": {"message": "got {{ got }}", "deny": {"conditions": {"all": [condition]}}},
    }


@pytest.fixture
def ask(run, verdicts, pod, thing):
    maps = [
        thing("ConfigMap", "b", data={"k": "2"}),
        thing("ConfigMap", "a", labels={"x": "y"}, data={"k": "1"}),
        thing("ConfigMap", "c", "bank"),
    ]

    def asked(body, values=None, given=maps):
        ((_, status, message),) = verdicts(run(body, pod(), given=given, values=values))
        if status == "fail":
            found = message.removeprefix("got ")
            return json.loads(found) if found[:1] in "[{" else found
        assert status == "error"
        return message.partition(" at path : ")[2]

    return asked


@pytest.fixture
def call(ask):
    return lambda values=None, **fields: ask(rule(apiCall=fields), values)


def mocked(*calls, **data):
    answers = {key: CallAnswer(status, body) for key, status, body in calls}
    return Values(mocks=Mocks(answers, data))


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
                "failed to parse path: version; give its answer in the values file: "
                'apiCallResponses: [{urlPath: "/version", method: GET, response: {body: {}}}]'
            ),
        ),
        (
            {"method": "POST", "service": {"url": "https://x.io/y"}},
            (
                "failed to fetch data for APICall: failed to execute HTTP request for APICall got: "
                "POST https://x.io/y: kyvsim calls no services; give its answer in the values "
                "file: apiCallResponses: "
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
    assert ask(rule(apiCall=body), given=[role]) == ["shop", False]
    assert "no RBAC objects are given" in ask(rule(apiCall=body))
    body["urlPath"] = "/api/v1/namespaces"
    assert "kyvsim answers no such call" in ask(rule(apiCall=body))


def test_a_default_stands_in_for_a_failed_call_and_is_not_queried(call):
    found = call(urlPath=f"{MAPS}/no", jmesPath="a", default={"a": 1})
    assert found == {"a": 1}


def test_values_stand_in_for_what_nobody_gave(call):
    given = Values(global_values={"got": {"items": ["v"]}})
    assert call(given, urlPath="/api/v1/secrets") == {"items": ["v"]}
    assert call(given, urlPath=f"{MAPS}/no", default="d") == {"items": ["v"]}
    assert call(given, service={"url": "http://x.io"}) == {"items": ["v"]}
    # What is given wins, an empty list of it too.
    assert call(given, urlPath=MAPS, jmesPath="items[].data.k") == ["1", "2"]
    assert call(given, urlPath="/api/v1/namespaces/no/configmaps", jmesPath="[kind, items]") == [
        "ConfigMapList",
        [],
    ]
    assert call(urlPath="/api/v1/secrets", jmesPath="[kind, items]") == ["SecretList", []]


def test_mocks_answer_first(call):
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
def test_namespaced_policies_stay_in_their_namespace(run, verdicts, policy, pod, path, problem):
    namespaced = policy(rule(apiCall={"urlPath": path, "jmesPath": "kind"}), namespace="shop")
    ((_, status, message),) = verdicts(run([namespaced], pod()))
    if problem:
        assert message.endswith(f"at path : failed to fetch data for APICall: {problem}")
    else:
        assert (status, message) == ("fail", "got ConfigMapList")


def test_config_maps_of_namespaced_policies(run, verdicts, policy, pod, thing):
    def asked(**fields):
        body = rule(configMap={"name": "m", **fields})
        condition = body["validate"]["deny"]["conditions"]["all"][0]
        condition["key"] = "{{ got.data.k }}"
        body["validate"]["message"] = "got {{ got.data.k }}"
        maps = [
            thing("ConfigMap", "m", "shop", data={"k": "mine"}),
            thing("ConfigMap", "m", "default", data={"k": "theirs"}),
        ]
        ((_, _, message),) = verdicts(run([policy(body, namespace="shop")], pod(), given=maps))
        return message

    assert asked(namespace="shop") == "got mine"
    assert asked(namespace="default").endswith(
        'configMap namespace "default" is different from policy namespace "shop"'
    )


@pytest.fixture
def refer(ask, thing):
    def kept(name, **spec):
        return thing("GlobalContextEntry", name, "", api_version="kyverno.io/v2", spec=spec)

    wanted = {"version": "v1", "resource": "configmaps", "namespace": "shop"}
    given = [
        kept(
            "maps", kubernetesResource=wanted, projections=[{"name": "n", "jmesPath": "length(@)"}]
        ),
        kept("call", apiCall={"urlPath": "/api/v1/configmaps"}),
        kept("service", apiCall={"service": {"url": "https://x.io"}}),
        thing("ConfigMap", "m", data={"k": "v"}),
    ]

    def asked(values=None, given=given, **fields):
        return ask(rule(globalReference=fields), values, given)

    return asked


def test_global_references(refer):
    assert refer(name="maps", jmesPath="[].data.k") == ["v"]
    assert refer(name="maps.n") == "1"
    assert refer(name="call", jmesPath="kind") == "ConfigMapList"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "no"}, "failed to fetch entry key=no"),
        ({"name": "service"}, "failed to fetch entry key=service"),
        ({"name": "maps.no"}, 'projection "no" not found'),
        (
            {"name": "maps", "jmesPath": "no(@)"},
            "failed to apply JMESPath no(@) for context entry got: unknown function: no",
        ),
    ],
)
def test_global_references_without_an_answer(refer, fields, message):
    start = "failed to marshal APICall data for context entry got: "
    assert refer(**fields) == start + message


def test_values_and_mocks_stand_in_for_global_data(refer):
    valued = Values(global_values={"got": {"v": "w"}})
    assert refer(valued, name="no") == {"v": "w"}
    assert refer(valued, given=[], name="no") == {"v": "w"}
    data = GlobalData({"a": {"b": [1.0]}}, "a", (("first", "b[0]"),))
    mocks = mocked((("", "https://x.io"), 200, {"s": "t"}), no=data, plain=GlobalData([{"p": "q"}]))
    assert refer(mocks, name="no") == {"first": 1}
    assert refer(mocks, name="no.first") == "1"
    assert refer(mocks, name="plain", jmesPath="[0].p") == "q"
    assert refer(mocks, name="plain.x").endswith(
        'global context mock: projection "x" requested but value is not an object'
    )
    assert refer(mocks, name="no.x").endswith('global context mock: projection "x" not found')
    assert refer(mocks, name="service") == {"s": "t"}


def test_no_global_data_leaves_the_entry_undefined(run, verdicts, pod):
    body = rule(globalReference={"name": "no"})
    body["validate"]["deny"]["conditions"]["all"][0]["key"] = "{{ got }}"
    ((_, status, message),) = verdicts(run(body, pod()))
    assert (status, message.rpartition(": ")[2]) == ("error", 'Unknown key "got" in path')


def test_images_are_errors_without_values(ask):
    entry = rule(imageRegistry={"reference": "x.io/a:{{request.namespace}}"})
    assert ask(entry) == (
        "failed to fetch image data of x.io/a:shop for context entry got: kyvsim asks no registry; "
        "give the data in the values file: globalValues: {got: {}}"
    )
    assert ask(entry, Values(global_values={"got": {"tag": "t"}})) == {"tag": "t"}
