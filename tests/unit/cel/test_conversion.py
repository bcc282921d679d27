"""Values of one type as values of another."""

import math

import pytest

OBJ = {
    "word": "word",
    "map": {},
    "big": 1e30,
    "less": -1.0,
    "huge": "0x1p99999",
    "bare": "0x.p1",
    "lone": "1_",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int('-5')", -5),
        ("int(1.9)", 1),
        ("int(-1.9)", -1),
        ("int(object.big)", "error: integer overflow"),
        ("int(object.word)", "error: type conversion error from 'string' to 'int'"),
        ("int(timestamp('1970-01-01T00:00:05.9Z'))", 5),
        ("uint(object.less)", "error: unsigned integer overflow"),
        ("double('1e3')", 1000.0),
        ("double('1_0')", 10.0),
        ("double('0x_1p3')", 8.0),
        ("double('-Inf')", -math.inf),
        ("double(object.lone)", "error: type conversion error from 'string' to 'double'"),
        ("double(object.word)", "error: type conversion error from 'string' to 'double'"),
        ("double(object.huge)", "error: type conversion error from 'string' to 'double'"),
        ("double(object.bare)", "error: type conversion error from 'string' to 'double'"),
        ("double('0x1.8p1')", 3.0),
        ("bool('T')", True),
        ("bool(object.word)", "error: type conversion error from 'string' to 'bool'"),
        ("string(1000000.0)", "1e+06"),
        ("string(123456.0)", "123456"),
        ("string(1.5)", "1.5"),
        ("string(true)", "true"),
        ("string(duration('1h30m'))", "5400s"),
        ("string(duration('1.5s'))", "1.5s"),
        ("string(timestamp('2020-01-01T00:00:00.5+02:00'))", "2020-01-01T00:00:00.5+02:00"),
        ("string(b'abc')", "abc"),
        ("string(object.map)", "error: no such overload: string(map)"),
        ("bytes('ü')", b"\xc3\xbc"),
        (
            "duration(object.word)",
            "error: type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        ("timestamp(object.word)", 'error: invalid RFC 3339 timestamp "word"'),
        ("type(object.map) == map", True),
        ("type(1u) == uint", True),
        ("type(type(1)) == type", True),
        ("string(object.word) + dyn('!')", "word!"),
    ],
)
def test_conversion(value_of, text, expected):
    assert value_of(text, OBJ) == expected


@pytest.mark.parametrize(
    "text", ["int('x')", "uint(-1)", "double('1e400')", "bool('yes')", "string(b'\\xff')"]
)
def test_constants_that_cannot_be_converted_are_refused(value_of, text):
    assert value_of(text).startswith("refused: program instantiation failed: ")
