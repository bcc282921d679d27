"""`format`, with arguments known before and not."""

import pytest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'%s %d %%'.format(['a', 1])", "a 1 %"),
        ("'%s'.format([[1, 'a', 1.5, null]])", '[1, "a", 1.500000, null]'),
        ("'%s'.format([{'b': 1, 'a': true}])", '{"a":true, "b":1}'),
        ("'%.2f'.format([1234.5])", "1,234.50"),
        ("'%f'.format([1.5])", "1.500000"),
        ("'%e'.format([1234.5678])", "1.234568\u00d710⁰³"),
        ("'%b %b'.format([5, true])", "101 1"),
        ("'%f %e'.format([-1.0 / 0.0, 1.0 / 0.0])", "-∞ ∞"),
        ("'%x %X'.format([255, 'ab'])", "ff 6162"),
        ("'%o'.format([8])", "10"),
        ("'%s'.format([duration('1m')])", "60s"),
        ("'%s'.format([[duration('1m')]])", '[duration("60s")]'),
        (
            "'%d'.format([object])",
            "error: error during formatting: decimal clause can only be used on integers, was given double",  # noqa: E501 — one message
        ),
        (
            "'%.2f'.format([dyn([])])",
            "error: error during formatting: fixed-point clause can only be used on doubles, was given list",  # noqa: E501 — one message
        ),
        ("'%s %s'.format(dyn(['a']))", "error: index 1 out of range"),
        (
            "'%d'.format(['a'])",
            "refused: 1:14: error during formatting: decimal clause can only be used on integers, was given string",  # noqa: E501 — one message
        ),
        ("'%s'.format([])", "refused: 1:12: index 0 out of range"),
        (
            "'%s'.format([1, 2])",
            "refused: 1:12: too many arguments supplied to string.format (expected 1, got 2)",
        ),
        (
            "'%q'.format([1])",
            'refused: 1:12: could not parse formatting clause: unrecognized formatting clause "q"',
        ),
    ],
)
def test_format(value_of, text, expected):
    assert value_of(text, 1.5) == expected
