import pytest

from kyvsim.kubernetes.labels import SelectorError, compile_selector

LABELS = {"app": "web", "tier": "front", "example.com/team": "a-b", "empty": ""}


def selects(selector, labels=LABELS):
    return compile_selector(selector)(labels)


def expression(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    "selector",
    [
        {},
        {"matchLabels": None},
        {"matchLabels": {"app": "web", "tier": "front"}},
        {"matchLabels": {"a*": "w?b"}},
        {"matchLabels": {"*/team": "*"}},
        {"matchLabels": {"empty": "*"}},
        expression("app", "In", "db", "web"),
        expression("app", "NotIn", "db"),
        expression("none", "NotIn", "db"),
        expression("tier", "Exists"),
        expression("none", "DoesNotExist"),
    ],
)
def test_selects(selector):
    assert selects(selector) is True


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"app": "db"}},
        {"matchLabels": {"app": "web", "none": "x"}},
        {"matchLabels": {"a*": "front"}},
        {"matchLabels": {"empty": "?*"}},
        expression("none", "In", "db"),
        expression("app", "NotIn", "web"),
        expression("none", "Exists"),
        expression("app", "DoesNotExist"),
    ],
)
def test_selects_not(selector):
    assert selects(selector) is False


def test_a_wildcard_needs_a_label_to_fit():
    assert selects({"matchLabels": {"a*": "*"}}, {}) is False


@pytest.mark.parametrize("value", ["not legal!", "-a", "a-", "a/b", "x" * 64])
def test_a_value_that_no_label_can_have_never_meets_a_wildcard(value):
    assert selects({"matchLabels": {"app": "*"}}, {"app": value}) is False
    assert selects({"matchLabels": {"app": "*"}}, {"app": "x" * 63}) is True


@pytest.mark.parametrize("key", ["a b", "a" * 64, "Example.com/a", "/a"])
def test_a_key_that_no_label_can_have_never_meets_a_wildcard(key):
    assert selects({"matchLabels": {"*": "web"}}, {key: "web"}) is False
    assert selects({"matchLabels": {"*": "web"}}, {key: "web", "app": "web"}) is True


@pytest.mark.parametrize(
    "selector",
    [
        expression("app", "Equals", "web"),
        expression("app", "In"),
        expression("app", "Exists", "web"),
        expression("a*", "Exists"),
        expression("app", "In", "w*"),
        {"matchLabels": {"": "x"}},
        {"matchLabels": {"a b": "x"}},
        {"matchLabels": {"Example.com/team": "x"}},
        {"matchLabels": {"app": "not a label value"}},
        {"matchLabels": {"app": "x" * 64}},
    ],
)
def test_refuses(selector):
    with pytest.raises(SelectorError):
        compile_selector(selector)
