import pytest

from kyvsim.languages.classic.advice.query_syntax import unreadable_queries


def looping(loop):
    return {"validate": {"foreach": [{"list": "a", "deny": {}, **loop}]}}


CALL = {"name": "x", "apiCall": {"urlPath": "/x", "jmesPath": "items["}}
FIRES = [
    (looping({"list": "a.b["}), "validate/foreach/0/list", "`a.b[` is no JMESPath: SyntaxError"),
    (
        looping({"context": [CALL]}),
        "validate/foreach/0/context/0/apiCall/jmesPath",
        "`items[` is no JMESPath",
    ),
]
PASSES = [
    looping({}),
    looping({"list": "a.b[{{ c }}"}),
    {"context": [CALL]},  # refused by a check
    {"mutate": {"patchStrategicMerge": {"jmesPath": "a["}}},
]


@pytest.mark.parametrize(("rule", "path", "part"), FIRES)
def test_fires(remarks, rule, path, part):
    ((code, found, message),) = remarks(unreadable_queries, rule)
    assert (code, found) == ("KV209", f"spec/rules/0/{path}")
    assert part in message


@pytest.mark.parametrize("rule", PASSES)
def test_leaves_alone(remarks, rule):
    assert remarks(unreadable_queries, rule) == []
