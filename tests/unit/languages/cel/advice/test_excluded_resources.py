import pytest

PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE"],
}
VALIDATIONS = [{"expression": "has(object.spec)"}]


@pytest.mark.parametrize(
    ("excluded", "found"),
    [
        ([PODS], ["KV270"]),
        ([{**PODS, "operations": ["*"], "resources": ["*"]}], ["KV270"]),
        ([{**PODS, "operations": ["UPDATE"]}], []),
        ([{**PODS, "resourceNames": ["a"]}], []),
        ([{**PODS, "scope": "Cluster"}], []),
        ([], []),
    ],
)
def test_excluded_resources_that_cover_all_that_is_matched(written, excluded, found):
    constraints = {"resourceRules": [PODS], "excludeResourceRules": excluded}
    spec = {"matchConstraints": constraints, "validations": VALIDATIONS}
    assert [code for code, _ in written("ValidatingPolicy", spec)] == found
