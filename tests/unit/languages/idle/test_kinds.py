import pytest

from kyvsim.languages.idle.kinds import known_kinds, unknown_kinds
from kyvsim.model.diagnostic import strictly
from kyvsim.model.policy import PolicyException
from kyvsim.model.source import Document, Location

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
        ("pod", "Pod"),
        ("Pods", "Pod"),
        ("PODS/exec", "Pod"),
        ("v1/pod", "Pod"),
        ("apps/v1/Deploymnet", "Deployment"),
        ("apps/v1/deployments", "Deployment"),
        ("NetworkPolicies", "NetworkPolicy"),
        ("extensions/v1beta1/Ingress", "networking.k8s.io/*/Ingress"),
        ("batch/v1/Pod", "v1/Pod"),
        ("clusterpolicy", "ClusterPolicy"),
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
    assert message.endswith(
        f" is given: {hint}name the file of its CustomResourceDefinition with --crd-path"
    )


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
    assert message.startswith(f"kind `{kind}` is not built in")


def test_unknown_kinds_are_one_note_and_slips_are_warnings():
    """A policy set for cert-manager and others is not wrong: --strict accepts it."""
    document = Document({}, "e.yaml", 0, lambda path: Location("/".join(map(str, path))))
    kinds = ["Certificate", "Deploymnet", "example.com/v1/Gadget", "Certificate", "pod"]
    match = {"any": [{"resources": {"kinds": kinds}}]}
    exception = PolicyException("e", "", (), match, None, (), document)
    found = [*unknown_kinds([], known_kinds([]), [exception])]
    assert [(one.code, one.severity.value) for one in found] == [
        ("KV215", "warning"),
        ("KV216", "warning"),
        ("KV216", "info"),
    ]
    assert found[2].message.startswith(
        "2 kinds are not built in, and neither their definitions nor objects are given:"
        " `Certificate`, `example.com/v1/Gadget`: name the files"
    )
    assert [one.severity.value for one in strictly(found)] == ["error", "error", "info"]


@pytest.mark.parametrize(
    ("kind", "code"), [("pod", "KV215"), ("example.com/v1/Gadget", "KV216"), ("Pod", "")]
)
def test_kinds_of_exceptions_are_looked_at(kind, code):
    """An exception for a kind that is misspelt lets nothing off."""
    document = Document({}, "e.yaml", 0, lambda path: Location("/".join(map(str, path))))
    match = {"any": [{"resources": {"kinds": ["Pod", kind]}}]}
    exception = PolicyException("e", "", (), match, None, (), document)
    told = [*unknown_kinds([], known_kinds([]), [exception])]
    assert [(one.code, one.location.file) for one in told] == [
        (one, "spec/match/any/0/resources/kinds/1") for one in [code] if one
    ]
