"""Resource names that nothing knows."""

import pytest

from kyvsim.linting.references import known_kinds, unknown_kinds, unknown_resources
from kyvsim.model.diagnostic import Severity, strictly
from kyvsim.model.policy import Binding, Policy, PolicyException, PolicyFacts
from kyvsim.model.source import Document, Location
from kyvsim.policy.cel_policy import read_binding, read_cel_policy
from kyvsim.policy.read import read_match

# kinds


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "spec": {"group": "cert-manager.io", "names": {"kind": "Certificate", "plural": "certs"}},
}
OBJECT = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
NEEDLESS = {"validate": {"deny": {}}}


def rule(*kinds, block="match"):
    pods = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    return {**NEEDLESS, "match": pods, block: {"any": [{"resources": {"kinds": [*kinds]}}]}}


@pytest.fixture
def told(remarks):
    def ask(*rules, objects=()):
        return remarks(lambda policy: unknown_kinds([policy], known_kinds(objects)), *rules)

    return ask


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("v1/batch/Job", "batch/v1/Job"),
        ("v1/Job/batch", "batch/v1/Job"),
        ("Job/batch/v1", "batch/v1/Job"),
        ("CronJob/v1", "batch/v1/CronJob"),
        ("Secret/v1", "v1/Secret"),
        ("roles.v1.rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1/Role"),
        ("rbac.authorization.k8s.io.v1.Role", "rbac.authorization.k8s.io/v1/Role"),
        ("v1alpha1/shop.example.com/Cart", "shop.example.com/v1alpha1/Cart"),
    ],
)
def test_the_parts_of_a_kind_in_another_order(told, kind, meant):
    ((code, path, message),) = told(rule(kind))
    assert (code, path) == ("KV215", "spec/rules/0/match/any/0/resources/kinds/0")
    assert message.endswith(f"the order is group, version, kind: write `{meant}`")


@pytest.mark.parametrize(
    "kind",
    [
        *("v1/Secret", "batch/v1/Job/status", "batch.v1.Job", "v1/Pod/exec", "Pod.exec", "v1"),
        *("*/v1/Job", "shop.example.com/v1/Cart", "shop.example.com/v1/Cart/status"),
    ],
)
def test_the_parts_of_a_kind_in_order(told, kind):
    assert not any(code == "KV215" for code, _, _ in told(rule(kind)))


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("pod", "Pod"),
        ("Pods", "Pod"),
        ("PODS/exec", "Pod/exec"),
        ("v1/pod", "Pod"),
        ("apps/v1/Deploymnet", "Deployment"),
        ("apps/v1/deployments", "Deployment"),
        ("NetworkPolicies", "NetworkPolicy"),
        ("extensions/v1beta1/Ingress", "networking.k8s.io/*/Ingress"),
        ("batch/v1/Pod", "v1/Pod"),
        ("clusterpolicy", "ClusterPolicy"),
        ("Deployment.apps", "apps/*/Deployment"),
        ("Ingress.networking.k8s.io", "networking.k8s.io/*/Ingress"),
        ("ingresses.networking.k8s.io", "networking.k8s.io/*/Ingress"),
        ("widgets", "Widget"),
    ],
)
def test_a_slip_has_its_likely_spelling(told, kind, meant):
    ((code, path, message),) = told(rule(kind), objects=[OBJECT])
    assert (code, path) == ("KV215", "spec/rules/0/match/any/0/resources/kinds/0")
    assert message == f"no object has the kind `{kind}`: did you mean `{meant}`?"


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("Job/status/succeeded", "`Job/status`"),
        ("Widget/status/phase", "`Widget/status`"),
        ("apps/Deployment/status", "`apps/*/Deployment/status`"),
    ],
)
def test_a_kind_that_is_read_as_a_group_or_version(told, kind, meant):
    ((code, _, message),) = told(rule(kind))
    assert code == "KV215"
    assert meant in message


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("Deploymnet", "Deployment"),
        ("Sevice", "Service"),
        ("CertificateRequest", ""),  # Kubernetes has a PodCertificateRequest
        ("ClusterIssuer", ""),
    ],
)
def test_without_a_group_a_near_spelling_is_a_hint(told, kind, meant):
    ((code, _, message),) = told(rule(kind))
    assert code == "KV216"
    hint = f"did you mean `{meant}`? If not, " if meant else ""
    assert message == f"unknown kind `{kind}`: {hint}pass its CRD with --crd-path"


def test_exclude_blocks_are_looked_at(told):
    ((code, path, _),) = told(rule("pod", block="exclude"))
    assert (code, path) == ("KV215", "spec/rules/0/exclude/any/0/resources/kinds/0")


@pytest.mark.parametrize(
    "kind",
    [
        "Pod", "v1/Pod", "*/Pod", "*", "*/*", "Pod/exec", "Pod.status", "*/exec",
        "apps/*/Deployment",
        "apps/v1/Deployment/scale", "Deploy*", "batch/v1beta1/CronJob", "Scale", "Eviction",
        "PodExecOptions", "ClusterPolicy", "kyverno.io/v2/PolicyException", "PolicyReport",
        "policies.kyverno.io/v1/ValidatingPolicy", "Widget", "example.com/v1/Widget", "Certificate",
        "cert-manager.io/v1/Certificate", "*.k8s.io/v1/Ingress", "Event", "events.k8s.io/v1/Event",
        "policy/*/PodSecurityPolicy",
    ],
)  # fmt: skip
def test_known_kinds_are_left_alone(told, kind):
    assert told(rule(kind), objects=[OBJECT, CRD]) == []


@pytest.mark.parametrize(
    "kind", ["Certificate", "serving.knative.dev/v1/Service", "acme.io/v1/pod", "Gateway"]
)
def test_what_nothing_knows_is_told_once(told, kind):
    ((code, path, message),) = told(rule(kind), rule("Pod"), rule(kind))
    assert (code, path) == ("KV216", "spec/rules/0/match/any/0/resources/kinds/0")
    assert message.startswith(f"unknown kind `{kind}`")


def test_unknown_kinds_are_one_note_and_slips_are_warnings():
    """A policy set for cert-manager and others is not wrong: --strict accepts it."""
    document = Document({}, "e.yaml", 0, lambda path: Location("/".join(map(str, path))))
    kinds = ["Certificate", "Deploymnet", "example.com/v1/Gadget", "Certificate", "pod"]
    match = read_match({"any": [{"resources": {"kinds": kinds}}]}, ("spec", "match"))
    exception = PolicyException("e", "", (), match, None, (), document)
    found = [*unknown_kinds([], known_kinds([]), [exception])]
    assert [(one.code, one.severity.value) for one in found] == [
        ("KV215", "warning"),
        ("KV216", "warning"),
        ("KV216", "info"),
    ]
    assert found[2].message.startswith(
        "2 unknown kinds: `Certificate`, `example.com/v1/Gadget`: pass their CRDs"
    )
    assert [one.severity.value for one in strictly(found)] == ["error", "error", "info"]


@pytest.mark.parametrize(
    ("kind", "code"), [("pod", "KV215"), ("example.com/v1/Gadget", "KV216"), ("Pod", "")]
)
def test_kinds_of_exceptions_are_looked_at(kind, code):
    """An exception for a kind that is misspelt lets nothing off."""
    document = Document({}, "e.yaml", 0, lambda path: Location("/".join(map(str, path))))
    match = read_match({"any": [{"resources": {"kinds": ["Pod", kind]}}]}, ("spec", "match"))
    exception = PolicyException("e", "", (), match, None, (), document)
    told = [*unknown_kinds([], known_kinds([]), [exception])]
    assert [(one.code, one.location.file) for one in told] == [
        (one, "spec/match/any/0/resources/kinds/1") for one in [code] if one
    ]


# resources


OX = {"apiVersion": "farm.example/v1", "kind": "Ox", "metadata": {"name": "a"}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "oxen.farm.example"},
    "spec": {"group": "farm.example", "names": {"kind": "Ox", "plural": "oxen"}},
}


def policy_for(group, *resources, field="resourceRules"):
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "resources": list(resources)}
    document = Document({}, "p.yaml", 0, lambda path: Location("/".join(map(str, path))))
    spec = {"matchConstraints": {field: [rule]}}
    facts = PolicyFacts("policies.kyverno.io/v1")
    return Policy(
        "ValidatingPolicy", "p", "", {}, spec, (), document, facts, cel_tree=read_cel_policy(spec)
    )


def told_resources(group, *resources, objects=(), field="resourceRules"):
    found = unknown_resources([policy_for(group, *resources, field=field)], objects)
    return [(one.code, one.location.file.rpartition("/")[2], one.message) for one in found]


SLIPS = [
    ("", "Pod", "did you mean `pods`?"),
    ("", "pod/exec", "did you mean `pods`?"),
    ("", "congifmaps", "did you mean `configmaps`?"),
    ("", "deployments", "it belongs to another group, in apiGroup `apps`"),
    ("apps", "pods", 'it belongs to another group, in the core apiGroup (`""`)'),
    ("", "pod", '`pod` in the core apiGroup (`""`): did you mean `pods`?'),
    ("*", "Deployment", "did you mean `deployments`?"),
    ("", "Deployment", "resources have plural names: write `deployments`, in apiGroup `apps`"),
]


@pytest.mark.parametrize(("group", "resource", "meant"), SLIPS)
def test_a_slip_is_told_with_what_was_meant(group, resource, meant):
    ((code, place, message),) = told_resources(group, "*", resource)
    assert (code, place) == ("KV163", "1")
    assert message.endswith(meant)


@pytest.mark.parametrize("resource", ["pods", "*", "pods/*", "*/*", "pods/ephemeralcontainers"])
def test_what_is_known_is_no_matter(resource):
    assert told_resources("", resource) == []
    assert told_resources("*", resource) == []


def test_resources_without_a_definition_are_one_note_that_fails_no_strict_run():
    assert [one[0] for one in told_resources("farm.example", "oxen", objects=[OX])] == ["KV164"]
    found = list(unknown_resources([policy_for("farm.example", "oxen", "cows", "oxen")], [OX]))
    assert [(one.code, one.severity) for one in found] == [("KV164", Severity.INFO)]
    assert "2 unknown resources" in found[0].message
    assert "`cows.farm.example`, `oxen.farm.example`" in found[0].message
    assert [one[0] for one in told_resources("farm.example", "oxen", field="excludeResourceRules")]


@pytest.mark.parametrize(("resource", "objects"), [("oxen", [DEFINITION]), ("oxs", [OX])])
def test_definitions_and_objects_make_resources_known(resource, objects):
    assert told_resources("farm.example", resource, objects=objects) == []


def test_kyvernos_own_kinds_are_known():
    assert told_resources("policies.kyverno.io", "validatingpolicies") == []
    assert told_resources("kyverno.io", "clusterpolicies", "policies") == []


def test_names_in_bindings_are_looked_at_too():
    document = Document({}, "b.yaml", 0, lambda path: Location("/".join(map(str, path))))
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["Pod"]}
    kind = "ValidatingAdmissionPolicyBinding"
    match = {"resourceRules": [rule]}
    spec = {"policyName": "p", "matchResources": match}
    found = list(unknown_resources((), (), [Binding(kind, "b", read_binding(spec), document)]))
    assert [one.code for one in found] == ["KV163"]
    assert found[0].location.file == "spec/matchResources/resourceRules/0/resources/0"
    bare = read_binding({"policyName": "p"})
    assert not list(unknown_resources((), (), [Binding(kind, "b", bare, document)]))
