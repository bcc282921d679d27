import importlib.util
import json
from pathlib import Path

import pytest

from kyvsim.kube.discovery import KindFacts, crd_kinds, is_namespaced, kind_of_plural, plural

ROOT = Path(__file__).parents[3]


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


def test_the_table_is_what_the_script_makes():
    path = ROOT / "tests" / "package_data" / "make_kinds.py"
    spec = importlib.util.spec_from_file_location("make_kinds", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    if not script.SOURCE.exists():
        pytest.skip("the schemas are not beside this checkout")
    assert script.TARGET.read_text(encoding="utf-8") == script.make_text()


def test_the_script_makes_a_table_by_group():
    text = (ROOT / "kyvsim" / "kube" / "builtin_kinds.json").read_text(encoding="utf-8")
    assert json.loads(text)["batch"]["CronJob"] == ["cronjobs", 1]
