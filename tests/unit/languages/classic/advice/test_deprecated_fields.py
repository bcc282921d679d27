import pytest

from kyvsim.languages.classic.advice.deprecated_fields import deprecated_fields

KINDS = {"kinds": ["Pod"]}
SPEC = [
    ("validationFailureAction", "Audit", "`validate.failureAction` of each rule"),
    ("failurePolicy", "Ignore", "`spec.webhookConfiguration.failurePolicy`"),
    ("webhookTimeoutSeconds", 5, "`spec.webhookConfiguration.timeoutSeconds`"),
    ("generateExisting", True, "`generate.generateExisting` of each rule"),
    ("schemaValidation", False, "leave it out"),
]
RULES = [
    ({"match": {"resources": KINDS}}, ["match/resources"]),
    ({"match": {"resources": {**KINDS, "name": "a"}}}, ["match/resources", "match/resources/name"]),
    ({"exclude": {"any": [{"resources": {"name": "a"}}]}}, ["exclude/any/0/resources/name"]),
    (
        {"verifyImages": [{"image": "a/*", "key": "k"}]},
        ["verifyImages/0/image", "verifyImages/0/key"],
    ),
    (
        {"verifyImages": [{"attestations": [{"predicateType": "t"}]}]},
        ["verifyImages/0/attestations/0/predicateType"],
    ),
]


@pytest.mark.parametrize(("name", "value", "part"), SPEC)
def test_fires_on_fields_of_the_spec(remarks, name, value, part):
    ((code, path, message),) = remarks(deprecated_fields, {}, **{name: value})
    assert (code, path) == ("KV202", f"spec/{name}")
    assert part in message


@pytest.mark.parametrize(("rule", "paths"), RULES)
def test_fires_on_fields_of_rules(remarks, rule, paths):
    found = [path for _, path, _ in remarks(deprecated_fields, rule)]
    assert found == [f"spec/rules/0/{path}" for path in paths]


def test_leaves_their_successors_and_defaults_alone(remarks):
    rule = {"exclude": {"any": [{"resources": {"names": ["a"]}}]}, "validate": {"deny": {}}}
    new = {"webhookConfiguration": {"timeoutSeconds": 5}, "background": False}
    assert remarks(deprecated_fields, rule, **new) == []
    assert remarks(deprecated_fields, {"verifyImages": [{"imageReferences": ["a"]}]}) == []


def test_leaves_alone_what_is_refused(remarks):
    assert remarks(deprecated_fields, {}, generateExistingOnPolicyUpdate=True) == []
