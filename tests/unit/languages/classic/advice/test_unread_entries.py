import pytest

from kyvsim.languages.classic.advice.unread_entries import unread_entries


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
def test_fires(remarks, rule, paths):
    found = remarks(unread_entries, rule)
    assert [path for _, path, _ in found] == [f"spec/rules/0/{path}" for path in paths]
    assert {code for code, _, _ in found} == {"KV204"}


@pytest.mark.parametrize("rule", PASSES)
def test_leaves_alone(remarks, rule):
    assert remarks(unread_entries, rule) == []
