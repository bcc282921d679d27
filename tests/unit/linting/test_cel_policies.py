"""What `lint` says of policies in CEL that compile: of what it warns, and of what it does not."""

import json

import pytest

from kyvsim.api.lint import lint
from kyvsim.model.release import RELEASES

# advice


PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE", "UPDATE"],
}
DEPLOYMENTS = {**PODS, "apiGroups": ["apps"], "resources": ["deployments"]}
CREATED, DELETED = ({**PODS, "operations": [name]} for name in ("CREATE", "DELETE"))
GOOD = "object.spec.containers.all(c, has(c.name))"
QUIET = {"background": {"enabled": False}}


@pytest.fixture
def told(written):
    """Return what gives codes and messages of what is said of a ValidatingPolicy."""

    def ask(*validations, rules=(PODS,), **spec):
        texts = [{"expression": one} if isinstance(one, str) else one for one in validations]
        if rules:
            spec = {"matchConstraints": {"resourceRules": [*rules]}, **spec}
        return written("ValidatingPolicy", {**spec, "validations": texts})

    return ask


def codes(found):
    return [code for code, _ in found]


BAD = [
    ("KV240", ["true"], {}),
    ("KV240", ["1 < 2 && !false"], {}),
    ("KV240", [GOOD], {"matchConditions": [{"name": "a", "expression": "'a' in ['b']"}]}),
    ("KV240", [GOOD], {"matchConditions": [{"name": "a", "expression": "size('a') == 1"}]}),
    ("KV240", ["request.operation != 'Delete'"], {}),
    ("KV240", ["request.operation in ['CREATE', 'CHANGE']"], {}),
    ("KV241", ["false", GOOD], {}),
    ("KV325", [GOOD], {"rules": [DEPLOYMENTS]}),
    ("KV325", ["object.spec.template.spec.containers.size() > 1"], {}),
    ("KV329", ["has(object.spec.hostPID)"], {"rules": [{**PODS, "resources": ["pods/exec"]}]}),
    ("KV332", [GOOD], {"rules": [PODS, {**PODS, "apiGroups": ["", "apps/v1"]}]}),
    ("KV332", [GOOD], {"rules": [PODS, {**PODS, "apiVersions": ["v1", "apps/v1"]}]}),
    ("KV343", ["request.name != 'a'"], {"rules": [{**PODS, "operations": ["*", "CREATE"]}]}),
    ("KV343", [GOOD], {"rules": [PODS, {**PODS, "apiGroups": ["*", ""]}]}),
    ("KV333", [{"expression": GOOD, "message": "'Pod ' + object.metadata.name"}], {}),
    ("KV333", [{"expression": GOOD, "message": "{{ request.name }} has no name."}], {}),
    ("KV333", [{"expression": GOOD, "message": "${request.name} has no name."}], {}),
    ("KV333", [f"{GOOD} || object.kind == '{{{{ request.name }}}}'"], {}),
    ("KV333", [{"expression": GOOD, "messageExpression": "'$(request.name)'"}], {}),
    ("KV333", [{"expression": GOOD, "messageExpression": "'no %s'"}], {}),
    ("KV315", [GOOD], {"rules": [PODS, {**DEPLOYMENTS, "apiVersions": ["v1beta1"]}]}),
    ("KV242", [GOOD], {"variables": [{"name": "v", "expression": "object.kind"}]}),
    ("KV243", ["object.?spec.?hostNetwork.orValue(false) == false"], {}),
    ("KV243", ["object['spec'].restartPolicy == 'Always'"], {}),
    ("KV243", ["!has(oldObject.spec) || oldObject[?'spec'].hasValue()"], {}),
    ("KV244", ["object.metadata.name.startsWith('a')"], {}),
    ("KV244", ["object.metadata.ownerReferences.size() == 0"], {}),
    ("KV245", [GOOD], {"rules": [{**PODS, "resources": ["pods", "pods/ephemeralcontainers"]}]}),
    ("KV245", [GOOD], {"rules": [PODS, {**PODS, "resources": ["pods/exec"]}]}),
    ("KV246", [GOOD], {"autogen": {"podControllers": {"controllers": ["Deployment", "jobs"]}}}),
    (
        "KV246",
        ["has(object.spec.replicas)"],
        {"rules": [DEPLOYMENTS], "autogen": {"podControllers": {"controllers": ["jobs"]}}},
    ),
    ("KV247", ["oldObject == null || has(object.spec)"], {}),
    ("KV247", ["null != object && has(object.spec)"], {}),
    ("KV248", ["object.spec.a == oldObject.spec.a"], {"rules": [CREATED]}),
    ("KV248", ["object.metadata.namespace == 'a'"], {"rules": [DELETED]}),
    ("KV249", [{"expression": GOOD, "message": "a", "messageExpression": "'b'"}], {}),
    ("KV250", [GOOD], {"rules": []}),
    ("KV255", [GOOD], {"rules": [], "matchConstraints": {}}),
    ("KV255", [GOOD], {"rules": [], "matchConstraints": {"objectSelector": {}}}),
    ("KV251", ["request.userInfo.username == 'a'"], {}),
    ("KV252", ["object.spec.replicas % 2 == 0"], {"rules": [DEPLOYMENTS]}),
    ("KV252", ["1 + object.spec.replicas < 3"], {"rules": [DEPLOYMENTS]}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "validations", "spec"), BAD)
def test_what_is_told(told, code, validations, spec):
    assert codes(told(*validations, **spec)) == [code]


WELL = [
    ([GOOD], {}),
    (["random('[a-z]').size() == 1"], {}),
    (["time.now() > timestamp('2020-01-01T00:00:00Z')"], {}),
    (["false"], {}),
    ([GOOD, "false"], {}),
    (["variables.v == 'Pod'"], {"variables": [{"name": "v", "expression": "object.kind"}]}),
    (["has(variables.v)"], {"variables": [{"name": "v", "expression": "object.kind"}]}),
    (
        ["object.spec.containers.all(resource, resource.name in variables.v)"],
        {"variables": [{"name": "v", "expression": "['a']"}]},
    ),
    (["dyn(variables) != null"], {"variables": [{"name": "v", "expression": "object.kind"}]}),
    (["object.?spec.?replicas.orValue(0) < 3"], {"rules": [DEPLOYMENTS]}),
    (["object.spec.?hostNetwork.orValue(false) == false"], {}),
    (["object.?metadata.?labels.hasValue()"], {}),
    (["object.metadata.name == 'a'"], {"rules": [DEPLOYMENTS]}),
    (["object.metadata.namespace == 'a'"], {}),
    (["!has(object.metadata.name) || object.metadata.name == 'a'"], {}),
    (["object.metadata.?name.orValue('') == 'a'"], {}),
    (["object.metadata.name == 'a'"], {"autogen": {"podControllers": {"controllers": []}}}),
    (
        ["!has(object.spec.ephemeralContainers)"],
        {"rules": [{**PODS, "resources": ["pods", "pods/ephemeralcontainers"]}]},
    ),
    (
        [GOOD],
        {
            "rules": [{**PODS, "resources": ["pods", "pods/exec"]}],
            "autogen": {"podControllers": {"controllers": []}},
        },
    ),
    ([GOOD], {"rules": [{**PODS, "resources": ["pods", "services"]}]}),
    ([GOOD], {"autogen": {"podControllers": {"controllers": ["jobs"]}}}),
    (["object.spec != null"], {}),
    (["has(oldObject.spec) || has(object.spec)"], {}),
    (["has(oldObject.spec)"], {"rules": [{**PODS, "operations": ["CREATE"]}]}),
    ([f"{GOOD} || object.kind == '{{{{ values.name }}}} ${{HOME}} $(date)'"], {}),
    ([{"expression": GOOD, "messageExpression": "'no %s'.format([object.kind])"}], {}),
    ([GOOD.replace("has(c.name)", "c.name != '%s'")], {}),
    (["oldObject.spec.a == 'b'"], {"rules": [{**PODS, "operations": ["DELETE"]}]}),
    (
        ["request.operation == 'CREATE' || oldObject.spec.a == 'b'"],
        {"rules": [PODS, {**PODS, "operations": ["DELETE"]}]},
    ),
    ([{"expression": GOOD, "messageExpression": "'b'"}], {}),
    ([{"expression": GOOD, "message": "{{ is not closed"}], {}),
    ([{"expression": GOOD, "message": "use 'a' + object names"}], {}),
    ([{"expression": GOOD, "message": "object.metadata.name is required, not 'a'"}], {}),
    (["request.operation == 'CREATE' || request.name == 'Delete'"], {}),
    (["has(object.container)"], {"rules": [{**PODS, "resources": ["pods/exec"]}]}),
    (["request.userInfo.username == 'a'"], {"evaluation": QUIET}),
    (["request.userInfo.?username.orValue('') == 'a'"], {}),
    (["!has(request.userInfo.username) || request.userInfo.username == 'a'"], {}),
    (["object.spec.replicas > 2 && object.spec.replicas * 1.5 < 9.0"], {"rules": [DEPLOYMENTS]}),
    (["int(object.spec.replicas) % 2 == 0"], {"rules": [DEPLOYMENTS]}),
]  # fmt: skip


@pytest.mark.parametrize(("validations", "spec"), WELL)
def test_what_is_fine(told, validations, spec):
    assert told(*validations, **spec) == []


def mutation(expression, patch_type="ApplyConfiguration"):
    field = "applyConfiguration" if patch_type == "ApplyConfiguration" else "jsonPatch"
    return {"patchType": patch_type, field: {"expression": expression}}


SPEC = "Object{spec: Object.spec{hostNetwork: false}}"
METADATA = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"
CHOICE = f"object.kind == 'Pod' ? {METADATA} : Object{{}}"
PATCH = "[JSONPatch{op: 'add', path: '/spec/a', value: object.apiVersion}]"
NONE_DERIVED = {"autogen": {"podControllers": {"controllers": []}}}


@pytest.mark.parametrize(
    ("entry", "spec", "found"),
    [
        (mutation(SPEC), {}, []),
        (mutation(METADATA), {}, ["KV253"]),
        (mutation(METADATA), NONE_DERIVED, []),
        (mutation(CHOICE), {}, []),
        (mutation(PATCH, "JSONPatch"), {}, ["KV254"]),
        (mutation(PATCH, "JSONPatch"), NONE_DERIVED, []),
        (mutation(PATCH.replace("apiVersion", "kind"), "JSONPatch"), {}, []),
    ],
)
def test_mutations_that_are_carried_over_to_controllers(written, entry, spec, found):
    constraints = {"matchConstraints": {"resourceRules": [PODS]}}
    assert codes(written("MutatingPolicy", {**constraints, "mutations": [entry], **spec})) == found


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, ["KV256"]),
        ({"conditions": [{"name": "a", "expression": "has(object.data)"}]}, []),
        ({"matchConstraints": {"resourceRules": [{**PODS, "resourceNames": ["a"]}]}}, []),
        (
            {
                "matchConstraints": {
                    "resourceRules": [PODS],
                    "objectSelector": {"matchLabels": {"old": "yes"}},
                }
            },
            [],
        ),
        ({"matchConstraints": {"resourceRules": [PODS], "objectSelector": {}}}, ["KV256"]),
    ],
)
def test_what_a_policy_deletes_without_a_condition(written, spec, found):
    constraints = {"matchConstraints": {"resourceRules": [PODS]}}
    whole = {**constraints, "schedule": "0 1 * * *", **spec}
    assert codes(written("DeletingPolicy", whole)) == found


@pytest.mark.parametrize("kind", ["GeneratingPolicy", "DeletingPolicy", "MutatingPolicy"])
def test_of_kinds_that_derive_nothing_controllers_are_no_matter(written, kind):
    beside = {**PODS, "resources": ["pods", "pods/exec"]}
    test = {"name": "a", "expression": "object.metadata.name == 'a' && object.?spec.hasValue()"}
    body = {
        "GeneratingPolicy": {"matchConditions": [test], "generate": [{"expression": "true"}]},
        "DeletingPolicy": {"conditions": [test], "schedule": "* * * * *"},
        "MutatingPolicy": {
            "matchConditions": [test],
            "mutations": [
                mutation("Object{spec: Object.spec{hostNetwork: false}}"),
            ],
        },
    }[kind]
    for rule in (PODS, beside):
        assert written(kind, {"matchConstraints": {"resourceRules": [rule]}, **body}) == []


def test_what_does_not_compile_comes_first(told):
    assert codes(told("true", "object.a ||")) == ["KV150"]


def test_a_name_with_another_meaning_is_not_judged(told):
    assert told("[dyn(null)].all(object, object == null)", "true") == []


# Policies without autogen.


ALL_PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE", "UPDATE"],
}
VOLUMES = {**ALL_PODS, "resources": ["persistentvolumes"]}
NAME = "namespaceObject.metadata.name == 'a'"


@pytest.mark.parametrize(
    ("text", "rules", "found"),
    [
        (NAME, [VOLUMES], ["KV262"]),
        (NAME, [{**ALL_PODS, "resources": ["persistentvolumes", "pods"]}], ["KV262"]),
        ("has(namespaceObject.metadata.labels)", [VOLUMES], ["KV262"]),
        (NAME, [ALL_PODS], []),
        (NAME, [{**ALL_PODS, "resources": ["namespaces"]}], []),
        (NAME, [{**ALL_PODS, "resources": ["*"]}], []),
        (f"namespaceObject == null || {NAME}", [VOLUMES], []),
        (f"!has(namespaceObject.metadata) || {NAME}", [VOLUMES], []),
        (f"object.kind != 'Pod' || {NAME}", [VOLUMES, ALL_PODS], []),
        (f"!has(object.metadata.namespace) || {NAME}", [VOLUMES, ALL_PODS], []),
        ("namespaceObject.?metadata.?name.orValue('') == 'a'", [VOLUMES], []),
    ],
)
def test_fields_of_a_namespace(written, text, rules, found):
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": text}]}
    assert [code for code, _ in written("ValidatingPolicy", spec)] == found


@pytest.mark.parametrize(
    ("text", "interpolate", "found"),
    [
        ("((object.metadata.name))", "none", ["KV263"]),
        ("a-(( request.namespace ))-b", "none", ["KV263"]),
        ("((string(object.metadata.name)))", "none", ["KV263"]),
        ("((object.metadata.name))", "cel", []),
        ("(( kept as it is ))", "none", []),
        ("((a))", "none", []),
        ("$((object.a + 1))", "none", []),
        (r"\((object.metadata.name))", "none", []),
    ],
)
def test_templates(written, text, interpolate, found):
    value = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  a: {text}\n"
    template = {"value": value, "interpolate": interpolate}
    spec = {
        "matchConstraints": {"resourceRules": [ALL_PODS]},
        "generate": [{"template": template}],
    }
    assert [code for code, _ in written("GeneratingPolicy", spec)] == found


# containers


PODS_CONTAINERS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE", "UPDATE"],
}
DEPLOYMENTS_CONTAINERS = {**PODS_CONTAINERS, "apiGroups": ["apps"], "resources": ["deployments"]}
EPHEMERAL = {**PODS_CONTAINERS, "resources": ["pods", "pods/ephemeralcontainers"]}
NONE_DERIVED_CONTAINERS = {"podControllers": {"controllers": []}}
IMAGE = "object.spec.containers.all(c, c.image.startsWith('a/'))"
ROOT = "!object.spec.containers.exists(c, c.?securityContext.?privileged.orValue(false))"
BOTH = f"{IMAGE} && object.spec.?initContainers.orValue([]).all(c, c.image.startsWith('a/'))"


@pytest.fixture
def told_containers(written):
    """Return what gives codes of what is said of a ValidatingPolicy."""

    def ask(text, rule=PODS_CONTAINERS, **spec):
        constraints = {"resourceRules": [rule]}
        validations = [{"expression": text}]
        whole = {"matchConstraints": constraints, "validations": validations, **spec}
        return [code for code, _ in written("ValidatingPolicy", whole)]

    return ask


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (IMAGE, PODS_CONTAINERS),
        (ROOT, PODS_CONTAINERS),
        (f"has(object.metadata.labels) && ({IMAGE})", PODS_CONTAINERS),
        (IMAGE.replace("all(c,", "all(i, c,"), PODS_CONTAINERS),
        (IMAGE.replace("spec", "spec.template.spec"), DEPLOYMENTS_CONTAINERS),
        (IMAGE.replace("object.spec", "request.object.spec"), PODS_CONTAINERS),
    ],
)
def test_a_check_of_containers_alone(told_containers, text, rule):
    assert told_containers(text, rule) == ["KV257"]


def test_a_check_through_a_variable(told_containers):
    variables = [{"name": "all", "expression": "object.spec.containers"}]
    text = "variables.all.all(c, c.image != 'a')"
    assert told_containers(text, variables=variables) == ["KV257"]
    variables[0]["expression"] += " + object.spec.?initContainers.orValue([])"
    assert told_containers(text, variables=variables) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (BOTH, PODS_CONTAINERS),
        ("object.spec.containers.all(c, has(c.livenessProbe))", PODS_CONTAINERS),
        ("object.spec.containers.exists(c, c.image == 'a')", PODS_CONTAINERS),
        (
            "object.spec.containers.all(c, c.?ports.orValue([]).all(p, p.image != 'a'))",
            PODS_CONTAINERS,
        ),
        (
            "object.spec.?volumes.orValue([]).all(c, !has(c.image) || has(c.image.reference))",
            PODS_CONTAINERS,
        ),
        (IMAGE, {**PODS_CONTAINERS, "apiGroups": ["example.com"]}),
        (IMAGE, {**PODS_CONTAINERS, "resources": ["*"]}),
    ],
)
def test_checks_that_leave_nothing_out(told_containers, text, rule):
    assert set(told_containers(text, rule)) <= {"KV164", "KV325"}


def test_a_message_may_tell_that_others_are_checked_elsewhere(told_containers):
    entry = {"expression": IMAGE, "message": "initContainers: see the other policy"}
    assert told_containers("", validations=[entry]) == []


def test_ephemeral_containers_that_are_matched_and_not_looked_at(told_containers):
    assert told_containers(BOTH, EPHEMERAL, autogen=NONE_DERIVED_CONTAINERS) == ["KV264"]
    both = f"{BOTH} && object.spec.?ephemeralContainers.orValue([]).all(c, c.image != 'a')"
    assert told_containers(both, EPHEMERAL, autogen=NONE_DERIVED_CONTAINERS) == []


def test_ephemeral_containers_may_be_refused_by_their_request(told_containers):
    text = f"request.?subResource.orValue('') == '' && {BOTH}"
    assert told_containers(text, EPHEMERAL, autogen=NONE_DERIVED_CONTAINERS) == []
    assert (
        told_containers("has(object.metadata.labels)", EPHEMERAL, autogen=NONE_DERIVED_CONTAINERS)
        == []
    )


# excluded resources


PODS_EXCLUDED_RESOURCES = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE"],
}
VALIDATIONS = [{"expression": "has(object.spec)"}]


@pytest.mark.parametrize(
    ("excluded", "found"),
    [
        ([PODS_EXCLUDED_RESOURCES], ["KV270"]),
        ([{**PODS_EXCLUDED_RESOURCES, "operations": ["*"], "resources": ["*"]}], ["KV270"]),
        ([{**PODS_EXCLUDED_RESOURCES, "operations": ["UPDATE"]}], []),
        ([{**PODS_EXCLUDED_RESOURCES, "resourceNames": ["a"]}], []),
        ([{**PODS_EXCLUDED_RESOURCES, "scope": "Cluster"}], []),
        ([], []),
    ],
)
def test_excluded_resources_that_cover_all_that_is_matched(written, excluded, found):
    constraints = {"resourceRules": [PODS_EXCLUDED_RESOURCES], "excludeResourceRules": excluded}
    spec = {"matchConstraints": constraints, "validations": VALIDATIONS}
    assert [code for code, _ in written("ValidatingPolicy", spec)] == found


# variables of namespaced policies

CALLING = """\
apiVersion: policies.kyverno.io/v1
kind: NamespacedMutatingPolicy
metadata: {name: p, namespace: dev}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  targetMatchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  evaluation: {mutateExisting: {enabled: true}}
  targetMatchConditions: [{name: a, expression: "http.Get('http://a.b/').ok == true"}]
  variables:
  - {name: names, expression: "globalContext.Get('names', '')"}
  - {name: mine, expression: "['a'].filter(name, name in variables.names)"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: "Object{metadata: Object.metadata{labels: {'a': variables.mine[0]}}}"
"""


@pytest.mark.parametrize(
    ("release", "found"),
    [("1.19.0", []), ("1.19.1", [("warning", 10, 50), ("error", 12, 32)])],
)
def test_variables_that_namespaced_policies_must_not_read(release, found, tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(CALLING)
    reported = lint([str(file)], release=RELEASES[release]).diagnostics
    about = [one for one in reported if one.code == "KV162"]
    assert [(one.severity, one.location.line, one.location.column) for one in about] == found


def test_other_policies_may_read_them(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(CALLING.replace("Namespaced", "").replace(", namespace: dev", ""))
    assert "KV162" not in [one.code for one in lint([str(file)]).diagnostics]


@pytest.mark.parametrize(
    ("kind", "spec", "found"),
    [
        ("ValidatingPolicy", {"evaluation": {"admission": {"enabled": False}}}, []),
        (
            "ValidatingPolicy",
            {"evaluation": {"admission": {"enabled": False}, "background": {"enabled": False}}},
            ["KV270"],
        ),
        ("MutatingPolicy", {"evaluation": {"admission": {"enabled": False}}}, ["KV270"]),
        (
            "MutatingPolicy",
            {"evaluation": {"admission": {"enabled": False}, "mutateExisting": {"enabled": True}}},
            [],
        ),
    ],
)
def test_policies_that_are_disabled(written, kind, spec, found):
    rule = {**PODS_CONTAINERS, "resources": ["configmaps"]}
    body = {"validations": [{"expression": "has(object.data)", "message": "No."}]}
    if kind == "MutatingPolicy":
        text = "[JSONPatch{op: 'add', path: '/immutable', value: true}]"
        body = {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}}]}
    whole = {"matchConstraints": {"resourceRules": [rule]}, **body, **spec}
    assert [code for code, _ in written(kind, whole)] == found


@pytest.mark.parametrize(
    ("kind", "spec", "found"),
    [
        ("ValidatingPolicy", {}, ["KV270"]),
        ("MutatingPolicy", {}, ["KV270"]),
        ("MutatingPolicy", {"evaluation": {"mutateExisting": {"enabled": True}}}, []),
    ],
)
def test_rules_without_operations(written, kind, spec, found):
    rule = {**PODS_CONTAINERS, "resources": ["configmaps"]}
    del rule["operations"]
    body = {"validations": [{"expression": "has(object.data)", "message": "No."}]}
    if kind == "MutatingPolicy":
        text = "[JSONPatch{op: 'add', path: '/immutable', value: true}]"
        body = {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}}]}
    whole = {"matchConstraints": {"resourceRules": [rule]}, **body, **spec}
    assert [code for code, _ in written(kind, whole)] == found


@pytest.mark.parametrize(
    ("scope", "resources", "found"),
    [
        ("Cluster", ["configmaps"], ["KV270"]),
        ("Namespaced", ["configmaps"], []),
        ("Namespaced", ["namespaces"], ["KV270"]),
        ("Cluster", ["configmaps", "namespaces"], []),
        ("*", ["namespaces"], []),
    ],
)
def test_scopes_that_no_kind_has(told_containers, scope, resources, found):
    rule = {**PODS_CONTAINERS, "resources": resources, "scope": scope}
    assert told_containers("object.metadata.name != 'a'", rule) == found


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ({"matchLabels": {"a": "b"}}, []),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, []),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, ["KV270"]),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}, []),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["c"]}]}, ["KV270"]),
    ],
)
def test_selectors_that_no_labels_satisfy(told_containers, selector, found):
    labels = {"matchLabels": {"a": "b"}} if found else {}
    constraints = {
        "resourceRules": [{**PODS_CONTAINERS, "resources": ["configmaps"]}],
        "objectSelector": {**labels, **selector},
    }
    text = "object.metadata.name != 'a'"
    assert told_containers(text, matchConstraints=constraints) == found


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("MFkwEwYH", ["KV365"]),
        ("-----BEGIN PUBLIC KEY-----\n<key>\n-----END PUBLIC KEY-----", ["KV365"]),
        ("-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----", []),
        ("-----BEGIN PUBLIC KEY-----\nMFkw", []),
        ("", []),
    ],
)
def test_keys_that_are_not_pem(written, key, found):
    text = "images.containers.all(i, verifyImageSignatures(i, [attestors.a]) > 0)"
    cosign = {"key": {"data": key} if key else {"kms": "gcpkms://a"}}
    spec = {
        "matchConstraints": {"resourceRules": [PODS_CONTAINERS]},
        "attestors": [{"name": "a", "cosign": cosign}],
        "validations": [{"expression": text, "message": "No."}],
    }
    assert [code for code, _ in written("ImageValidatingPolicy", spec)] == found


@pytest.mark.parametrize(
    ("condition", "selector", "found"),
    [
        ("request.namespace == 'cart'", {}, ["KV383"]),
        ("object.metadata.?namespace.orValue('') in ['cart', 'pay']", {}, ["KV383"]),
        ("!(namespaceObject.metadata.name in ['kube-system'])", {}, ["KV383"]),
        ("object.metadata.namespace in ['cart', 'shop']", {}, []),
        ("object.metadata.namespace != ''", {}, []),
        ("object.metadata.namespace.startsWith('cart')", {}, []),
        ("", {"matchLabels": {"stage": "live"}}, ["KV383"]),
        ("", {"matchLabels": {"kubernetes.io/metadata.name": "cart"}}, ["KV383"]),
        ("", {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}, []),
    ],
)
@pytest.mark.parametrize("kind", ["NamespacedValidatingPolicy", "ValidatingPolicy"])
def test_namespaced_policies_about_other_namespaces(tmp_path, kind, condition, selector, found):
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
        "validations": [{"expression": "object.metadata.name != 'a'", "message": "No."}],
    }
    if condition:
        spec["matchConditions"] = [{"name": "c", "expression": condition}]
    head = {"apiVersion": "policies.kyverno.io/v1", "kind": kind}
    named = {"name": "p", **({"namespace": "shop"} if kind.startswith("Namespaced") else {})}
    file = tmp_path / "p.json"
    file.write_text(json.dumps({**head, "metadata": named, "spec": spec}))
    reported = [one.code for one in lint([str(file)]).diagnostics if one.code == "KV383"]
    assert reported == (found if kind.startswith("Namespaced") else [])


def test_the_sum_that_a_text_with_variables_means(told):
    text = "object.kind != 'a-{{ request.object.metadata.namespace }}.b'"
    messages = [message for code, message in told(text) if code == "KV333"]
    assert [one.rpartition(": ")[2] for one in messages] == [
        "write `'a-' + object.metadata.namespace + '.b'`"
    ]


@pytest.mark.parametrize(
    ("groups", "versions", "resources", "found"),
    [
        (["extensions"], ["v1beta1"], ["ingresses"], ["KV315"]),
        (["batch"], ["v1beta1"], ["cronjobs"], ["KV315"]),
        (["batch"], ["v1", "v1beta1"], ["cronjobs"], []),
        (["extensions", "networking.k8s.io"], ["v1", "v1beta1"], ["ingresses"], []),
        (["batch"], ["v1beta1"], ["*"], []),
        (["example.com"], ["v1beta1"], ["cronjobs"], []),
    ],
)
def test_versions_that_no_request_has(told, groups, versions, resources, found):
    rule = {**PODS, "apiGroups": groups, "apiVersions": versions, "resources": resources}
    told = codes(told("has(object.spec)", rules=[rule]))
    assert [one for one in told if one == "KV315"] == found


JOINED = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}
  validations:
  - message: No.
    expression: STYLE
      has(object.data) // it needs data,
      REST
"""


@pytest.mark.parametrize(
    ("style", "rest", "found"),
    [
        (">-", "&& object.metadata.name != 'a'", ["KV241"]),
        ("|-", "&& object.metadata.name != 'a'", []),
        (">-", "which others read", []),
        (">-", "// as object.metadata", []),
        (">-", "// and\n      || object.metadata.name == '//'", ["KV241"]),
    ],
)
def test_lines_that_yaml_joins_to_a_comment(tmp_path, style, rest, found):
    file = tmp_path / "p.yaml"
    file.write_text(JOINED.replace("STYLE", style).replace("REST", rest))
    assert [one.code for one in lint([str(file)]).diagnostics] == found
