import pytest

LABELLED = {"objectSelector": {"matchLabels": {"team": "a"}}}


def validated(text, resources="pods", group="", operations=("CREATE",), **constraints):
    rule = {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": [*operations],
        "resources": [resources],
    }
    return {
        "matchConstraints": {"resourceRules": [rule], **constraints},
        "validations": [{"expression": text, "message": "m"}],
    }


LABEL_VALUES = "object.metadata.labels.all(k, object.metadata.labels[k] != '')"


def codes(written, *given, kind="ValidatingPolicy", **more):
    wanted = {"KV323", "KV324", "KV325", "KV248", "KV344"}
    return [code for code, _ in written(kind, validated(*given, **more)) if code in wanted]


@pytest.mark.parametrize(
    ("text", "resources", "group", "found"),
    [
        ("object.metadata.labels.team == 'a'", "widgets", "example.com", ["KV323"]),
        ("object.metadata.annotations.size() > 0", "pods", "", ["KV323"]),
        (
            "object.spec.containers.all(c, c.securityContext.privileged == false)",
            "pods",
            "",
            ["KV323"],
        ),
        (
            "object.spec.template.spec.volumes.all(v, v.name != 'a')",
            "deployments",
            "apps",
            ["KV323"],
        ),
        (
            "object.subjects.all(s, s.name != 'a')",
            "rolebindings",
            "rbac.authorization.k8s.io",
            ["KV323"],
        ),
        (
            "object.metadata.namespace != 'a'",
            "clusterroles",
            "rbac.authorization.k8s.io",
            ["KV323"],
        ),
        ("namespaceObject.metadata.labels.env == 'a'", "pods", "", ["KV323"]),
        (
            "has(object.metadata.labels) && object.metadata.labels.team == 'a'",
            "pods",
            "",
            ["KV323"],
        ),
        ("has(object.metadata.labels) && has(object.metadata.labels.team)", "pods", "", []),
        (f"has(object.metadata.labels) && {LABEL_VALUES}", "pods", "", []),
        ("object.metadata.?labels.?team.orValue('') == 'a'", "pods", "", []),
        ("object.metadata.?labels.team.orValue('') == 'a'", "pods", "", []),
        ("object.spec.containers.all(c, has(c.ports) && c.ports.size() > 0)", "pods", "", []),
        ("object.spec.containers.all(c, c.image != 'a')", "pods", "", []),
        ("object.spec.replicas > 1", "deployments", "apps", []),
        ("object.metadata.namespace != 'a'", "roles", "rbac.authorization.k8s.io", []),
        ("object.metadata.labels['kubernetes.io/metadata.name'] != 'a'", "namespaces", "", []),
        ("namespaceObject.metadata.name != 'a'", "pods", "", []),
    ],
)
def test_optional_fields(written, text, resources, group, found):
    assert codes(written, text, resources, group) == found


BOTH = "object.spec.containers + object.spec.?initContainers.orValue([])"


@pytest.mark.parametrize(
    ("variable", "text", "found"),
    [
        (BOTH, "variables.v.all(c, c.ports.size() < 2)", ["KV323"]),
        (BOTH, "variables.v.all(c, c.ports.size() < 2) || variables.v.size() > 9", ["KV323"]),
        (BOTH, "variables.v.filter(c, c.name != 'a').all(c, c.ports.size() < 2)", ["KV323"]),
        (BOTH, "variables.v.map(c, c.ports).all(p, p.size() < 2)", ["KV323"]),
        (BOTH, "variables.v[0].ports.size() < 2", ["KV323"]),
        (BOTH, "variables.v.all(c, c.?ports.orValue([]).size() < 2)", []),
        (BOTH, "variables.v.all(c, !has(c.ports) || c.ports.size() < 2)", []),
        (BOTH, "variables.v.filter(c, has(c.ports)).all(c, c.ports.size() < 2)", []),
        (BOTH, "variables.v.all(c, c.image != 'a')", []),
        (BOTH, "variables.v.all(c, c.ports.size() < 2) || has(object.spec.ports)", ["KV323"]),
        (
            "object.spec.?initContainers.orValue([])",
            "variables.v.all(c, c.env.size() < 2)",
            ["KV323"],
        ),
        (
            "has(object.spec.initContainers) ? object.spec.initContainers : []",
            "variables.v.all(c, c.env.size() < 2)",
            ["KV323"],
        ),
        (
            "object.spec.containers.map(c, c.env)",
            "variables.v.all(e, e[0].valueFrom == null)",
            ["KV323", "KV323"],
        ),
        ("object.spec.?initContainers", "variables.v[0].ports.orValue([]).size() < 2", []),
        ("object.spec.?securityContext", "variables.v.runAsUser.orValue(1) == 1", []),
        ("object.spec.?initContainers[0]", "variables.v.ports.orValue([]).size() < 2", []),
    ],
)
def test_optional_fields_of_elements_of_a_variable(written, variable, text, found):
    spec = {**validated(text), "variables": [{"name": "v", "expression": variable}]}
    assert [code for code, _ in written("ValidatingPolicy", spec) if code == "KV323"] == found


def test_a_test_protects_only_the_field_that_it_names(written):
    spec = validated(
        "has(object.spec.securityContext) || "
        "object.spec.containers.all(c, c.securityContext.runAsNonRoot)"
    )
    assert "KV323" in [code for code, _ in written("ValidatingPolicy", spec)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("object.metadata.name.split('-')[1] == 'a'", ["KV323"]),
        ("object.spec.containers.all(c, c.image.split(':')[1] != 'latest')", ["KV323"]),
        ("object.spec.containers[1].image != 'a'", ["KV323"]),
        ("object.spec.containers[0].image != 'a'", []),
        ("object.metadata.name.split('-')[0] == 'a'", []),
        ("object.metadata.name.split('-')[?1].orValue('') == 'a'", []),
        (
            "object.spec.containers.all(c, c.image.contains(':') && c.image.split(':')[1] != 'a')",
            [],
        ),
        ("size(object.spec.containers) > 1 && object.spec.containers[1].image != 'a'", []),
    ],
)
def test_elements_that_may_be_missing(written, text, found):
    assert codes(written, text) == found


@pytest.mark.parametrize(
    ("test", "message", "found"),
    [
        ("has(object.spec.nodeName)", "'not on ' + object.spec.nodeName", ["KV323"]),
        (
            "has(object.spec.os) && object.spec.os.name == 'a'",
            "'os ' + object.spec.os.name",
            ["KV323"],
        ),
        ("has(object.spec.nodeName)", "object.spec.?nodeName.orValue('none')", []),
        ("has(object.spec.nodeName)", "has(object.spec.nodeName) ? object.spec.nodeName : ''", []),
        ("!has(object.spec.nodeName)", "'on ' + object.spec.nodeName", []),
        ("has(object.spec.nodeName)", "object.metadata.name", []),
    ],
)
def test_messages_that_read_what_is_missing(written, test, message, found):
    spec = {**validated(test), "validations": [{"expression": test, "messageExpression": message}]}
    assert [code for code, _ in written("ValidatingPolicy", spec) if code == "KV323"] == found


def test_a_variable_leads_to_its_field(written):
    spec = validated("variables.all.all(c, c.ports.size() < 2)")
    spec["variables"] = [{"name": "all", "expression": "object.spec.containers"}]
    found = [text for code, text in written("ValidatingPolicy", spec) if code == "KV323"]
    assert len(found) == 1
    assert "`object.spec.containers[].ports`" in found[0]


def test_a_selector_of_objects_demands_labels(written):
    assert codes(written, "object.metadata.labels.team == 'a'", **LABELLED) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("object.spec.replicas > '2'", ["KV324"]),
        ("object.spec.replicas == '2'", ["KV324"]),
        ("'true' == object.spec.paused || !has(object.spec.paused)", ["KV324"]),
        ("object.spec.replicas > 2", []),
        ("object.spec.replicas >= 2.0", []),
        ("object.metadata.name == '2'", []),
        ("string(object.spec.replicas) == '2'", []),
        ("object.spec.replcas > 2", ["KV325"]),
        ("object.spec.template.spec.contaners.size() > 2", ["KV325"]),
        ("object.spec.somethingElse > 2", []),
    ],
)
def test_types_and_names_of_fields(written, text, found):
    assert codes(written, text, "deployments", "apps") == found


@pytest.mark.parametrize(
    ("text", "operations", "found"),
    [
        ("object.spec.a == 'b'", ("CREATE", "DELETE"), ["KV248"]),
        ("object.spec.a == 'b'", ("*",), ["KV248"]),
        ("oldObject.spec.a == object.spec.a", ("CREATE", "UPDATE"), ["KV248"]),
        ("oldObject.spec.a == object.spec.a", ("UPDATE",), []),
        ("has(object.spec) && object.spec.a == 'b'", ("CREATE", "DELETE"), []),
        ("request.operation == 'DELETE' || object.spec.a == 'b'", ("CREATE", "DELETE"), []),
        ("object.spec.a == 'b'", ("CREATE", "UPDATE"), []),
    ],
)
def test_objects_that_some_requests_lack(written, text, operations, found):
    assert codes(written, text, "widgets", "example.com", operations) == found


@pytest.mark.parametrize(("operation", "found"), [("set", ["KV326"]), ("add", []), ("test", [])])
def test_operations_of_json_patches(written, operation, found):
    spec = validated("true")
    del spec["validations"]
    text = f'[JSONPatch{{op: "{operation}", path: "/spec/a", value: "b"}}]'
    spec["mutations"] = [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}}]
    said = written("MutatingPolicy", spec)
    assert [code for code, _ in said if code == "KV326"] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("object.spec.resources.requests.storage <= '10Gi'", ["KV344"]),
        ("'10Gi' > object.spec.resources.requests.storage", ["KV344"]),
        ("object.spec.resources.requests['storage'] < '1Gi'", ["KV344"]),
        ("quantity(object.spec.resources.requests.storage).isLessThan(quantity('1Gi'))", []),
        ("object.spec.resources.requests.storage == '10Gi'", []),
        ("object.metadata.name < 'n'", []),
    ],
)
def test_quantities_that_are_compared_as_text(written, text, found):
    assert codes(written, text, "persistentvolumeclaims") == found


RBAC = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("text", "resources", "found"),
    [
        ("object.?rules.orValue([]).all(r, 'a' in r.resources)", "clusterroles", ["KV323"]),
        ("object.?rules.orValue([]).all(r, 'a' in r.verbs)", "clusterroles", []),
        ("object.?rules.orValue([]).all(r, 'a' in r.resources)", "roles", []),
        ("object.?rules.orValue([]).all(r, 'a' in r.?resources.orValue([]))", "clusterroles", []),
        ("object.metadata.name == 'a' || f(object).orValue([]) == []", "clusterroles", []),
    ],
)
def test_fields_of_elements_of_lists_with_defaults(written, text, resources, found):
    assert codes(written, text, resources, group=RBAC) == found


@pytest.mark.parametrize(
    ("text", "resources", "group", "field"),
    [
        ("object.spec.startingDeadlineSeconds <= 600", "cronjobs", "batch", "startingDeadline"),
        ("object.spec.suspend == false", "cronjobs", "batch", ""),  # has a default
        ("object.spec.replicas < 3", "deployments", "apps", ""),
        ("object.spec.template.spec.hostname == 'a'", "deployments", "apps", "hostname"),
        ("object.data.mode == 'a'", "configmaps", "", "object.data`"),
        ("has(object.data) && object.data.mode == 'a'", "configmaps", "", "object.data.mode`"),
        (
            "has(object.data) && object.data[object.data['a/b']] == 'a'",
            "configmaps",
            "",
            "'a/b' in",
        ),
        ("object.spec.selector.app == 'a'", "services", "", "selector.app"),
        ("object.parameters.kind == 'a'", "storageclasses", "storage.k8s.io", "parameters`"),
        ("object.spec.resources.requests.storage == '1Gi'", "persistentvolumeclaims", "", ""),
        ("object.spec.?ports.orValue([]).all(p, p.nodePort > 0)", "services", "", "[].nodePort"),
        ("object.spec.clusterIP == 'None'", "services", "", ""),  # set before webhooks are called
        ("object.status.phase == 'a'", "pods", "", ""),
        ("object.subjects.size() == 1", "rolebindings", RBAC, "subjects"),
    ],
)
def test_fields_that_objects_of_a_kind_may_lack(written, text, resources, group, field):
    said = written("ValidatingPolicy", validated(text, resources, group))
    found = [text for code, text in said if code == "KV323"]
    assert len(found) == bool(field)
    assert not field or field in found[0]


def test_fields_of_one_of_several_kinds(written):
    roles = validated("object.rules.all(r, 'a' in r.resources)", "roles", RBAC)
    (rule,) = roles["matchConstraints"]["resourceRules"]
    both = {**rule, "resources": ["roles", "clusterroles"]}
    roles["matchConstraints"]["resourceRules"] = [both]
    assert [code for code, _ in written("ValidatingPolicy", roles)] == ["KV323"]
    ((_, text),) = written("ValidatingPolicy", roles)
    assert "`object.rules`" in text
    roles["validations"][0]["expression"] = "object.kind == 'Role' || object.rules.size() > 0"
    assert written("ValidatingPolicy", roles) == []


def test_the_advice_about_fields_of_elements_is_an_expression(written):
    text = "object.spec.containers.all(c, c.securityContext.privileged == false)"
    (message,) = [
        message for code, message in written("ValidatingPolicy", validated(text)) if code == "KV323"
    ]
    assert "of an element `e`, test `has(e.securityContext)`" in message
    assert "`e.?securityContext.orValue(…)`" in message


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            "has(object.metadata.annotations.node__dash__pool)",
            "write `'node-pool' in object.metadata.annotations`",
        ),
        (
            "object.spec.nodeSelector.example__dot__com__slash__a == 'b'",
            "write `object.spec.nodeSelector['example.com/a']`",
        ),
        ("object.metadata.__namespace__ == 'b'", "write `object.metadata.namespace`"),
        ("has(object.metadata.__namespace__)", "write `has(object.metadata.namespace)`"),
        ("object.spec.containers.all(c, c.env__dash__from == '')", "write `c['env-from']`"),
        ("object.metadata.name == 'node__dash__pool'", ""),
        ("object.spec.__dash == 'a'", ""),
    ],
)
def test_escaped_names(written, text, advice):
    def found(kind):
        reported = written(kind, validated(text))
        return [text for code, text in reported if code == "KV325" and "is not read as" in text]

    assert [advice in one for one in found("ValidatingPolicy")] == [True] * bool(advice)
    assert not found("ValidatingAdmissionPolicy")
