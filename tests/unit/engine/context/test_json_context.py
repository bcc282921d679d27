import pytest

from kyvsim.engine.context import SKIPPED, JSONContext
from kyvsim.engine.world import GivenObjects
from kyvsim.jmespath import QueryError
from kyvsim.model.ports import ExternalData


def context(**data):
    return JSONContext(data, ExternalData(GivenObjects([])), deleting=False)


def asked(scope, *names):
    return scope.root(frozenset(names))


def counting(value, calls):
    def load(_scope):
        calls.append(value)
        return value

    return load


def reading(name):
    return lambda scope: asked(scope, name).get(name)


def test_an_entry_is_loaded_when_its_name_is_asked_for_and_only_once():
    calls = []
    scope = context().layer({}, [("a", counting(1.0, calls)), ("b", counting(2.0, calls))])
    assert asked(scope) == {}
    assert asked(scope, "a") == {"a": 1.0}
    assert asked(scope, "a", "b") == {"a": 1.0, "b": 2.0}
    assert calls == [1.0, 2.0]


def test_a_layer_leaves_the_one_below_as_it_is():
    below = context(a=1.0)
    above = below.layer({"a": 2.0, "b": 3.0})
    assert asked(above) == {"a": 2.0, "b": 3.0}
    assert asked(below) == {"a": 1.0}


def test_an_entry_loaded_in_one_layer_stays_unloaded_data_in_its_sibling():
    calls = []
    base = context().layer({}, [("a", counting(1.0, calls))])
    first, second = base.layer({"x": 1.0}), base.layer({"x": 2.0})
    assert asked(first, "a")["a"] == 1.0
    assert "a" not in asked(second)
    assert asked(second, "a")["a"] == 1.0
    assert calls == [1.0]


def test_a_later_entry_may_use_an_earlier_one_but_not_the_other_way_round():
    forward = context().layer({}, [("a", lambda _: 1.0), ("b", reading("a"))])
    assert asked(forward, "b")["b"] == 1.0
    backward = context().layer({}, [("a", reading("b")), ("b", lambda _: 1.0)])
    assert asked(backward, "a") == {"a": None}


def test_an_entry_that_reads_its_own_name_sees_what_was_there_before():
    scope = context(a=1.0).layer({}, [("a", lambda before: asked(before, "a")["a"] + 1)])
    assert asked(scope, "a") == {"a": 2.0}


def test_an_inner_entry_shadows_an_outer_one():
    scope = context().layer({}, [("a", lambda _: 1.0)]).layer({}, [("a", lambda _: 2.0)])
    assert asked(scope, "a") == {"a": 2.0}


def test_a_value_above_a_loaded_entry_is_not_loaded_over():
    scope = context().layer({}, [("a", lambda _: 1.0)])
    assert asked(scope, "a") == {"a": 1.0}
    assert asked(scope.layer({"a": 2.0}), "a") == {"a": 2.0}


def test_a_skipped_entry_leaves_its_name_to_given_values():
    skipping = [("a", lambda _: SKIPPED)]
    assert asked(context().layer({}, skipping), "a") == {}
    assert asked(context(a=1.0).layer({}, skipping), "a") == {"a": 1.0}


def test_an_entry_that_cannot_be_loaded_says_so_when_asked():
    def failing(_scope):
        raise QueryError("no such thing")

    scope = context().layer({}, [("a", failing)])
    assert asked(scope, "b") == {}
    with pytest.raises(QueryError, match="no such thing"):
        asked(scope, "a")


def test_dotted_variables_come_again_in_every_layer_above():
    scope = context(a={"b": 1.0, "c": 2.0}).layer({}, variables={"a.b": 3.0})
    assert asked(scope) == {"a": {"b": 3.0, "c": 2.0}}
    assert asked(scope.layer({"a": {}})) == {"a": {"b": 3.0}}


def test_another_object_leaves_the_rest_of_the_request():
    scope = context(request={"object": {"a": 1.0}, "operation": "CREATE"})
    changed = scope.with_object({"a": 2.0})
    assert asked(changed)["request"] == {"object": {"a": 2.0}, "operation": "CREATE"}
    assert asked(scope)["request"]["object"] == {"a": 1.0}


def test_a_confined_context_stays_confined_in_its_layers():
    scope = context(a=1.0).confined("shop").layer({"b": 2.0})
    assert scope.policy_namespace == "shop"


def test_names_that_a_user_gave_values_for_are_known_in_every_layer():
    scope = context(a=1.0).layer({}, variables={"b.c": 2.0}).layer({"d": 3.0})
    assert scope.holds("b")
    assert not scope.holds("a")
    assert not scope.holds("d")
