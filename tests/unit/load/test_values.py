import pytest

from kyvsim.load.values import load_values, parse_settings
from kyvsim.model.request import KindKey, Values
from kyvsim.model.source import Document, Location

HEAD = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values"}


def load(**data):
    document = Document({**HEAD, **data}, "v.yaml", 0, lambda _: Location("v.yaml", 1, 1))
    return load_values(document)


def values(**data):
    found, remarks = load(**data)
    assert remarks == ()
    return found


POLICIES = [
    {
        "name": "p",
        "resources": [
            {"name": "x", "values": {"a": 1.0, "request.operation": "UPDATE"}},
            {"name": "x", "values": {"a": 2.0}},
        ],
        "rules": [
            {"name": "r", "values": {"k": "v"}, "foreachValues": {"element": ["one", "two"]}},
            {"name": "autogen-r", "values": {"k": "late"}},
        ],
    },
    {"name": "p", "resources": [{"name": "x", "values": {"b": 3.0}}]},
]


def test_resource_values_win_over_global_ones_and_the_last_wins():
    found = values(globalValues={"a": 0.0, "g": "h"}, policies=POLICIES)
    expected = {"request.operation": "UPDATE", "a": 2.0, "b": 3.0, "g": "h"}
    assert found.for_resource("p", "x") == expected
    assert found.for_resource("p", "y") == {"request.operation": "CREATE", "a": 0.0, "g": "h"}
    assert found.for_resource("q", "x") == {"request.operation": "CREATE", "a": 0.0, "g": "h"}


def test_settings_win_over_everything():
    found = values(policies=POLICIES)._replace(overrides={"a": "set"})
    assert found.for_resource("p", "x")["a"] == "set"
    assert Values(overrides={"a": "set"}).for_resource("p", "x")["a"] == "set"


@pytest.mark.parametrize("rule", ["r", "autogen-r", "autogen-cronjob-r"])
def test_rule_values_hold_for_derived_rules_too(rule):
    found = values(policies=POLICIES)
    assert found.for_rule("p", rule) == {"k": "v", "element": "one"}


def test_no_values_for_other_rules():
    found = values(policies=POLICIES)
    assert found.for_rule("p", "s") == {}
    assert found.for_rule("q", "r") == {}


def test_namespaces_win_over_namespace_selectors():
    found = values(
        namespaceSelector=[
            {"name": "a", "labels": {"x": "1"}},
            {"name": "b", "labels": {"x": "2"}},
        ],
        namespaces=[{"metadata": {"name": "b", "labels": {"x": "3"}, "uid": "u"}}],
    )
    assert found.namespace_labels("a") == {"x": "1"}
    assert found.namespace_labels("b") == {"x": "3"}
    assert found.namespace_labels("c") == {}
    assert found.namespaces["b"]["metadata"]["uid"] == "u"


def test_of_policies_without_variables_only_the_operation_of_all_requests_counts():
    found = values(
        globalValues={"request.operation": "DELETE", "a": "b"},
        policies=[
            {"name": "p", "resources": [{"name": "r", "values": {"request.operation": "UPDATE"}}]}
        ],
    )
    assert found.for_resource("p", "r")["request.operation"] == "UPDATE"
    assert found.without_variables().for_resource("p", "r") == {"request.operation": "DELETE"}
    assert values().without_variables().for_resource("p", "r") == {"request.operation": "CREATE"}


def test_subresources():
    scale = {"name": "deployments/scale", "group": "autoscaling", "version": "v1", "kind": "Scale"}
    parent = {"name": "deployments", "group": "apps", "version": "v1", "kind": "Deployment"}
    found = values(subresources=[{"subresource": scale, "parentResource": parent}])
    mapped = found.subresource_of(KindKey("autoscaling", "v1", "Scale"))
    assert (mapped.name, mapped.parent) == ("scale", KindKey("apps", "v1", "Deployment"))
    assert found.subresource_of(KindKey("apps", "v1", "Deployment")) is None


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ({"kind": None}, "uses a deprecated schema"),
        ({"globalvalues": {}}, "unknown field `globalvalues`: did you mean `globalValues`?"),
        ({"globalValues": []}, "`globalValues` must be a mapping"),
        ({"policies": [{"resources": []}]}, "`policies[0].name` is required"),
        (
            {"policies": [{"name": "p", "rules": [{"name": "r", "foreachValues": {"a": 1}}]}]},
            "list",
        ),
        ({"namespaceSelector": [{"name": "a", "labels": {"x": 1}}]}, "labels.x` must be text"),
        ({"subresources": [{"subresource": {"name": "s"}, "parentResource": {}}]}, "`s`"),
    ],
)
def test_a_values_file_is_read_strictly(data, part):
    found, remarks = load(**data)
    assert found is None
    assert part in remarks[0].message
    assert str(remarks[0].location) == "v.yaml:1:1"


def test_settings_are_split_at_commas_and_the_first_value_wins():
    found, remarks = parse_settings(["a=1, b = x ", "a=2"])
    assert found == {"a": "1", "b": "x"}
    assert ["`a` was set before" in remark.message for remark in remarks] == [True]


@pytest.mark.parametrize("setting", ["a", "a=", "=1", "a=b=c", "request.object.kind=Pod"])
def test_settings_that_are_ignored_are_told(setting):
    found, remarks = parse_settings([setting])
    assert found == {}
    assert [remark.code for remark in remarks] == ["KV036"]
