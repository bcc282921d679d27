"""Constants that can only be wrong."""

import pytest


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("duration('3x')", "1:10: invalid duration argument"),
        ("timestamp('soon')", "1:11: invalid timestamp argument"),
        ("object.matches('[')", "1:16: invalid matches argument"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("[dyn(1), 1]", "1:10: expected type 'dyn' but found 'int'"),
        ("{'a': 1, 'b': 'c'}", "1:15: expected type 'int' but found 'string'"),
        ("[[1], ['a']]", "1:7: expected type 'list(int)' but found 'list(string)'"),
    ],
)
def test_refused(value_of, text, refused):
    assert value_of(text) == f"refused: {refused}"


@pytest.mark.parametrize("text", ["size('%s %s'.format([1, 'a'])) == 3", "[1, 2] == [1, 2]"])
def test_accepted(value_of, text):
    assert value_of(text) is True


def test_patterns_that_are_computed_fail_when_they_are_used(value_of):
    assert value_of("'a'.matches('[' + 'a')") == (
        "error: error parsing regexp: missing closing ]: `[a`"
    )
