"""What is told of a part comes back as it was."""

from contextlib import closing

import pytest

from kyvsim.api.apply_parts import Partial
from kyvsim.api.part_text import PartText
from kyvsim.report.course import Course


def partial(resources):
    return Partial((), (), resources, (("v1", "Pod"),), ("a.yaml",), Course(), {"a": ("b",)})


@pytest.mark.parametrize(
    "pieces",
    [[], [""], ["a\n", "\u20ac\U0001f600", "\ud800"], ["\u20ac" * 50_000] * 3, ["a", "b"] * 40_000],
)
def test_text_and_partial_come_back(pieces):
    with closing(PartText()) as text:
        for piece in pieces:
            text.write(piece)
        text.end(partial(7))
        assert text.partial().resources == 7
        assert "".join(text.pieces()) == "".join(pieces)
        found = text.partial()
    assert (found.kinds, found.files, found.lists) == ((("v1", "Pod"),), ("a.yaml",), {"a": ("b",)})


def test_long_texts_are_read_a_piece_at_a_time():
    with closing(PartText()) as text:
        text.write("a" * 1_000_000)
        text.end(partial(0))
        assert max(map(len, text.pieces())) <= 1 << 16
