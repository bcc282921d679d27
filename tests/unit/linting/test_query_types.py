import pytest

from kyvsim.linting.query_types import typed_expressions
from kyvsim.model.source import Document, Location

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
        ("found == 'x'", entry("variable", jmesPath="request.object.spec.priority", default="x")),
        ("[request.object.metadata.name, request.object.spec.priority][?@ == '1']", {}),
        ("request.object.{a: metadata.name, b: spec.priority}.a == 'x'", {}),
        ("request.object.{a: b.c}.a == 'x'", {}),
        ("not_null(request.object.spec.priority, 'x') | [@][?@ == 'x']", {}),
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
        ("request.object.spec.priority == '1'", "(write `1` in backticks", {}),
        ("request.object.spec.[hostPID, hostIPC][?@ == 'true']", "(write `true` in", {}),
        ("request.object.spec.{p: hostPID}.p == 'true'", "(write `true` in", {}),
        ("(request.object.spec.containers || `[]`)[?tty == 'true']", "(write `true` in", {}),
        ("sort_by(request.object.spec.containers, &name)[?tty == 'true']", "(write `true` in", {}),
        ("map(&tty, request.object.spec.containers)[?@ == 'true']", "(write `true` in", {}),
        (
            "found[?tty == 'true']",
            "never equal",
            entry(
                "variable",
                jmesPath="request.object.spec.[containers, initContainers][]",
                default=[],
            ),
        ),
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


SECRET = {"match": {"any": [{"resources": {"kinds": ["Secret"]}}]}}
REGISTRY = entry("imageRegistry", reference="{{ request.object.spec.containers[0].image }}")


@pytest.mark.parametrize(
    ("expression", "found", "more"),
    [
        ("request.object.spec.containers[?name == proxy]", "KV303: write `'proxy'`", {}),
        ("request.object.spec.containers[?name == 'proxy']", "", {}),
        ("request.object.spec.containers[?name == workingDir]", "", {}),
        ("request.object.metadata.labels[?name == proxy]", "KV350: write `.*`", {}),
        ("max(request.object.spec.containers[].resources.limits.memory)", "KV351: as text", {}),
        ("sum(request.object.spec.containers[].image)", "KV351: are texts", {}),
        ("max_by(request.object.spec.containers, &resources.limits.cpu)", "KV351: as text", {}),
        ("max_by(request.object.spec.containers, &name)", "", {}),
        ("sum(request.object.spec.containers[].resources.limits.memory)", "", {}),
        ("to_number(request.object.spec.containers[0].resources.limits.cpu)", "KV351: null", {}),
        ("to_number(request.object.spec.priority)", "", {}),
        ("to_string(request.object.spec.containers[0].resources.limits.cpu)", "", {}),
        ('x509_decode(request.object.data."tls.crt")', "KV351: base64_decode(", SECRET),
        ('x509_decode(base64_decode(request.object.data."tls.crt"))', "", SECRET),
        ("to_upper(request.object.stringData.name)", "", SECRET),
        ("images.containers[*].registry", "KV350: write `.*`", {}),
        ("images.containers.*.registry", "", {}),
        ("images.containers.*.regsitry", "KV328: mean `registry`?", {}),
        ("images.*.*.tag[]", "", {}),
        ("images.containers.web.registry", "", {}),
        ("found.config.User", "KV328: `configData`", REGISTRY),
        ("found.User", "KV328: it is in `configData.config.User`", REGISTRY),
        ("found.configData.config.User", "", REGISTRY),
        ("parse_json(found.allowed)", "KV328: are in `data`", CONFIG_MAP),
        ("parse_json(found.data.allowed)", "", CONFIG_MAP),
        ("parse_json(found.spec)", "", CONFIG_MAP),
        ("request.object.token", "KV328: are in `data`", SECRET),
        ("found.manifest.layers[].size", "", REGISTRY),
        (
            "found.items[0].spec",
            "KV328: this is a single object",
            entry("apiCall", urlPath="/api/v1/namespaces/a"),
        ),
    ],
)
def test_fields_and_functions_by_type(remarks, expression, found, more):
    rule = shown(expression, **more)
    given = [
        (code, text) for code, _, text in remarks(lambda one: typed_expressions([one], {}), rule)
    ]
    code, _, advice = found.partition(": ")
    assert [each for each, _ in given] == ([code] if code else [])
    assert all(advice in text for _, text in given)


def operations(*names):
    return {"match": {"any": [{"resources": {"kinds": ["Pod"], "operations": [*names]}}]}}


@pytest.mark.parametrize(
    ("operator", "value", "more", "text"),
    [
        ("Equals", "UPDATE", operations("CREATE", "DELETE"), "only matches `CREATE`, `DELETE`"),
        ("AnyIn", ["UPDATE", "CONNECT"], operations("CREATE", "DELETE"), "only matches"),
        ("AnyIn", ["UPDATE", "CREATE"], operations("CREATE", "DELETE"), ""),
        ("Equals", "CREATE", operations("CREATE"), ""),
        ("NotEquals", "DELETE", operations("CREATE", "UPDATE"), ""),
        ("Equals", "UPDATE", {}, ""),
    ],
)
def test_operations_that_the_rule_matches(remarks, operator, value, more, text):
    rule = denied("{{ request.operation }}", value, operator, **more)
    found = remarks(lambda policy: typed_expressions([policy], {}), rule)
    assert [code for code, _, _ in found] == (["KV222"] if text else [])
    assert all(text in message for _, _, message in found)


@pytest.mark.parametrize(
    ("key", "operator", "value", "text"),
    [
        ("spec.containers[*].ports[*].containerPort", "AnyIn", [22], "a list of lists"),
        ("spec.containers[*].ports[*].containerPort", "AnyNotIn", [22], "a list of lists"),
        ("spec.containers[].ports[].containerPort", "AnyIn", [22], ""),
        ("spec.priority", "AnyNotIn", ["5-8"], "a range is not an item of a list"),
        ("spec.priority", "AnyIn", ["5-8"], "a range is not an item of a list"),
        ("spec.priority", "AnyIn", [4, "5-8"], ""),
        ("spec.priority", "AnyIn", "5-8", ""),
        ("spec.containers", "GreaterThan", 3, "compare its length"),
    ],
)
def test_lists_in_conditions(remarks, key, operator, value, text):
    rule = denied(f"{{{{ request.object.{key} }}}}", value, operator)
    found = remarks(lambda policy: typed_expressions([policy], {}), rule)
    assert [code for code, _, _ in found] == (["KV222"] if text else [])
    assert all(text in message for _, _, message in found)


def looping(over, key):
    condition = {"key": f"{{{{ {key} }}}}", "operator": "Equals", "value": "a"}
    loop = {"list": over, "deny": {"conditions": {"any": [condition]}}}
    return {"match": POD, "validate": {"foreach": [loop]}}


@pytest.mark.parametrize(
    ("over", "key", "text"),
    [
        ("request.object.metadata.labels", "element.key", "write `items("),
        ("request.object.metadata.labels", "element", "write `items("),
        ("request.object.metadata.labels", "element.team", ""),
        ("items(request.object.metadata.labels, 'key', 'value')", "element.key", ""),
        ("request.object.spec.securityContext", "element", ""),
        ("request.object.spec.containers", "element1.image", "this is in 1"),
        ("request.object.spec.containers", "to_string(elementIndex1)", "write `elementIndex`"),
        ("request.object.spec.containers", "element0.image", ""),
        ("request.object.spec.containers", "element.spec.image", "only whole objects have it"),
        ("request.object.spec.containers", "element.element1", ""),
    ],
)
def test_loops(remarks, over, key, text):
    found = remarks(lambda policy: typed_expressions([policy], {}), looping(over, key))
    assert len(found) == bool(text)
    assert all(text in message for _, _, message in found)


@pytest.mark.parametrize(
    ("key", "operator", "value", "found"),
    [
        ("metadata.creationTimestamp", "GreaterThan", "24h", "KV222: time_since("),
        ("metadata.creationTimestamp", "Equals", "2024-*", ""),
        ("spec.containers[0].resources.limits.memory", "GreaterThan", 512, "KV307: write `512Mi`"),
        ("spec.containers[0].resources.limits.memory || '0'", "LessThan", "64", "KV307: `64Mi`"),
        ("spec.containers[0].resources.limits.memory", "GreaterThan", 1 << 30, ""),
        ("spec.containers[0].resources.limits.memory", "GreaterThan", "512Mi", ""),
        ("spec.containers[0].resources.limits.cpu", "GreaterThan", 4, ""),
    ],
)
def test_times_and_amounts_in_conditions(remarks, key, operator, value, found):
    rule = denied(f"{{{{ request.object.{key} }}}}", value, operator)
    reported = remarks(lambda policy: typed_expressions([policy], {}), rule)
    code, _, advice = found.partition(": ")
    assert [each for each, _, _ in reported] == ([code] if code else [])
    assert all(advice in text for _, _, text in reported)


@pytest.mark.parametrize(
    ("expression", "operator", "value", "codes"),
    [
        ("request.userInfo.groups", "NotEquals", "system:masters", ["KV222"]),
        ("request.userInfo.groups", "AnyIn", ["system:masters"], []),
        ("request.clusterRoles", "Equals", "admin", ["KV222"]),
        ("request.userInfo.username", "Equals", "robot", []),
        ("request.userInfo.groups.name", "Equals", "a", ["KV350"]),
    ],
)
def test_users_have_types(remarks, expression, operator, value, codes):
    rule = denied(f"{{{{ {expression} }}}}", value, operator)
    reported = remarks(lambda policy: typed_expressions([policy], {}), rule)
    assert [code for code, _, _ in reported] == codes


@pytest.mark.parametrize(
    ("operator", "value", "codes"),
    [
        ("GreaterThan", "30", ["KV222"]),
        ("GreaterThan", "720h", []),
        ("GreaterThan", 30, []),
        ("DurationGreaterThan", "1h", []),
        ("Equals", "24h0m0s", []),
        ("GreaterThan", "{{ request.object.metadata.labels.age }}", []),
    ],
)
def test_durations_in_conditions(remarks, operator, value, codes):
    age = "time_since('', request.object.metadata.creationTimestamp, '')"
    rule = denied(f"{{{{ {age} }}}}", value, operator)
    reported = remarks(lambda policy: typed_expressions([policy], {}), rule)
    assert [code for code, _, _ in reported] == codes
    assert all("such as `30s` or `720h`" in text for _, _, text in reported)


def kept(name, **spec):
    data = {"kind": "GlobalContextEntry", "metadata": {"name": name}, "spec": spec}
    return Document(data, "p.yaml", 0, lambda _: Location("p.yaml"))


KEPT = [
    kept("pods", kubernetesResource={"version": "v1", "resource": "pods"}),
    kept("things", kubernetesResource={"group": "a.b", "version": "v1", "resource": "things"}),
    kept("called", apiCall={"urlPath": "/api/v1/pods"}),
    kept("service", apiCall={"service": {"url": "https://example.com"}}),
]


@pytest.mark.parametrize(
    ("name", "query", "expression", "texts"),
    [
        ("pods", "items[].metadata.name", "found", ["write `[]` instead of it"]),
        ("things", "items[].metadata.name", "found", ["write `[]` instead of it"]),
        ("pods", "", "found.items[].metadata.name", ["write `[]` instead of it"]),
        ("called", "[].metadata.name", "found", ["the objects of a list are in `items`"]),
        ("called", "", "found[?kind == 'a']", ["the objects of a list are in `items`"]),
        ("pods", "[].metadata.name", "found[0]", []),
        ("things", "[].a.items", "found[0]", []),
        ("called", "items[].metadata.name", "found[0]", []),
        ("pods.names", "items", "found", []),
        ("service", "items", "found[0]", []),
        ("other", "items", "found[0]", []),
    ],
)
def test_data_of_global_context_entries(remarks, name, query, expression, texts):
    rule = shown(expression, **entry("globalReference", name=name, jmesPath=query))
    found = remarks(lambda policy: typed_expressions([policy], {}, (), KEPT), rule)
    assert [code for code, _, _ in found] == ["KV350"] * len(texts)
    assert all(text in message for text, (_, _, message) in zip(texts, found, strict=True))
