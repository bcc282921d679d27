"""What is told of a part comes back as it was."""

import pytest

from kyvsim.api.apply_parts import PartText, PartTotals


def partial(resources):
    totals = PartTotals(audit_warn=False)
    totals.resources = resources
    totals.examples = {("v1", "Pod", ""): None}
    totals.files = {"a.yaml": None}
    totals.lists = {(0, "a"): None}
    return totals


@pytest.mark.parametrize(
    "pieces",
    [[], [""], ["a\n", "\u20ac\U0001f600", "\ud800"], ["\u20ac" * 50_000] * 3, ["a", "b"] * 40_000],
)
def test_text_and_partial_come_back(pieces):
    text = PartText()
    for piece in pieces:
        text.write(0, piece)
        text.write(1, "-")
    text.end(partial(7))
    assert text.partial().resources == 7
    assert "".join(text.pieces(0)) == "".join(pieces)
    assert "".join(text.pieces(1)) == "-" * len(pieces)
    found = text.partial()
    assert tuple(map(tuple, (found.examples, found.files, found.lists))) == (
        (("v1", "Pod", ""),),
        ("a.yaml",),
        ((0, "a"),),
    )


def test_lists_come_back_as_often_as_they_are_asked_for():
    text = PartText()
    for number in range(9_000):
        text.write(0, f"piece {number}\n")
        text.note(1, "even" if number % 2 else "odd", [f'"{number}"', "\u2028"])
    text.end(partial(0))
    for _ in range(2):
        assert "".join(text.pieces(0)).count("\n") == 9_000
        assert list(text.entries(1, "odd"))[:4] == ['"0"', "\u2028", '"2"', "\u2028"]
        assert len(list(text.entries(1, "even"))) == 9_000
        assert list(text.entries(0, "odd")) == []


def test_long_texts_are_read_a_piece_at_a_time():
    text = PartText()
    for _ in range(1_000):
        text.write(0, "a" * 1_000)
    text.end(partial(0))
    assert max(map(len, text.pieces(0))) < 70_000
