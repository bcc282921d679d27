"""Problems of names and namespaces."""

import pytest

from kyvsim.kubernetes.validation import identity_problems

GOOD = [
    ("v1", "ConfigMap", "a.b-c.d0", "n"),
    ("v1", "ConfigMap", "a" * 253, ""),
    ("v1", "Namespace", "team-a", ""),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "system:Node", ""),
    ("shop.example.com/v1", "Cart", "a", "n"),
]
BAD = [
    ("v1", "ConfigMap", "Upper", "n", "`Upper`: the name is not a valid RFC 1123 name"),
    ("v1", "ConfigMap", "a_b", "n", "`a_b`"),
    ("v1", "ConfigMap", "", "n", "a ConfigMap without a name: it is empty"),
    ("policy/v1", "PodDisruptionBudgets", "a", "n", "did you mean `PodDisruptionBudget`?"),
    ("v1", "Deployment", "a", "n", "the core group has no such kind"),
    ("v1", "ConfigMap", "a" * 254, "n", "RFC 1123 name"),
    ("v1", "ConfigMap", "-a", "n", "`-a`"),
    ("v1", "ConfigMap", "a..b", "n", "`a..b`"),
    ("v1", "Namespace", "a.b", "", "not a valid RFC 1123 label"),
    ("v1", "Service", "a" * 64, "n", "RFC 1123 label"),
    ("rbac.authorization.k8s.io/v1", "Role", "a/b", "n", "path segment"),
    ("v1", "ConfigMap", "a", "N", "namespace `N` of ConfigMap `a`"),
]


def made(api_version, kind, name, namespace):
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
    }


@pytest.mark.parametrize("parts", GOOD)
def test_good_names(parts):
    assert [*identity_problems(made(*parts))] == []


@pytest.mark.parametrize("parts", BAD)
def test_bad_names(parts):
    *named, told = parts
    (problem,) = identity_problems(made(*named))
    assert told in problem


def test_a_generated_name_is_a_name():
    obj = made("v1", "ConfigMap", "", "n")
    named = {**obj, "metadata": {"generateName": "a-", "namespace": "n"}}
    assert [*identity_problems(named)] == []
