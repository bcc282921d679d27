"""Rows and values of test manifests for what their files do not contain."""

import pytest
import yaml

from kyvsim.api.lint import lint

POLICY = {
    "apiVersion": "kyverno.io/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "p"},
    "spec": {
        "rules": [
            {
                "name": "r",
                "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                "validate": {"message": "No.", "pattern": {"spec": {"=(hostNetwork)": False}}},
            }
        ]
    },
}
VALUES = {
    "apiVersion": "cli.kyverno.io/v1alpha1",
    "kind": "Values",
    "policies": [{"name": "p", "rules": [{"name": "s", "values": {"a": "b"}}]}],
}


@pytest.fixture
def found(tmp_path):
    """Return code and message of each diagnostic of a test with some rows."""

    def report(
        *rows,
        names=("a", "b"),
        resources=("resources.yaml",),
        policy=POLICY,
        values=VALUES,
        **fields,
    ):
        objects = [
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}}
            for name in names
        ]
        test = {
            "apiVersion": "cli.kyverno.io/v1alpha1",
            "kind": "Test",
            "metadata": {"name": "t"},
            "policies": ["policy.yaml"],
            "resources": list(resources),
            "results": [
                {"policy": "p", "rule": "r", "kind": "Pod", "resources": [name], "result": result}
                for name, result in rows
            ],
            **fields,
        }
        (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
        (tmp_path / "resources.yaml").write_text(yaml.safe_dump_all(objects))
        (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
        (tmp_path / "kyverno-test.yaml").write_text(yaml.safe_dump(test))
        told = lint([str(tmp_path)]).diagnostics
        return [(one.code, one.message) for one in told]

    return report


IN_CEL = {
    "apiVersion": "policies.kyverno.io/v1",
    "kind": "ValidatingPolicy",
    "metadata": {"name": "p"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                }
            ]
        },
        "validations": [{"expression": "object.metadata.name != 'x'", "message": "No."}],
    },
}


def test_rows_for_rules_of_a_policy_without_rules(found):
    row = {"policy": "p", "kind": "Pod", "resources": ["a"], "result": "pass"}
    told = [text for code, text in found(("a", "pass"), policy=IN_CEL) if code == "KV042"]
    text = "a ValidatingPolicy has no rules, so the row expects the result of the whole policy"
    assert told == [f"`rule` has no effect: {text}"]
    assert "KV042" not in dict(found(results=[row], policy=IN_CEL))


def test_rows_for_resources_that_are_missing(found):
    ((code, message),) = found(("a", "pass"), ("aaa", "fail"), names=("a", "aab"))
    assert (code, "did you mean `aab`?" in message) == ("KV042", True)
    assert found(("a", "pass"), ("shop/b", "pass")) == []
    assert found(("a", "pass"), ("c", "pass"), resources=("resources.yaml", "*.yml")) == []


def test_rows_that_contradict_each_other(found):
    ((code, message),) = found(("a", "pass"), ("a", "fail"))
    assert (code, "an earlier row expects the result `pass`" in message) == ("KV042", True)
    assert found(("a", "pass"), ("b", "fail")) == []


def test_values_for_missing_rules(found):
    assert [code for code, _ in found(("a", "pass"), variables="values.yaml")] == ["KV073"]


READS_LABELS = {
    **POLICY,
    "spec": {
        "rules": [
            {
                **POLICY["spec"]["rules"][0],
                "match": {
                    "any": [{"resources": {"kinds": ["Pod"], "namespaceSelector": {}}}],
                },
            }
        ]
    },
}


@pytest.mark.parametrize(
    ("policy", "namespaces", "number"),
    [
        (READS_LABELS, ["shops"], 1),
        (READS_LABELS, ["shops", "other"], 2),
        (READS_LABELS, ["shop", "other"], 0),
        (READS_LABELS, [], 0),
        (POLICY, ["shops"], 0),
    ],
)
def test_labels_of_namespaces_without_resources(found, policy, namespaces, number):
    entries = [{"name": name, "labels": {"a": "b"}} for name in namespaces]
    values = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values"}
    given = found(
        ("a", "pass"),
        policy=policy,
        values={**values, "namespaceSelector": entries},
        variables="values.yaml",
    )
    reported = [text for code, text in given if code == "KV073"]
    assert len(reported) == number
    assert all("its resources are in `shop`" in text for text in reported)


def test_files_of_tests_that_are_not_valid(found, tmp_path):
    head = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "UserInfo"}
    (tmp_path / "user.yaml").write_text(yaml.safe_dump({**head, "username": "ann"}))
    reported = [text for code, text in found(values={**VALUES, "value": 1}) if code == "KV012"]
    assert reported == [
        "unknown field `username`: it is a field of `userInfo`",
        "unknown field `value`",
    ]


def test_files_that_are_missing(found):
    ((code, message),) = found(("a", "pass"), resources=("resource.yaml",))
    assert code == "KV001"
    assert "resources.yaml`?" in message


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"policy": "q", "rule": "r"}, "no policy of the test is named `q`"),
        ({"policy": "p", "rule": "autogen-s"}, "`p` has no rule `autogen-s`"),
        ({"policy": "p", "rule": "autogen-r"}, ""),
        ({"policy": "p"}, ""),
    ],
)
def test_rows_for_policies_and_rules_that_are_missing(found, row, problem):
    rows = [{"kind": "Pod", "resources": ["a"], "result": "pass", **row}]
    reported = [text for code, text in found(results=rows) if code == "KV042"]
    assert [problem in text for text in reported] == [True] * bool(problem)


def test_a_policy_that_is_not_valid_may_be_the_one_of_a_row(found, tmp_path):
    (tmp_path / "other.yaml").write_text(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec: 1\n"
    )
    rows = [{"policy": "q", "kind": "Pod", "resources": ["a"], "result": "pass"}]
    assert "KV042" not in [code for code, _ in found(results=rows)]
