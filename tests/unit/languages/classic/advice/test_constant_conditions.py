import pytest

from kyvsim.languages.classic.advice.constant_conditions import constant_conditions

FIELD = "{{ request.object.spec.x }}"
OPERATION = "{{ request.operation }}"
CONSTANT = [
    ("a", "Equals", "a", "always"),
    ("a", "NotEquals", "a", "never"),
    (FIELD, "AnyIn", [], "never"),
    (FIELD, "GreaterThan", "many", "never"),
    (FIELD, "LessThanOrEquals", ["1"], "never"),
    (FIELD, "DurationLessThan", True, "never"),
    (OPERATION, "NotEquals", "create", "always"),
    (OPERATION, "AnyIn", ["MAKE"], "never"),
    ("{{ request.operation || 'NONE' }}", "Equals", "SOME", "never"),
]
OPEN = [
    (FIELD, "Equals", "a"),
    ("a", "Equals", FIELD),
    (FIELD, "AllIn", []),
    (FIELD, "AnyNotIn", []),
    (FIELD, "GreaterThan", "1Gi"),
    (FIELD, "GreaterThan", "Inf"),
    (OPERATION, "AnyIn", ["CREATE", "UPDATE", "DELETE", "CONNECT"]),
    (OPERATION, "Equals", "C*"),
    ("{{ request.operation || 'NONE' }}", "NotEquals", "NONE"),
    ("$(./x)", "Equals", "a"),
]


def rule(key, operator, value):
    return {
        "validate": {
            "deny": {"conditions": {"any": [{"key": key, "operator": operator, "value": value}]}}
        }
    }


@pytest.mark.parametrize(("key", "operator", "value", "word"), CONSTANT)
def test_fires_on_what_always_comes_out_the_same(remarks, key, operator, value, word):
    ((code, path, message),) = remarks(constant_conditions, rule(key, operator, value))
    assert (code, path) == ("KV222", "spec/rules/0/validate/deny/conditions/any/0")
    assert f"the condition {word} holds" in message


@pytest.mark.parametrize(("key", "operator", "value"), OPEN)
def test_leaves_alone_what_may_come_out_otherwise(remarks, key, operator, value):
    assert remarks(constant_conditions, rule(key, operator, value)) == []
