import pytest

from kyvsim.lint.expressions import impossible_calls, unread_entries, unreadable_queries

# unread entries


def entry(name, **variable):
    return {"name": name, "variable": variable or {"value": "v"}}


def says(text):
    return {"validate": {"message": text, "deny": {}}}


FIRES = [
    ({"context": [entry("a")]}, ["context/0"]),
    ({"context": [entry("a"), entry("b")], **says("{{ b }}")}, ["context/0"]),
    ({"context": [entry("a")], **says("{{ ab }} {{ a_b }}")}, ["context/0"]),
    ({"context": [entry("a", jmesPath="a.b")]}, ["context/0"]),
    (
        {"validate": {"foreach": [{"list": "x", "context": [entry("a")], "deny": {}}]}},
        ["validate/foreach/0/context/0"],
    ),
]
PASSES = [
    {"context": [entry("a")], **says("{{ a }}")},
    {"context": [entry("a")], **says("{{ x.y[a] }} plain")},
    {"context": [entry("a"), entry("b", jmesPath="a.x")], **says("{{ b }}")},
    {"context": [entry("a")], "validate": {"pattern": {"{{ a }}": "x"}}},
    {"context": [entry("a")], **says("{{ {{ request.object.x }} }}")},
    {"context": [entry("a"), entry("b", jmesPath="{{ request.object.x }}")], **says("{{ b }}")},
    {"validate": {"foreach": [{"list": "a", "context": [entry("a")], "deny": {}}]}},
    {"mutate": {"patchStrategicMerge": {"context": [{"name": "a"}]}}},
]


@pytest.mark.parametrize(("rule", "paths"), FIRES)
def test_unread_entries_fires(remarks, rule, paths):
    found = remarks(unread_entries, rule)
    assert [path for _, path, _ in found] == [f"spec/rules/0/{path}" for path in paths]
    assert {code for code, _, _ in found} == {"KV204"}


@pytest.mark.parametrize("rule", PASSES)
def test_unread_entries_leaves_alone(remarks, rule):
    assert remarks(unread_entries, rule) == []


# query syntax


def looping(loop):
    return {"validate": {"foreach": [{"list": "a", "deny": {}, **loop}]}}


CALL = {"name": "x", "apiCall": {"urlPath": "/x", "jmesPath": "items["}}
FIRES_QUERY_SYNTAX = [
    (
        looping({"list": "a.b["}),
        "validate/foreach/0/list",
        "`a.b[` is not valid JMESPath: SyntaxError",
    ),
    (
        looping({"context": [CALL]}),
        "validate/foreach/0/context/0/apiCall/jmesPath",
        "`items[` is not valid JMESPath",
    ),
]
PASSES_QUERY_SYNTAX = [
    looping({}),
    looping({"list": "a.b[{{ c }}"}),
    {"context": [CALL]},  # refused by a check
    {"mutate": {"patchStrategicMerge": {"jmesPath": "a["}}},
]


@pytest.mark.parametrize(("rule", "path", "part"), FIRES_QUERY_SYNTAX)
def test_query_syntax_fires(remarks, rule, path, part):
    ((code, found, message),) = remarks(unreadable_queries, rule)
    assert (code, found) == ("KV209", f"spec/rules/0/{path}")
    assert part in message


@pytest.mark.parametrize("rule", PASSES_QUERY_SYNTAX)
def test_query_syntax_leaves_alone(remarks, rule):
    assert remarks(unreadable_queries, rule) == []


# function calls


FIRES_FUNCTION_CALLS = [
    (says("{{ lenght(a) }}"), "unknown function `lenght`: did you mean `length`?"),
    (says("{{ a[?b].{c: qqqqq(@)} }}"), "unknown function `qqqqq`"),
    (says("{{ split('a') }}"), "function `split` takes 2 arguments, not 1"),
    (says("{{ not_null() }}"), "function `not_null` takes at least 1 argument, not 0"),
    (says("{{ {{ nope(a) }} }}"), "unknown function `nope`"),
    (
        {"context": [{"name": "x", "variable": {"jmesPath": "to_uper(a)"}}]},
        "unknown function `to_uper`: did you mean `to_upper`?",
    ),
    ({"validate": {"foreach": [{"list": "keyz(a)", "deny": {}}]}}, "unknown function `keyz`"),
    ({"mutate": {"patchStrategicMerge": {"{{ nope(a) }}": "x"}}}, "unknown function `nope`"),
]
PASSES_FUNCTION_CALLS = [
    says("{{ length(a) }} {{ split(a, b) }} {{ not_null(a, b, c) }}"),
    says("nope(a) and {{ a }}"),
    says("{{ nope({{ a }}) }}"),
    says(r"\{{ nope(a) }}"),
    says("{{ time_now_utc() }}"),
    {"mutate": {"patchStrategicMerge": {"jmesPath": "nope(a)", "list": "nope(a)"}}},
    {"validate": {"cel": {"expressions": [{"expression": "nope('{{ nope(a) }}')"}]}}},
]


@pytest.mark.parametrize(("rule", "part"), FIRES_FUNCTION_CALLS)
def test_function_calls_fires(remarks, rule, part):
    ((code, path, message),) = remarks(impossible_calls, rule)
    assert code == "KV205"
    assert path.startswith("spec/rules/0/")
    assert part in message


@pytest.mark.parametrize("rule", PASSES_FUNCTION_CALLS)
def test_function_calls_leaves_alone(remarks, rule):
    assert remarks(impossible_calls, rule) == []
