"""What stands before a position of a text."""

import pytest

from kyvsim.lsp.document import read_text


@pytest.mark.parametrize(
    ("before", "typed"),
    [
        ("", ""),
        ("spec", "spec"),
        ("  key: request.obj", "request.obj"),
        ("  key: '{{ request.", "request."),
        ("  value: a b", "b"),
        ("  value: a ", ""),
        ("  - $anchor-x", "$anchor-x"),
        (f'{{"a": "{"1" * 100_000}" x', "x"),
    ],
    ids=lambda text: text[:20],
)
def test_the_word_before_a_position(before, typed):
    text = read_text(f"{before}\n")
    assert text.cursor(0, len(before)).typed == typed
