"""Values of expressions as google.protobuf.Struct holds them."""

import pytest

from kyvsim.cel import types
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.encodings import struct_value
from kyvsim.cel.values import NONE, Duration, Optional, Timestamp, UInt


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("a", "a"),
        (True, True),
        (None, None),
        (3, 3.0),
        (UInt(3), 3.0),
        ((1 << 53) - 1, float((1 << 53) - 1)),
        (1 << 53, "9007199254740992"),
        (-(1 << 60), "-1152921504606846976"),
        (b"abc", "YWJj"),
        (Timestamp(1_704_067_200_000_000_000, 3600), "2024-01-01T01:00:00+01:00"),
        (Timestamp(1_500_000_000), "1970-01-01T00:00:01.5Z"),
        (Timestamp(1_000_001_000), "1970-01-01T00:00:01.000001Z"),
        (Duration(5_400_000_000_000), "5400s"),
        (Duration(-1_500_000_000), "-1.5s"),
        (Optional(present=True, value=[1]), [1.0]),
        ({"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2.0}]}),
    ],
)
def test_values(value, found):
    assert repr(struct_value(value)) == repr(found)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (NONE, "optional.none() dereference"),
        (types.STRING, "type conversion not supported for 'type'"),
        ({1: 2}, "unsupported type conversion from 'int' to string"),
        ({True: 2}, "type conversion error from bool to 'string'"),
    ],
)
def test_what_is_no_data(value, message):
    with pytest.raises(CelError) as caught:
        struct_value(value)
    assert str(caught.value) == message
