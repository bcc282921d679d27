"""Policies and exceptions."""

from datetime import UTC, datetime

import pytest

from kyvsim.languages import READERS, read_binding
from kyvsim.load.policy import is_exception, load_bindings, load_exceptions, load_policies
from kyvsim.model.diagnostic import Severity
from kyvsim.model.source import Document, Location
from kyvsim.policy.read import read_match

NATIVE = "admissionregistration.k8s.io/v1"


def document(data):
    """A document whose positions are the lengths of paths."""
    return Document(data, "p.yaml", 0, lambda path: Location("p.yaml", 1 + len(path), 1))


def policy(**changes):
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"rules": [rule()]},
        **changes,
    }


def rule(**changes):
    return {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"pattern": {"spec": {"a": None, "n": 1}}},
        **changes,
    }


OF_RULES = {key: read for key, read in READERS.items() if key[0] == "kyverno.io"}


def load(*data):
    return load_policies([document(entry) for entry in data], OF_RULES)


def test_a_policy_gets_the_defaults_of_its_kind():
    (found,), remarks = load(policy())
    assert remarks == ()
    assert (found.kind, found.name, found.namespace, found.key) == ("ClusterPolicy", "p", "", "p")
    assert found.background
    assert found.spec["validationFailureAction"] == "Audit"
    assert found.spec["emitWarning"] is False
    assert [(r.name, r.path) for r in found.rules] == [("r", ("spec", "rules", 0))]
    data = found.rules[0].data
    assert data["skipBackgroundRequests"] is True
    assert data["validate"]["allowExistingViolations"] is True
    assert data["validate"]["pattern"] == {"spec": {"a": None, "n": 1}}


def test_rules_are_the_spec_s_own_data():
    (found,), _ = load(policy())
    assert found.rules[0].data is found.spec["rules"][0]


def test_a_namespaced_policy():
    (found,), _ = load(policy(kind="Policy", metadata={"name": "p", "namespace": "ns"}))
    assert found.key == "ns/p"


def test_metadata_as_a_cluster_gives_it():
    metadata = {
        "name": "p.example",
        "labels": {"example.com/tier": "a_b"},
        "creationTimestamp": "2024-01-02T03:04:05Z",
        "generation": 2,
        "managedFields": [{"manager": "kubectl"}],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
        ],
        "resourceVersion": "7",
        "uid": "u",
    }
    assert load(policy(metadata=metadata))[1] == ()


def test_annotations_may_be_null():
    (found,), _ = load(policy(metadata={"name": "p", "annotations": {"a": None, "b": "c"}}))
    assert found.annotations == {"a": "", "b": "c"}


@pytest.mark.parametrize(
    ("data", "code", "part"),
    [
        (policy(sepc={}), "KV012", "unknown field `sepc`: did you mean `spec`?"),
        (policy(metadata={"name": "P"}), "KV016", "`metadata.name`"),
        (policy(metadata={}), "KV015", "`metadata.name` is required"),
        (policy(metadata={"name": "p", "labels": {"a": 1}}), "KV013", "`metadata.labels.a`"),
        (policy(metadata={"name": "p", "labels": {"a": "b c"}}), "KV016", "`b c`"),
        (policy(metadata={"name": "p", "annotations": {"a b": ""}}), "KV016", "`a b`"),
        (policy(metadata={"name": "p", "ownerReferences": [{"nam": 1}]}), "KV012", "`name`?"),
        (policy(metadata={"name": "p", "creationTimestamp": "today"}), "KV016", "`today`"),
        (policy(spec={"background": "yes"}), "KV013", "`spec.background` must be a boolean"),
        (policy(spec={"validationFailureAction": "foo"}), "KV014", "`audit`, `enforce`"),
        (policy(spec={"rules": [rule(name="n" * 64)]}), "KV016", "64 characters"),
        (policy(spec={"rules": [rule(mtach={})]}), "KV012", "`spec.rules[0].mtach`"),
        (policy(spec={"rules": [rule(match=None)]}), "KV015", "`spec.rules[0].match` is required"),
        (policy(spec={"rules": [rule(match={"any": [], "all": []})]}), "KV017", "`any` and `all`"),
        (policy(spec={"rules": [rule(context=[{"name": "c"}])]}), "KV017", "exactly one of"),
        (policy(apiVersion="kyverno.io/v3"), "KV011", "did you mean `kyverno.io/v1/ClusterPolicy`"),
        (policy(kind="ClusterPolcy"), "KV011", "did you mean `kyverno.io/v1/ClusterPolicy`?"),
        (
            policy(apiVersion="kyverno.io/v1", kind="PolicyException"),
            "KV011",
            "did you mean `kyverno.io/v2/PolicyException`?",
        ),
        (
            policy(apiVersion="kyverno.io/v2alpha1", kind="PolicyException"),
            "KV011",
            "did you mean `kyverno.io/v2/PolicyException`?",
        ),
        (policy(apiVersion="kyvern.io/v1"), "KV011", "did you mean `kyverno.io/v1/ClusterPolicy`?"),
        ({"apiVersion": "v1", "kind": "Pod"}, "KV011", "policy type not supported: Pod (v1)"),
        (
            {"apiVersion": NATIVE, "kind": "ValidatingWebhookConfiguration"},
            "KV011",
            f"policy type not supported: ValidatingWebhookConfiguration ({NATIVE})",
        ),
        ({"kind": "ClusterPolicy"}, "KV010", "no `apiVersion`"),
        ({"apiVersion": "v1"}, "KV010", "no `kind`"),
        (["a"], "KV010", "must be a mapping"),
        (
            policy(apiVersion="policies.kyverno.io/v1", kind="ValidatingPolicy"),
            "KV011",
            "policy type not supported: ValidatingPolicy (policies.kyverno.io/v1)",
        ),
        (
            policy(apiVersion="kyverno.io/v2", kind="GlobalContextEntry"),
            "KV012",
            "unknown field `spec.rules`",
        ),
        (
            policy(apiVersion="json.kyverno.io/v1alpha1", kind="ValidatingPolicy"),
            "KV011",
            (
                "not supported: ValidatingPolicy (json.kyverno.io/v1alpha1): it belongs to "
                "kyverno-json, which kyvsim does not run"
            ),
        ),
        (
            {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Test"},
            "KV011",
            "Test (cli.kyverno.io/v1alpha1): `kyvsim test` runs it",
        ),
        (
            {"apiVersion": "chainsaw.kyverno.io/v1alpha1", "kind": "Test"},
            "KV011",
            "`kyvsim chainsaw` runs it",
        ),
        (
            {"apiVersion": "kyverno.io/v2", "kind": "UpdateRequest"},
            "KV011",
            "UpdateRequest (kyverno.io/v2): such objects are written by Kyverno",
        ),
        (
            {"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "ClusterPolicyReport"},
            "KV011",
            "it is a report, not a policy",
        ),
    ],
)
def test_a_document_that_is_no_sound_policy_is_refused(data, code, part):
    found, remarks = load(data)
    assert found == ()
    assert [remark.severity for remark in remarks] == [Severity.ERROR] * len(remarks)
    assert any(remark.code == code and part in remark.message for remark in remarks)


TWICE = [{"name": "a", "expression": "true"}] * 2
TIMEOUT = {"webhookConfiguration": {"timeoutSeconds": 1 << 31}}


@pytest.mark.parametrize(
    ("group", "kind", "fields", "part"),
    [
        ("policies.kyverno.io/v1", "ValidatingPolicy", {"variables": TWICE}, "repeats `a`"),
        ("policies.kyverno.io/v1", "MutatingPolicy", {"matchConditions": TWICE}, "repeats `a`"),
        ("policies.kyverno.io/v1", "ValidatingPolicy", TIMEOUT, "is not a valid int32"),
        (NATIVE, "ValidatingAdmissionPolicy", {"variables": TWICE}, "repeats `a`"),
        (NATIVE, "MutatingAdmissionPolicy", {"matchConditions": TWICE}, "repeats `a`"),
        (NATIVE, "MutatingAdmissionPolicy", {"variables": TWICE}, ""),
    ],
)
def test_items_of_lists_that_repeat_one_and_numbers_that_are_too_large(group, kind, fields, part):
    data = policy(apiVersion=group, kind=kind, spec={"validations": [], **fields})
    if kind.startswith("Mutating"):
        del data["spec"]["validations"]
    found, remarks = load_policies([document(data)], READERS)
    assert len(found) == (not part)
    assert [remark.code for remark in remarks] == ["KV016"] * bool(part)
    assert all(part in remark.message for remark in remarks)


def test_a_binding_that_says_an_action_twice():
    spec = {"policyName": "p", "validationActions": ["Deny", "Deny"]}
    data = policy(apiVersion=NATIVE, kind="ValidatingAdmissionPolicyBinding", spec=spec)
    found, remarks = load_bindings([document(data)], read_binding)
    assert found == ()
    assert [remark.code for remark in remarks] == ["KV016"]


def test_a_bad_policy_does_not_stop_the_good_ones():
    found, remarks = load(policy(foo=1), policy(metadata={"name": "q"}))
    assert [p.name for p in found] == ["q"]
    assert [str(remark.location) for remark in remarks] == ["p.yaml:2:1"]


@pytest.mark.parametrize("spec", [{}, {"rules": []}, {"rules": None}])
def test_a_policy_without_rules_is_mentioned(spec):
    (found,), remarks = load(policy(spec=spec))
    assert found.rules == ()
    assert [(remark.code, remark.severity) for remark in remarks] == [("KV023", Severity.WARNING)]


def test_empty_documents_are_no_fault():
    assert load(None) == ((), ())


def test_exceptions_among_policies_are_only_mentioned():
    _, remarks = load({"apiVersion": "kyverno.io/v2", "kind": "PolicyException"})
    assert [(remark.code, remark.severity) for remark in remarks] == [("KV019", Severity.WARNING)]


def test_a_list_is_taken_apart_and_keeps_positions():
    items = [policy(), policy(foo=1)]
    found, remarks = load({"apiVersion": "v1", "kind": "List", "items": items})
    assert [p.name for p in found] == ["p"]
    assert str(remarks[0].location) == "p.yaml:4:1"
    assert str(found[0].document.locate(("spec",))) == "p.yaml:4:1"


CEL = "policies.kyverno.io/v1"
NATIVE = "admissionregistration.k8s.io/v1"
IN_SHOP = {"name": "p", "namespace": "shop"}
CLUSTER_SCOPED = [
    ("kyverno.io/v1", "ClusterPolicy", {"rules": [rule()]}),
    ("kyverno.io/v2", "ClusterCleanupPolicy", {"schedule": "* * * * *", "match": rule()["match"]}),
    (CEL, "ValidatingPolicy", {"validations": [{"expression": "true"}]}),
    (CEL, "MutatingPolicy", {"mutations": []}),
    (CEL, "GeneratingPolicy", {"generate": [{"expression": "true"}]}),
    (CEL, "DeletingPolicy", {"schedule": "* * * * *"}),
    (
        CEL,
        "ImageValidatingPolicy",
        {
            "attestors": [{"name": "a", "cosign": {"key": {"data": "k"}}}],
            "validations": [{"expression": "true"}],
        },
    ),
    (NATIVE, "ValidatingAdmissionPolicy", {"validations": [{"expression": "true"}]}),
    *(
        (
            f"admissionregistration.k8s.io/{version}",
            "MutatingAdmissionPolicy",
            {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}]},
        )
        for version in ("v1alpha1", "v1beta1")
    ),
]


@pytest.mark.parametrize(("version", "kind", "spec"), CLUSTER_SCOPED)
def test_a_cluster_scoped_policy_loses_its_namespace_with_a_warning(version, kind, spec):
    written = {"apiVersion": version, "kind": kind, "metadata": IN_SHOP, "spec": spec}
    (found,), remarks = load_policies([document(written)], READERS)
    assert (found.namespace, found.key, found.document.data["metadata"]) == ("", "p", {"name": "p"})
    assert [(one.code, one.severity, str(one.location)) for one in remarks] == [
        ("KV227", Severity.WARNING, "p.yaml:3:1")
    ]
    assert written["metadata"] == IN_SHOP


@pytest.mark.parametrize("kind", ["Policy", "NamespacedValidatingPolicy", "CleanupPolicy"])
def test_a_policy_of_a_namespaced_kind_keeps_its_namespace(kind):
    version, _, spec = next(one for one in CLUSTER_SCOPED if one[1].endswith(kind[-12:]))
    written = {"apiVersion": version, "kind": kind, "metadata": IN_SHOP, "spec": spec}
    (found,), remarks = load_policies([document(written)], READERS)
    assert (found.key, remarks) == ("shop/p", ())


@pytest.mark.parametrize("version", ["v2alpha1", "v2beta1", "v2"])
def test_data_that_rules_share_is_no_policy_and_no_mistake(version):
    spec = {"kubernetesResource": {"version": "v1", "resource": "pods"}}
    entry = {"kind": "GlobalContextEntry", "metadata": {"name": "e"}, "spec": spec}
    assert load({"apiVersion": f"kyverno.io/{version}", **entry}) == ((), ())


@pytest.mark.parametrize(
    ("version", "kind", "actions"),
    [
        ("v1", "ValidatingAdmissionPolicyBinding", {"validationActions": ["Deny"]}),
        ("v1beta1", "MutatingAdmissionPolicyBinding", {}),
    ],
)
def test_a_binding_loses_its_namespace_with_a_warning(version, kind, actions):
    spec = {"policyName": "p", **actions}
    api_version = f"admissionregistration.k8s.io/{version}"
    written = {"apiVersion": api_version, "kind": kind, "metadata": IN_SHOP, "spec": spec}
    (found,), remarks = load_bindings([document(written)], read_binding)
    assert (found.tree.policy_name, [one.code for one in remarks]) == ("p", ["KV227"])


@pytest.mark.parametrize("block", ["mutate", "validate"])
@pytest.mark.parametrize(
    ("inner", "place", "code", "wanted"),
    [
        ("x", ("foreach",), "KV013", "a list, not text"),
        ({}, ("foreach",), "KV013", "a list, not a mapping"),
        ([5], ("foreach", 0), "KV013", "a mapping, not a whole number"),
        ([None], ("foreach", 0), "KV013", "a mapping, not null"),
        ([{"list": 5}], ("foreach", 0, "list"), "KV013", "text, not a whole number"),
        ([{"foreach": [{"foreach": 1}]}], ("foreach", 0) * 2 + ("foreach",), "KV013", "a list"),
        ([{"context": "x"}], ("foreach", 0, "context"), "KV013", "a list, not text"),
        ([{"list": "a", "unknown": 1}], (), "", ""),
        (None, (), "", ""),
    ],
)
def test_loops_in_loops_have_the_types_that_kyverno_reads(block, inner, place, code, wanted):
    body = {"foreach": [{"list": "request.object.spec.a", "foreach": inner}]}
    one = rule()
    del one["validate"]
    path = ("spec", "rules", 0, block, "foreach", 0, *place)
    found, remarks = load(policy(spec={"rules": [{**one, block: body}]}))
    assert [remark.code for remark in remarks] == [code] * bool(code)
    assert bool(found) is not bool(code)
    for remark in remarks:
        assert remark.location.line == 1 + len(path)
        assert wanted in remark.message


@pytest.mark.parametrize(
    ("version", "kind", "meant"),
    [
        ("kyverno/v1", "ClusterPolicy", "kyverno.io/v1/ClusterPolicy"),
        ("v1", "ClusterPolicy", "kyverno.io/v1/ClusterPolicy"),
        ("policy.kyverno.io/v1", "ValidatingPolicy", "policies.kyverno.io/v1/ValidatingPolicy"),
        (f"admision{NATIVE[9:]}", "ValidatingAdmissionPolicy", f"{NATIVE}/ValidatingAdmissionPol"),
        ("kubewarden.io/v1", "ClusterAdmissionPolicy", ""),
        ("iam.aws.upbound.io/v1beta1", "Policy", ""),
        ("kyverno.nirmata.io/v1", "PolicySet", ""),
        ("operator.kyverno.io/v1alpha1", "KyvernoConfig", ""),
    ],
)
def test_only_a_group_like_those_of_policies_is_taken_for_misspelt(version, kind, meant):
    written = {"apiVersion": version, "kind": kind, "metadata": {"name": "p"}}
    _, (remark,) = load_policies([document(written)], READERS)
    expected = f"policy type not supported: {kind} ({version})"
    assert remark.message.startswith(f"{expected}: did you mean `{meant}" if meant else expected)
    assert ("did you mean" in remark.message) == bool(meant)


def exception(**changes):
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "e", "namespace": "ns"},
        "spec": {
            "exceptions": [{"policyName": "p", "ruleNames": ["r", "autogen-*"]}],
            "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
            "conditions": {"all": [{"key": "a", "operator": "Equals", "value": "b"}]},
            "podSecurity": [{"controlName": "Sysctls"}],
        },
        **changes,
    }


def exceptions_load(*data):
    where = Location("e.yaml", 1, 1)
    return load_exceptions([Document(entry, "e.yaml", 0, lambda _: where) for entry in data])


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_an_exception(version):
    exceptions, remarks = exceptions_load(exception(apiVersion=f"kyverno.io/{version}"), None)
    (found,) = exceptions.rules
    assert remarks == ()
    assert found.key == "ns/e"
    assert found.exceptions == (("p", ("r", "autogen-*")),)
    assert found.match == read_match(exception()["spec"]["match"], ("spec", "match"))
    assert found.conditions.groups[0].all[0].operator == "Equals"
    assert found.pod_security[0].control_name == "Sysctls"


@pytest.mark.parametrize(
    ("data", "code", "part"),
    [
        (exception(spec={}), "KV015", "`spec.exceptions` is required"),
        (exception(kind="PolicyExcepton"), "KV011", "did you mean"),
        (exception(apiVersion="kyverno.io/v2alpha1"), "KV011", "`kyverno.io/v2/PolicyException`?"),
        ({"apiVersion": "v1", "kind": "Pod"}, "KV011", "policy exception type not supported"),
        (
            {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy"},
            "KV011",
            "kyverno.io/v1/ClusterPolicy: pass policies as arguments and exceptions with",
        ),
    ],
)
def test_what_is_no_exception_is_an_error_and_stops_nothing(data, code, part):
    found, remarks = exceptions_load(data, exception())
    assert found.total == 1
    assert any(remark.code == code and part in remark.message for remark in remarks)


FOR_POLICIES = {
    "policyRefs": [{"name": "p", "kind": "ValidatingPolicy"}],
    "matchConditions": [{"name": "a", "expression": "true"}],
    "images": ["nginx"],
    "allowedValues": ["x"],
    "reportResult": "pass",
    "expiresAt": "2026-02-03T04:05:06+01:00",
}


def for_policies(version="v1", labels=None, **spec):
    metadata = {"name": "e", "labels": labels or {}}
    api_version = f"policies.kyverno.io/{version}"
    return exception(apiVersion=api_version, metadata=metadata, spec={**FOR_POLICIES, **spec})


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_an_exception_for_policies_in_cel(version):
    exceptions, remarks = exceptions_load(for_policies(version, {"polex.kyverno.io/priority": "3"}))
    assert remarks == ()
    (found,) = exceptions.policies
    assert found.key == "e"
    assert found.policies == (("ValidatingPolicy", "p"),)
    assert [one.expression for one in found.conditions] == ["true"]
    assert (found.images, found.values) == (("nginx",), ("x",))
    assert (found.passes, found.priority) == (True, 3)
    assert found.expires == datetime(2026, 2, 3, 3, 5, 6, tzinfo=UTC)


def test_an_exception_without_images_and_values_is_full():
    part, full = exceptions_load(for_policies(), for_policies(images=[], allowedValues=[]))[
        0
    ].policies
    assert not part.is_full
    assert full.is_full


@pytest.mark.parametrize("priority", ["0x3", "high", ""])
def test_only_numbers_above_zero_are_priorities(priority):
    exceptions, _ = exceptions_load(for_policies(labels={"polex.kyverno.io/priority": priority}))
    assert exceptions.policies[0].priority == 0


@pytest.mark.parametrize("time", ["yesterday", "", "2999-01-31", "2026-13-01T00:00:00Z"])
def test_a_time_that_cannot_be_read_is_an_error(time):
    found, remarks = exceptions_load(for_policies(expiresAt=time))
    assert found.total == 0
    assert [one.code for one in remarks] == ["KV016"]


@pytest.mark.parametrize(
    ("time", "year"), [("0000-01-01T00:00:00Z", 1), ("9999-12-31T23:59:59-12:00", 9999)]
)
def test_a_time_beyond_all_calendars(time, year):
    assert exceptions_load(for_policies(expiresAt=time))[0].policies[0].expires.year == year


def test_is_exception():
    assert is_exception(exception())
    assert is_exception(for_policies())
    assert not is_exception({"kind": "PolicyException"})
    assert not is_exception(None)
