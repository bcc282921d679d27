"""`variable` entries: what they give, and what they say where they give nothing."""

import pytest

from kyvsim.engine.context import JSONContext, compile_entries
from kyvsim.engine.world import GivenObjects
from kyvsim.jmespath import QueryError
from kyvsim.model.ports import ExternalData
from kyvsim.policy.read import read_context

DATA = {"a": {"b": "x", "list": [1.0, 2.0], "none": None}, "field": "b"}


@pytest.fixture
def load(system):
    def run(spec):
        entries = compile_entries(read_context([{"name": "v", "variable": spec}], ()), system)
        scope = JSONContext(dict(DATA), ExternalData(GivenObjects([])), deleting=False)
        return scope.layer({}, entries).root(frozenset({"v"}))["v"]

    return run


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ({"value": "text"}, "text"),
        ({"value": {"n": 1, "l": [2]}}, {"n": 1.0, "l": [2.0]}),
        ({"value": "{{ a.b }}"}, "x"),
        ({"value": {"k": "{{ a.list }}"}}, {"k": [1.0, 2.0]}),
        ({"value": False}, False),
        ({"jmesPath": "a.b"}, "x"),
        ({"jmesPath": "  a.b "}, "x"),
        ({"jmesPath": "a.{{ field }}"}, "x"),
        ({"jmesPath": "k", "value": {"k": "{{ a.b }}"}}, "x"),
        ({"jmesPath": "length(@)", "value": [1, 2]}, 2.0),
        ({"jmesPath": "a.b", "default": "d"}, "x"),
        ({"jmesPath": "a.missing", "default": "d"}, "d"),
        ({"jmesPath": "a.none", "default": "d"}, "d"),
        ({"jmesPath": "a.missing", "default": "{{ a.b }}"}, "x"),
        ({"jmesPath": "missing", "value": {}, "default": 3}, 3.0),
        ({"jmesPath": "sum(a.b)", "default": []}, []),
        ({"value": "text", "default": "d"}, "text"),
        ({"default": "d"}, "d"),
    ],
)
def test_a_value_a_query_or_a_default(load, spec, value):
    found = load(spec)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"jmesPath": "a.none"},
            "failed to add context entry for variable v since it evaluated to nil",
        ),
        (
            {"jmesPath": "a.missing"},
            "failed to apply jmespath a.missing to variable <nil>: JMESPath query failed: ",
        ),
        ({"jmesPath": "k", "value": {"l": 1}}, "failed to apply jmespath k to variable <nil>: "),
        ({"jmesPath": "k", "value": {"k": None}, "default": "d"}, "it evaluated to nil"),
        ({"value": "{{ a.missing }}"}, "failed to substitute variables in context entry v "),
        (
            {"value": {"n": [1, None, True], "t": "{{ a.missing }}"}},
            "context entry v map[n:[%!s(float64=1) <nil> %!s(bool=true)] t:{{ a.missing }}]: ",
        ),
        ({"jmesPath": "a.{{ nope }}"}, "failed to substitute variables in context entry v a."),
        ({"jmesPath": "{{ a.list }}"}, "jmespath value must be a string v {{ a.list }}"),
        ({"jmesPath": "{{ a.b }}(("}, "failed to compile JMESPath: x(("),
        ({"jmesPath": "a.b", "default": "{{ nope }}"}, "failed to substitute variables in"),
    ],
)
def test_what_cannot_be_computed_is_told(load, spec, message):
    with pytest.raises(QueryError) as caught:
        load(spec)
    assert message in caught.value.message
