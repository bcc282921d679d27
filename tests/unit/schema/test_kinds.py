"""Kinds and their facts."""

import pytest

from kyvsim.kubernetes.discovery import crd_kinds, kind_of_plural, kinds_named, preferred_version
from kyvsim.languages import READERS
from kyvsim.schema.kinds import (
    NATIVE_GROUP,
    POLICY_GROUPS,
    given_schema,
    has_status_apart,
    is_deprecated,
    is_written,
    kyverno_kinds,
    kyverno_schema,
    native_kinds,
    policy_names,
    served_names,
    written_schema,
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


def test_versions_of_one_shape_share_their_schema():
    one = kyverno_schema("kyverno.io/v1", "ClusterPolicy")
    assert one is not None
    assert one is kyverno_schema("kyverno.io/v1", "Policy")


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("kyverno.io/v9", "Policy"), ("kyverno.io/v1", "Police"), ("v1", "Pod"), ("", "")],
)
def test_other_kinds_have_no_schema(api_version, kind):
    assert kyverno_schema(api_version, kind) is None
    assert not is_written(f"{api_version}/{kind}")


def test_who_writes_a_policy_gives_it_a_name():
    schema = written_schema("kyverno.io/v1/ClusterPolicy")
    assert schema.words["required"] == ["metadata", "spec"]
    assert schema.child("metadata").words["required"] == ["name"]
    own = kyverno_schema("kyverno.io/v1", "ClusterPolicy")
    assert schema.child("spec").properties.keys() == own.child("spec").properties.keys()


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("kyverno.io/v2beta1/CleanupPolicy", True),
        ("policies.kyverno.io/v1/NamespacedMutatingPolicy", True),
        ("policies.kyverno.io/v1alpha1/NamespacedMutatingPolicy", False),
        ("kyverno.io/v2/UpdateRequest", False),
        ("wgpolicyk8s.io/v1alpha2/PolicyReport", False),
    ],
)
def test_kinds_that_users_write(name, is_one):
    assert is_written(name) is is_one


def test_whose_status_stands_apart():
    assert has_status_apart("kyverno.io/v1", "Policy")
    assert not has_status_apart("kyverno.io/v2", "PolicyException")
    assert not has_status_apart("kyverno.io/v9", "Policy")
    assert not has_status_apart("v1", "Pod")


def test_versions_that_have_been_replaced():
    assert is_deprecated("kyverno.io/v2beta1", "CleanupPolicy")
    assert is_deprecated("policies.kyverno.io/v1alpha1", "ValidatingPolicy")
    assert not is_deprecated("kyverno.io/v2beta1", "ClusterPolicy")
    assert not is_deprecated("v1", "Pod")
