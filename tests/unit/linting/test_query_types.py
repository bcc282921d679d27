import pytest

from kyvsim.linting.query_types import typed_expressions

POD = {"any": [{"resources": {"kinds": ["Pod"]}}]}


def denied(key, value="x", operator="AnyIn", **more):
    condition = {"key": key, "operator": operator, "value": value}
    deny = {"deny": {"conditions": {"any": [condition]}}}
    return {"match": POD, "validate": deny, **more}


def shown(expression, **more):
    return {"match": POD, "validate": {"message": f"{{{{ {expression} }}}}", "deny": {}}, **more}


def entry(source, **more):
    return {"context": [{"name": "found", source: more}]}


PODS = {"urlPath": "/api/v1/namespaces/{{ request.namespace }}/pods"}
CONFIG_MAP = entry("configMap", name="a", namespace="b")


@pytest.mark.parametrize(
    ("expression", "more"),
    [
        ("request.object.spec.containers[].image", {}),
        ("request.object.spec.containers[?name == 'a'].image | [0]", {}),
        ("request.object.spec.[containers, initContainers][].image", {}),
        ("request.object.spec.containers[0].resources.limits.memory", {}),
        ("request.object.spec.containers[:2].ports[].containerPort", {}),
        ("request.object.metadata.labels.*", {}),
        ("request.object.metadata.labels.team || 'none'", {}),
        ('request.object.metadata.labels."a/b"', {}),
        ("request.object.spec.somethingOfTomorrow.name", {}),
        ("request.object.spec.overhead.cpu", {}),
        ("length(request.object.spec.containers)", {}),
        ("to_string(request.object.spec.priority)", {}),
        ("map(&image, request.object.spec.containers)", {}),
        ("sort_by(request.object.spec.containers, &name)", {}),
        ("request.object.spec.hostNetwork == `true`", {}),
        ("!(request.object.spec.hostNetwork)", {}),
        ("request.mode", {}),
        ("request.object.kind", {}),
        ("found.data.a", CONFIG_MAP),
        ("found.a", entry("apiCall", **PODS, jmesPath="items[0].metadata.labels")),
        ("found[].name", entry("apiCall", **PODS, jmesPath="items[].metadata")),
        ("found.spec.nodeName", entry("apiCall", urlPath=f"{PODS['urlPath']}/web")),
        ("found.a", entry("apiCall", urlPath="/apis/example.com/v1/things")),
        ("found[].image", entry("variable", jmesPath="request.object.spec.containers")),
        ("found.a.b", entry("variable", value={"a": {"b": 1}})),
        ("found[].b", entry("variable", jmesPath="request.object.spec.nodeName", default=[])),
    ],
)
def test_what_fits_the_types(remarks, expression, more):
    rule = shown(expression, **more)
    assert remarks(lambda policy: typed_expressions([policy], {}), rule) == []


@pytest.mark.parametrize(
    ("expression", "text", "more"),
    [
        ("request.object.spec.containers.image", "write `[].image`", {}),
        ("request.object.spec.nodeName.a", "a string has no field `a`", {}),
        ("request.object.metadata[0]", "is a map, not a list", {}),
        ("request.object.spec.containers[].ports.name", "write `[].name`", {}),
        ("request.object.spec.priority == '1'", "are never equal", {}),
        ("split(request.object.spec.containers, ',')", "takes `string`", {}),
        ("!request.object.spec.hostNetwork", "write `!(request.object.spec.hostNetwork)`", {}),
        ("found.data[]", "`found.data` is a map", CONFIG_MAP),
        ("found.spec[]", "`found.spec` is a map", entry("apiCall", urlPath="/api/v1/pods/a")),
        (
            "found.image",
            "write `[].image`",
            entry("variable", jmesPath="request.object.spec.volumes"),
        ),
    ],
)
def test_what_no_value_of_the_type_allows(remarks, expression, text, more):
    rule = shown(expression, **more)
    ((code, _, message),) = remarks(lambda policy: typed_expressions([policy], {}), rule)
    assert code == "KV350"
    assert text in message


@pytest.mark.parametrize(
    ("key", "operator", "value", "codes"),
    [
        ("spec.restartPolicy", "Equals", "Never", []),
        ("spec.restartPolicy", "NotEquals", "never", ["KV349"]),
        ("spec.restartPolicy", "AnyIn", ["Always", "On*"], []),
        ("spec.restartPolicy || ''", "Equals", "", []),
        ("kind", "Equals", "Deployment", []),
        ("kind", "Equals", "Service", ["KV349"]),
        ("spec.priority", "GreaterThan", 5, []),
        ("spec.priority", "Equals", "5", []),
        ("spec.priority", "Equals", "high", ["KV222"]),
        ("spec.priority", "AnyNotIn", "5000-6000", []),
        ("spec.hostNetwork", "Equals", True, []),
        ("spec.hostNetwork", "Equals", "true", ["KV222"]),
        ("spec.containers[].image", "AnyIn", ["*:latest"], []),
        ("spec.containers", "GreaterThan", 3, ["KV222"]),
        ("metadata.labels.team", "Equals", "true", []),
        ("spec.containers", "NotEquals", "null", []),
        ("spec.containers[].imagePullPolicy", "AnyIn", ["always"], ["KV349"]),
    ],
)
def test_conditions_on_values_of_types(remarks, key, operator, value, codes):
    rule = denied(f"{{{{ request.object.{key} }}}}", value, operator)
    found = remarks(lambda policy: typed_expressions([policy], {}), rule)
    assert [code for code, _, _ in found] == codes


def test_elements_of_loops_have_types(remarks):
    inner = {"list": "element.ports", "deny": {"conditions": {"any": []}}}
    condition = {"key": "{{ element.protocl }}", "operator": "Equals", "value": "x"}
    inner["deny"]["conditions"]["any"] = [
        condition,
        {**condition, "key": "{{ element0.image }}"},
        {**condition, "key": "{{ element1.protocol }}", "value": "http"},
    ]
    loop = {"list": "request.object.spec.containers", "foreach": [inner]}
    rule = {"match": POD, "validate": {"foreach": [loop]}}
    found = remarks(lambda policy: typed_expressions([policy], {}), rule)
    assert [code for code, _, _ in found] == ["KV328", "KV349"]
