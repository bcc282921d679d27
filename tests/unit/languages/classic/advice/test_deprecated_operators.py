import pytest

from kyvsim.languages.classic.advice.deprecated_operators import deprecated_operators


def having(operator):
    return [{"key": "a", "operator": operator, "value": "b"}]


FIRES = [
    ({"preconditions": having("In")}, "preconditions/0/operator", "use `AnyIn` or `AllIn`"),
    ({"preconditions": {"any": having("NotIn")}}, "preconditions/any/0/operator", "`AllNotIn`"),
    (
        {"validate": {"deny": {"conditions": {"all": having("Equal")}}}},
        "validate/deny/conditions/all/0/operator",
        "use `Equals`",
    ),
    (
        {"validate": {"foreach": [{"list": "a", "deny": {"conditions": having("NotEqual")}}]}},
        "validate/foreach/0/deny/conditions/0/operator",
        "use `NotEquals`",
    ),
]
AFFINITY = {"spec": {"affinity": [{"key": "zone", "operator": "In", "values": ["a"]}]}}
PASSES = [
    {"preconditions": {"all": having("AnyIn")}},
    {"preconditions": having("Equals")},
    {"validate": {"pattern": AFFINITY}},
    {"mutate": {"patchStrategicMerge": {"any": AFFINITY, "conditions": having("In")}}},
]


@pytest.mark.parametrize(("rule", "path", "part"), FIRES)
def test_fires(remarks, rule, path, part):
    ((code, found, message),) = remarks(deprecated_operators, rule)
    assert (code, found) == ("KV201", f"spec/rules/0/{path}")
    assert part in message


@pytest.mark.parametrize("rule", PASSES)
def test_leaves_alone(remarks, rule):
    assert remarks(deprecated_operators, rule) == []
