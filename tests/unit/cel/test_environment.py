"""Signatures of functions."""

import pytest

from kyvsim.cel.environment import overload, read_type

# Signatures of functions as texts.


@pytest.mark.parametrize(
    ("text", "member", "arguments", "result"),
    [
        ("(string) -> int", False, ["string"], "int"),
        ("() -> optional<V>", False, [], "optional_type(<V>)"),
        ("list<A>.(A, int) -> bool", True, ["list(<A>)", "<A>", "int"], "bool"),
        ("(map<K, list<V>>, K) -> V", False, ["map(<K>, list(<V>))", "<K>"], "<V>"),
    ],
)
def test_overload(text, member, arguments, result):
    found = overload(text, len)
    assert found.member is member
    assert [str(one) for one in found.arguments] == arguments
    assert str(found.result) == result


def test_names_of_the_api_server_are_typed_objects():
    assert read_type("kubernetes.URL").kind == "struct"
    assert read_type("net.IP").kind == "opaque"


def test_what_follows_a_type_is_refused():
    with pytest.raises(ValueError, match="unknown type"):
        read_type("int int")
