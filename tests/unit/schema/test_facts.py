import pytest

from kyvsim.schema.kinds import (
    has_status_apart,
    is_deprecated,
    is_written,
    kyverno_schema,
    written_schema,
)


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
