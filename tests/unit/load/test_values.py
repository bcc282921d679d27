"""Values files, mocks and users."""

import pytest

from kyvsim.load.values import load_userinfo, load_values, named_user, parse_settings
from kyvsim.model.request import UserInfo
from kyvsim.model.source import Document, Location
from kyvsim.model.values import CallAnswer, GlobalData, KindKey, Mocks, Values

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
    assert ["`a` is already set" in remark.message for remark in remarks] == [True]


@pytest.mark.parametrize("setting", ["a", "a=", "=1", "a=b=c", "request.object.kind=Pod"])
def test_settings_that_are_ignored_are_told(setting):
    found, remarks = parse_settings([setting])
    assert found == {}
    assert [remark.code for remark in remarks] == ["KV036"]


MOCKS_HEAD = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values"}


def mocks_load(file="v.yaml", **data):
    document = Document({**MOCKS_HEAD, **data}, file, 0, lambda _: Location(file, 1, 1))
    return load_values(document)


def mocks(**data):
    found, remarks = mocks_load(**data)
    assert remarks == ()
    return found.mocks


def test_answers_to_calls():
    found = mocks(
        apiCallResponses=[
            {"url": " https://x.io/y ", "method": " post ", "response": {"body": {"a": 1.0}}},
            {"url": "https://x.io/y", "response": {"statusCode": 404.0, "body": {}}},
            {"urlPath": "/api/v1/pods", "response": {"body": {"b": 2.0}}},
        ]
    )
    assert found.answer("POST", "https://x.io/y") == CallAnswer(200, {"a": 1.0})
    assert found.answer("GET", "https://x.io/y") == CallAnswer(404, {})
    assert not found.answer("GET", "https://x.io/y").good
    assert found.answer("GET", "/api/v1/pods").body == {"b": 2.0}
    assert found.answer("GET", "/api/v1/nodes") is None


def test_global_data():
    found = mocks(
        globalContextEntries=[
            {"name": "d", "data": {"x": 1.0}, "fieldPath": "x"},
            {"name": "r", "resources": [{"k": "v"}], "projections": [{"name": "n", "path": "[0]"}]},
        ]
    )
    assert found == Mocks(
        {}, {"d": GlobalData({"x": 1.0}, "x"), "r": GlobalData([{"k": "v"}], "", (("n", "[0]"),))}
    )


def test_resource_files_stand_beside_the_document(tmp_path):
    text = "kind: A\nsize: 1\n---\n---\nkind: B\n"
    (tmp_path / "objects.yaml").write_text(text, encoding="utf-8")
    entry = {"name": "f", "resourceFiles": ["objects.yaml"]}
    found, remarks = mocks_load(str(tmp_path / "v.yaml"), globalContextEntries=[entry])
    assert remarks == ()
    (data,) = (one.data for one in found.mocks.global_data.values())
    assert data == [{"kind": "A", "size": 1.0}, {"kind": "B"}]
    assert data[0]["size"].__class__ is float
    entry["resourceFiles"] = ["no.yaml"]
    found, remarks = mocks_load(str(tmp_path / "v.yaml"), globalContextEntries=[entry])
    assert found is None
    assert remarks


GOOD = {"response": {"body": {}}}


@pytest.mark.parametrize(
    ("code", "data"),
    [
        ("KV017", {"apiCallResponses": [GOOD]}),
        ("KV017", {"apiCallResponses": [{**GOOD, "url": "https://x.io", "urlPath": "/x"}]}),
        ("KV016", {"apiCallResponses": [{**GOOD, "url": "ftp://x.io"}]}),
        ("KV016", {"apiCallResponses": [{**GOOD, "urlPath": "api"}]}),
        ("KV015", {"apiCallResponses": [{"urlPath": "/x", "response": {}}]}),
        ("KV033", {"apiCallResponses": [{**GOOD, "urlPath": "/x", "method": "PUT"}]}),
        (
            "KV033",
            {"apiCallResponses": [{"urlPath": "/x", "response": {"body": {}, "statusCode": 7}}]},
        ),
        ("KV034", {"apiCallResponses": [{**GOOD, "urlPath": "/x"}, {**GOOD, "urlPath": "/x"}]}),
        ("KV017", {"globalContextEntries": [{"name": "d"}]}),
        ("KV017", {"globalContextEntries": [{"name": "d", "data": {}, "resources": []}]}),
        ("KV034", {"globalContextEntries": [{"name": "d", "data": {}}, {"name": "d", "data": {}}]}),
    ],
)
def test_entries_that_cannot_be_used(code, data):
    found, remarks = mocks_load(**data)
    assert found is None
    assert [one.code for one in remarks] == [code]


USERINFO_HEAD = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "UserInfo"}


def userinfo_load(data):
    return load_userinfo(Document(data, "u.yaml", 0, lambda _: Location("u.yaml", 1, 1)))


def test_a_user_with_everything():
    found, remarks = userinfo_load(
        {
            **USERINFO_HEAD,
            "roles": ["ns:dev"],
            "clusterRoles": ["admin"],
            "userInfo": {
                "username": "system:serviceaccount:ns:sa",
                "uid": "u",
                "groups": ["g"],
                "extra": {"scopes": ["a"]},
            },
        }
    )
    assert remarks == ()
    assert found == UserInfo(
        username="system:serviceaccount:ns:sa",
        uid="u",
        groups=("g",),
        extra={"scopes": ["a"]},
        roles=("ns:dev",),
        cluster_roles=("admin",),
    )


def test_an_empty_user():
    assert userinfo_load(USERINFO_HEAD) == (UserInfo(), ())


def test_unknown_fields_and_the_old_layout_are_errors():
    found, remarks = userinfo_load({**USERINFO_HEAD, "userInfo": {"name": "x"}})
    assert found is None
    assert "unknown field `userInfo.name`" in remarks[0].message
    found, remarks = userinfo_load({"clusterRoles": ["admin"]})
    assert found is None
    assert remarks[0].code == "KV031"


def test_a_file_of_another_kind_is_called_what_it_is():
    found, remarks = userinfo_load(
        {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values", "spec": {}}
    )
    assert (found, [one.code for one in remarks]) == (None, ["KV079"])
    assert remarks[0].message == (
        "expected a file of kind UserInfo, found Values (cli.kyverno.io/v1alpha1): "
        "pass it with --values-file"
    )


def test_service_accounts_have_their_groups():
    groups = named_user("system:serviceaccount:ci:bot").groups
    assert groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:ci",
        "system:authenticated",
    )
