import pytest

from kyvsim.kubernetes.discovery import crd_kinds, kind_of_plural, kinds_named, preferred_version
from kyvsim.languages import READERS
from kyvsim.schema.kinds import (
    NATIVE_GROUP,
    POLICY_GROUPS,
    given_schema,
    kyverno_kinds,
    native_kinds,
    policy_names,
    served_names,
)

ROOT = {"type": "object", "properties": {"spec": {"type": "object"}}}


def definition(**spec):
    version = {"name": "v1", "schema": {"openAPIV3Schema": ROOT}}
    spec = {"group": "x.io", "names": {"kind": "A"}, "versions": [version], **spec}
    return {"kind": "CustomResourceDefinition", "spec": spec}


def test_kinds_have_names_versions_and_a_scope():
    known = kyverno_kinds()
    policy = known["kyverno.io", "ClusterPolicy"]
    assert policy[:3] == ("clusterpolicies", False, ("v1", "v2beta1"))
    assert known["kyverno.io", "UpdateRequest"].versions == ("v2",)
    assert known["policies.kyverno.io", "NamespacedMutatingPolicy"].namespaced
    assert kind_of_plural("wgpolicyk8s.io", "policyreports", known) == "PolicyReport"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("cpol", ("kyverno.io", "ClusterPolicy")),
        ("polex", ("kyverno.io", "PolicyException")),
        ("vpol", ("policies.kyverno.io", "ValidatingPolicy")),
        ("cephr", ("reports.kyverno.io", "ClusterEphemeralReport")),
        ("po", ("", "Pod")),
    ],
)
def test_short_names(name, key):
    assert kinds_named(name, kyverno_kinds()) == [key]


@pytest.mark.parametrize(
    ("group", "kind", "version"),
    [
        ("kyverno.io", "Policy", "v1"),
        ("kyverno.io", "GlobalContextEntry", "v2"),
        ("policies.kyverno.io", "ValidatingPolicy", "v1"),
        ("wgpolicyk8s.io", "PolicyReport", "v1alpha2"),
    ],
)
def test_the_version_that_clients_ask_for(group, kind, version):
    assert preferred_version(group, kind, kyverno_kinds()) == version


def test_what_policies_are_called():
    assert {"ClusterPolicy", "PolicyException", "NamespacedDeletingPolicy"} <= policy_names()
    assert not {"Policy", "UpdateRequest", "PolicyReport"} & policy_names()


def test_policies_of_all_kinds_are_read():
    read = {key for key in READERS if key[0] in POLICY_GROUPS}
    kinds = {key for key in kyverno_kinds() if key[0] in POLICY_GROUPS}
    assert read == {key for key in kinds if key[1].endswith("Policy")}
    native = {f"{kind}{twin}" for group, kind in READERS for twin in ("", "Binding")}
    assert native_kinds() <= native
    assert {key for key in READERS if key[0] == NATIVE_GROUP} == READERS.keys() - read


def test_kinds_have_names_in_the_versions_that_are_served():
    assert served_names([("kyverno.io", "Policy"), ("policies.kyverno.io", "PolicyException")]) == {
        "kyverno.io/v1/Policy",
        "kyverno.io/v2beta1/Policy",
        "policies.kyverno.io/v1/PolicyException",
        "policies.kyverno.io/v1beta1/PolicyException",
        "policies.kyverno.io/v1alpha1/PolicyException",
    }
    assert not served_names([("kyverno.io", "Nothing")])


def test_the_schema_of_a_definition_is_that_of_the_version():
    found = given_schema("x.io/v1", "A", crd_kinds([definition()]))
    assert found is not None
    assert found.words == ROOT


@pytest.mark.parametrize("spec", [{"preserveUnknownFields": True}, {"versions": [{"name": "v1"}]}])
def test_a_definition_without_a_schema(spec):
    assert given_schema("x.io/v1", "A", crd_kinds([definition(**spec)])) is None


@pytest.mark.parametrize("api_version", ["x.io/v2", "y.io/v1", "v1"])
def test_what_is_not_defined_has_no_schema(api_version):
    assert given_schema(api_version, "A", crd_kinds([definition()])) is None
