"""Values with declared fields: made of JSON, and what is said where it does not fit."""

from types import MappingProxyType

import pytest

from kyvsim.cel import types
from kyvsim.cel.kyverno.messages import MessageError, MessageTypes
from kyvsim.cel.types import list_of, map_of, struct
from kyvsim.cel.values import Timestamp, UInt

FIELDS = {
    "a_text": types.STRING,
    "whole": types.INT,
    "port": types.UINT,
    "flag": types.BOOL,
    "octets": types.BYTES,
    "at": types.TIMESTAMP,
    "inner": struct("in"),
    "many": list_of(struct("in")),
    "named": map_of(types.STRING, types.INT),
    "free": map_of(types.STRING, types.DYN),
    "kind": types.INT,
    "odd": types.DOUBLE,
}
TYPES = MessageTypes(
    MappingProxyType({"out": FIELDS, "in": {"n": types.INT}}),
    enums=MappingProxyType({("out", "kind"): ("TCP", "UDP")}),
)
DEFAULTS = {
    "a_text": "",
    "whole": 0,
    "port": UInt(0),
    "flag": False,
    "octets": b"",
    "at": Timestamp(0),
    "many": [],
    "named": {},
    "free": {},
    "kind": 0,
}


def test_what_nobody_set_has_the_default_of_its_type():
    found = TYPES.read("out", {"whole": None})
    assert {field: found[field] for field in DEFAULTS} == DEFAULTS
    assert found["inner"]["n"] == 0
    assert found.present == frozenset()


@pytest.mark.parametrize(
    ("field", "data", "value"),
    [
        ("a_text", "x", "x"),
        ("aText", "x", "x"),
        ("whole", 7.0, 7),
        ("whole", "-9223372036854775808", -(1 << 63)),
        ("whole", 9223372036854775807, (1 << 63) - 1),
        ("port", "4294967295", UInt(4294967295)),
        ("port", 0.0, UInt(0)),
        ("flag", True, True),
        ("octets", "_-8", b"\xff\xef"),
        ("octets", "/+8=", b"\xff\xef"),
        ("at", "1970-01-01T00:00:01Z", Timestamp(1_000_000_000)),
        ("named", {"a": 1.0}, {"a": 1}),
        ("free", {"a": [None]}, {"a": [None]}),
        ("kind", "UDP", 1),
        ("kind", 7.0, 7),
    ],
)
def test_json_is_read_by_the_type_of_its_field(field, data, value):
    name = {"aText": "a_text"}.get(field, field)
    assert TYPES.read("out", {field: data})[name] == value


def test_messages_in_messages_are_read():
    found = TYPES.read("out", {"inner": {"n": 1.0}, "many": [{"n": 2.0}, {}]})
    assert [found["inner"]["n"], *(one["n"] for one in found["many"])] == [1, 2, 0]
    assert found.present == {"inner", "many"}


WHOLE = "this must be a whole number"
PORT = "this must be a whole number from 0 to 4294967295"


@pytest.mark.parametrize(
    ("data", "path", "reason"),
    [
        ([], (), "this must be a map"),
        ({"no": 1}, ("no",), "unknown field `no`"),
        ({"a_text": 1.0}, ("a_text",), "this must be a string"),
        ({"whole": 1.5}, ("whole",), WHOLE),
        ({"whole": True}, ("whole",), WHOLE),
        ({"whole": "1.0"}, ("whole",), WHOLE),
        ({"whole": "9223372036854775808"}, ("whole",), WHOLE),
        ({"whole": "-9223372036854775809"}, ("whole",), WHOLE),
        ({"port": -1.0}, ("port",), PORT),
        ({"port": 4294967296.0}, ("port",), PORT),
        ({"flag": "true"}, ("flag",), "this must be true or false"),
        ({"flag": 1.0}, ("flag",), "this must be true or false"),
        ({"octets": "a b"}, ("octets",), "this must be base64"),
        ({"octets": 1.0}, ("octets",), "this must be base64"),
        ({"at": "noon"}, ("at",), "this must be a time such as 2026-01-31T12:00:00Z"),
        ({"at": 1.0}, ("at",), "this must be a time such as 2026-01-31T12:00:00Z"),
        ({"inner": "x"}, ("inner",), "this must be a map"),
        ({"many": {}}, ("many",), "this must be a list"),
        ({"many": [{}, {"n": "x"}]}, ("many", 1, "n"), WHOLE),
        ({"named": []}, ("named",), "this must be a map"),
        ({"named": {"a": "x"}}, ("named", "a"), WHOLE),
        ({"kind": "SCTP"}, ("kind",), WHOLE),
        ({"odd": 1.5}, ("odd",), "values of this type are not supported"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(data, path, reason):
    with pytest.raises(MessageError) as raised:
        TYPES.read("out", data)
    assert (raised.value.path, raised.value.reason) == (path, reason)
