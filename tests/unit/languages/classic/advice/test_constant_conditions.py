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
LENGTH = "{{ length(request.object.spec.x) }}"
CONSTANT += [
    (LENGTH, "LessThan", 0, "never"),
    (LENGTH, "LessThan", "0", "never"),
    (LENGTH, "LessThanOrEquals", -1, "never"),
    ("{{length(request.object.spec.x[?a == 'b'])}}", "GreaterThanOrEquals", 0, "always"),
    (LENGTH, "GreaterThan", -1, "always"),
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
    (LENGTH, "GreaterThan", 0),
    (LENGTH, "LessThanOrEquals", "0"),
    (LENGTH, "GreaterThanOrEquals", 1),
    (LENGTH, "LessThan", "1h"),
    (LENGTH, "GreaterThan", "1h"),
    (LENGTH, "DurationGreaterThan", "24h"),
    (LENGTH, "Equals", 3),
    ("{{ length(a) || b }}", "GreaterThanOrEquals", 0),
    ("{{ length(a) }}{{ length(b) }}", "LessThan", 0),
    ("{{ length(a) - length(b) }}", "LessThan", 0),
    ("a-{{ length(a) }}", "LessThan", 0),
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


def test_long_lists_with_wildcards_are_not_compared(remarks):
    key, value = [f"a*{n}" for n in range(1000)], [f"b*{n}" for n in range(1000)]
    assert remarks(constant_conditions, rule(key[:100], "AnyIn", value[:100]))
    assert remarks(constant_conditions, rule(key, "AnyIn", value)) == []
