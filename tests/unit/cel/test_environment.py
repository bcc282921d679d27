"""Signatures of functions."""

import pytest

from kyvsim.cel.environment import function, method, read_type

# Signatures of functions as texts.


@pytest.mark.parametrize(
    ("declare", "text", "name", "arguments", "result"),
    [
        (function, "int(string) -> int", "int", ["string"], "int"),
        (function, "optional.none() -> optional<V>", "optional.none", [], "optional_type(<V>)"),
        (method, "list<A>.has(A, int) -> bool", "has", ["list(<A>)", "<A>", "int"], "bool"),
        (method, "net.IP.family() -> int", "family", ["net.IP"], "int"),
        (function, "f(map<K, list<V>>, K) -> V", "f", ["map(<K>, list(<V>))", "<K>"], "<V>"),
    ],
)
def test_signature(declare, text, name, arguments, result):
    found = declare(text, len)
    (overload,) = found.overloads
    assert found.name == name
    assert overload.member is (declare is method)
    assert [str(one) for one in overload.arguments] == arguments
    assert str(overload.result) == result


def test_names_of_the_api_server_are_typed_objects():
    assert read_type("kubernetes.URL").kind == "struct"
    assert read_type("net.IP").kind == "opaque"


def test_what_follows_a_type_is_refused():
    with pytest.raises(ValueError, match="unknown type"):
        read_type("int int")
