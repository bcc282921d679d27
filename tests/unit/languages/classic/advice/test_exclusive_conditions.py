import pytest

from kyvsim.languages.classic.advice.constant_conditions import exclusive_conditions

OPERATION = "{{ request.operation }}"
NAME = "{{ request.object.metadata.name }}"
EXCLUSIVE = [
    [(OPERATION, "Equals", "CREATE"), ("{{request.operation}}", "Equals", "UPDATE")],
    [(NAME, "Equals", "web"), (NAME, "NotEquals", "web")],
    [(NAME, "Equals", "web"), (NAME, "AnyIn", ["shop", "s*"])],
    [(NAME, "Equals", "web"), (OPERATION, "Equals", "CREATE"), (NAME, "Equals", "w?")],
    [(NAME, "Equals", "web"), (NAME, "AllNotIn", ["web"])],
]
TOGETHER = [
    [(NAME, "Equals", "web"), (OPERATION, "Equals", "CREATE")],
    [(NAME, "Equals", "web"), (NAME, "Equals", "w*")],
    [(NAME, "Equals", "a*"), (NAME, "Equals", "*b")],
    [(NAME, "Equals", "1h"), (NAME, "Equals", "60m")],
    [(NAME, "Equals", "1Gi"), (NAME, "Equals", "1024Mi")],
    [(NAME, "Equals", "1e3"), (NAME, "Equals", 1000)],
    [(NAME, "Equals", ""), (NAME, "NotEquals", "web")],
    [(NAME, "Equals", "web"), (NAME, "Equals", OPERATION)],
    [(NAME, "NotEquals", "web"), (NAME, "NotEquals", "shop")],
    [("{{ random('[a-z]') }}", "Equals", "a"), ("{{ random('[a-z]') }}", "Equals", "b")],
    [("a-{{ x }}", "Equals", "a-b"), ("a-{{ x }}", "Equals", "a-c")],
]


def written(conditions):
    return [{"key": key, "operator": name, "value": value} for key, name, value in conditions]


@pytest.mark.parametrize("conditions", EXCLUSIVE)
@pytest.mark.parametrize(
    "place",
    [
        lambda given: {"preconditions": {"all": given}},
        lambda given: {"preconditions": given},
        lambda given: {"validate": {"deny": {"conditions": {"all": given}}}},
        lambda given: {"validate": {"foreach": [{"preconditions": {"all": given}}]}},
    ],
)
def test_what_never_holds_together_is_told_once(remarks, conditions, place):
    ((code, path, message),) = remarks(exclusive_conditions, place(written(conditions)))
    assert code == "KV223"
    assert path.endswith(f"/{len(conditions) - 1}")
    assert "beside this one `{{ request." in message


@pytest.mark.parametrize("conditions", TOGETHER)
def test_what_may_hold_together_is_left_alone(remarks, conditions):
    given = {"preconditions": {"all": written(conditions)}}
    assert remarks(exclusive_conditions, given) == []


@pytest.mark.parametrize("conditions", EXCLUSIVE)
def test_one_of_any_is_enough(remarks, conditions):
    assert remarks(exclusive_conditions, {"preconditions": {"any": written(conditions)}}) == []


def test_conditions_of_two_lists_are_two(remarks):
    first, second = written(EXCLUSIVE[0])
    rule = {
        "preconditions": {"all": [first]},
        "validate": {"deny": {"conditions": {"all": [second]}}},
    }
    assert remarks(exclusive_conditions, rule) == []


def test_the_older_operator_says_the_same(remarks):
    given = written([(NAME, "Equal", "web"), (NAME, "Equal", "shop")])
    assert len(remarks(exclusive_conditions, {"preconditions": {"all": given}})) == 1
