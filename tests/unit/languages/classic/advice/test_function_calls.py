import pytest

from kyvsim.languages.classic.advice.function_calls import impossible_calls


def says(text):
    return {"validate": {"message": text, "deny": {}}}


FIRES = [
    (says("{{ lenght(a) }}"), "there is no function `lenght`: did you mean `length`?"),
    (says("{{ a[?b].{c: qqqqq(@)} }}"), "there is no function `qqqqq`"),
    (says("{{ split('a') }}"), "function `split` takes 2 arguments, not 1"),
    (says("{{ not_null() }}"), "function `not_null` takes at least 1 argument, not 0"),
    (says("{{ {{ nope(a) }} }}"), "there is no function `nope`"),
    (
        {"context": [{"name": "x", "variable": {"jmesPath": "to_uper(a)"}}]},
        "there is no function `to_uper`: did you mean `to_upper`?",
    ),
    ({"validate": {"foreach": [{"list": "keyz(a)", "deny": {}}]}}, "no function `keyz`"),
    ({"mutate": {"patchStrategicMerge": {"{{ nope(a) }}": "x"}}}, "no function `nope`"),
]
PASSES = [
    says("{{ length(a) }} {{ split(a, b) }} {{ not_null(a, b, c) }}"),
    says("nope(a) and {{ a }}"),
    says("{{ nope({{ a }}) }}"),
    says(r"\{{ nope(a) }}"),
    says("{{ time_now_utc() }}"),
    {"mutate": {"patchStrategicMerge": {"jmesPath": "nope(a)", "list": "nope(a)"}}},
    {"validate": {"cel": {"expressions": [{"expression": "nope('{{ nope(a) }}')"}]}}},
]


@pytest.mark.parametrize(("rule", "part"), FIRES)
def test_fires(remarks, rule, part):
    ((code, path, message),) = remarks(impossible_calls, rule)
    assert code == "KV205"
    assert path.startswith("spec/rules/0/")
    assert part in message


@pytest.mark.parametrize("rule", PASSES)
def test_leaves_alone(remarks, rule):
    assert remarks(impossible_calls, rule) == []
