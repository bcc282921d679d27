"""Logic as closures."""

import pytest

# `&&`, `||` and `?:` over terms that fail.

FAILS = "1 / 0 > 1"
FAILS_TOO = "1 % 0 > 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{FAILS} || true", True),
        (f"true || {FAILS}", True),
        (f"{FAILS} && false", False),
        (f"{FAILS} && true", "error: division by zero"),
        (f"{FAILS} || false", "error: division by zero"),
        (f"{FAILS} || {FAILS_TOO}", "error: division by zero"),
        (f"false || {FAILS_TOO} || {FAILS}", "error: modulus by zero"),
        (f"{FAILS} || {FAILS_TOO} || true", True),
        (f"{FAILS} && {FAILS_TOO} && false", False),
        ("dyn('a') || true", True),
        ("dyn('a') && true", "error: no such overload"),
        ("true && dyn(1)", "error: no such overload"),
        ("true && true && dyn(1)", "error: no such overload"),
        ("dyn(1) ? 2 : 3", "error: no such overload"),
        (f"true ? 1 : ({FAILS} ? 2 : 3)", 1),
        ("!dyn(1)", "error: no such overload"),
        ("optional.none().or(optional.of(1)).value()", 1),
        ("optional.of(1).or(optional.of(2)).value()", 1),
        ("dyn(1).or(optional.of(2))", "error: no such overload"),
        # The default is evaluated even where it is not needed.
        ("optional.of(1).orValue(1 / 0)", "error: division by zero"),
        ("object.?a.?b.orValue(1 / 0)", "error: division by zero"),
        ("object.?a.?b.orValue(0)", 1),
        ("object.?a.?c.orValue(0)", 0),
        ("object.?l.?c.orValue(0)", "error: unsupported index type 'string' in list"),
        ("object.?s.?c.orValue(0)", 0),
    ],
)
def test_logic(value_of, text, expected):
    assert value_of(text, {"a": {"b": 1}, "l": [], "s": "text"}) == expected
