"""Kinds and versions."""

import pytest

from kyvsim.kubernetes.discovery import (
    ApiPath,
    KindFacts,
    KindSelector,
    crd_kinds,
    is_namespaced,
    kind_of_plural,
    kinds_named,
    parse_kind_selector,
    parse_path,
    plural,
    preferred_version,
    served_versions,
    split_api_version,
)


def widget(scope="Cluster", **names):
    return {
        "kind": "CustomResourceDefinition",
        "spec": {"group": "e.io", "scope": scope, "names": {"kind": "Widget", **names}},
    }


@pytest.mark.parametrize(
    ("group", "kind", "answer"),
    [
        ("", "Pod", True),
        ("", "Namespace", False),
        ("apps", "Deployment", True),
        ("rbac.authorization.k8s.io", "ClusterRole", False),
        ("", "ClusterRole", True),
        ("e.io", "Widget", True),
    ],
)
def test_scope(group, kind, answer):
    assert is_namespaced(group, kind) is answer


@pytest.mark.parametrize(
    ("group", "kind", "name"),
    [
        ("networking.k8s.io", "Ingress", "ingresses"),
        ("", "Endpoints", "endpoints"),
        ("e.io", "Policy", "policies"),
        ("e.io", "Bus", "buses"),
        ("e.io", "Widget", "widgets"),
        ("e.io", "MyEndpoints", "myendpoints"),
        ("e.io", "", ""),
    ],
)
def test_plural_names(group, kind, name):
    assert plural(group, kind) == name


def test_kinds_by_plural_name():
    assert kind_of_plural("apps", "statefulsets") == "StatefulSet"
    assert kind_of_plural("", "statefulsets") == ""


def test_custom_resource_definitions_extend_the_table():
    extra = crd_kinds([widget(plural="widgetry"), {"kind": "Pod"}, None])
    assert extra == {("e.io", "Widget"): KindFacts("widgetry", namespaced=False)}
    assert not is_namespaced("e.io", "Widget", extra)
    assert plural("e.io", "Widget", extra) == "widgetry"
    assert kind_of_plural("e.io", "widgetry", extra) == "Widget"


@pytest.mark.parametrize("spec", [None, [], {}, {"names": None}, {"names": {"kind": 5}}])
def test_broken_definitions_are_passed_over(spec):
    assert not crd_kinds([{"kind": "CustomResourceDefinition", "spec": spec}])


@pytest.mark.parametrize(
    ("group", "kind", "version"),
    [
        ("autoscaling", "HorizontalPodAutoscaler", "v2"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy", "v1"),
        ("", "Pod", "v1"),
        ("x.io", "Unknown", "v1"),
    ],
)
def test_clients_ask_for_the_most_stable_version(group, kind, version):
    assert preferred_version(group, kind) == version


def test_versions_of_later_releases_are_served_too():
    for kind in ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"):
        found = served_versions("admissionregistration.k8s.io", kind)
        assert found == ("v1alpha1", "v1beta1", "v1")


def test_stable_versions_come_before_newer_ones_that_are_not():
    facts = KindFacts("widgets", True, ("odd", "v2alpha1", "v1", "v10beta2", "v3beta1"))
    assert preferred_version("e.io", "Widget", {("e.io", "Widget"): facts}) == "v1"
    facts = facts._replace(versions=("v2alpha1", "v3beta1", "v10beta2", "odd"))
    assert preferred_version("e.io", "Widget", {("e.io", "Widget"): facts}) == "v10beta2"


def test_short_names_are_names_too():
    extra = crd_kinds([widget(plural="widgets", shortNames=["wi", "po"])])
    assert kinds_named("wi", extra) == [("e.io", "Widget")]
    assert kinds_named("po", extra) == [("", "Pod"), ("e.io", "Widget")]


def test_kinds_that_the_reference_does_not_know_are_namespaced_for_it():
    assert is_namespaced("certificates.k8s.io", "ClusterTrustBundle")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Pod", ("*", "*", "Pod", "")),
        ("P*", ("*", "*", "P*", "")),
        ("*", ("*", "*", "*", "")),
        ("*/*", ("*", "*", "*", "*")),
        ("v1/Pod", ("*", "v1", "Pod", "")),
        ("v1beta1/Foo", ("*", "v1beta1", "Foo", "")),
        ("v10/Foo", ("*", "*", "v10", "Foo")),
        ("*/Pod", ("*", "*", "Pod", "")),
        ("*/scale", ("*", "*", "*", "scale")),
        ("Pod/exec", ("*", "*", "Pod", "exec")),
        ("Pod.exec", ("*", "*", "Pod", "exec")),
        ("v1/Pod/exec", ("*", "v1", "Pod", "exec")),
        ("v1/Pod.exec", ("*", "v1", "Pod", "exec")),
        ("*/*/Pod", ("*", "*", "*", "Pod")),
        ("apps/v1/Deployment", ("apps", "v1", "Deployment", "")),
        ("apps/*/Deployment", ("apps", "*", "Deployment", "")),
        ("a.io/v1/Foo/status", ("a.io", "v1", "Foo", "status")),
        ("a.io/v1/Foo.status", ("a.io", "v1", "Foo", "status")),
        ("a/b/c/d/e", ("", "", "", "")),
        ("a.b.c", ("a", "b", "c", "")),
    ],
)
def test_kind_selectors(text, parts):
    assert parse_kind_selector(text) == KindSelector(*parts)


@pytest.mark.parametrize(
    ("text", "parts"), [("v1", ("", "v1")), ("apps/v1", ("apps", "v1")), ("", ("", ""))]
)
def test_api_versions(text, parts):
    assert split_api_version(text) == parts


PATHS = [
    ("/api/v1/pods", ApiPath("v1", "", "pods", "", "")),
    ("/api/v1/namespaces/a/pods", ApiPath("v1", "a", "pods", "", "")),
    ("/api/v1/namespaces/a/pods/b", ApiPath("v1", "a", "pods", "b", "")),
    ("/api/v1/namespaces/a/pods/b/log", ApiPath("v1", "a", "pods", "b", "log")),
    ("/api/v1/namespaces//pods", ApiPath("v1", "", "pods", "", "")),
    ("/api/v1/namespaces", ApiPath("v1", "", "namespaces", "", "")),
    ("/api/v1/namespaces/a", ApiPath("v1", "", "namespaces", "a", "")),
    ("/api/v1/namespaces/a/status", ApiPath("v1", "", "namespaces", "a", "status")),
    ("/apis/apps/v1/deployments", ApiPath("apps/v1", "", "deployments", "", "")),
    ("/apis/apps/v1/namespaces/a/deployments/b", ApiPath("apps/v1", "a", "deployments", "b", "")),
    ("/apis/g.io/v1/things/b/status", ApiPath("g.io/v1", "", "things", "b", "status")),
    ("/api/v1/pods/", ApiPath("v1", "", "pods", "", "")),
    ("/version", None),
    ("/api/v1", None),
    ("/apis/apps/v1", None),
    ("/apis/apps/v1/namespaces/a", None),
    ("/api/v1/namespaces/a/services/s/proxy/more", None),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_paths_name_resources(path, expected):
    assert parse_path(path) == expected
