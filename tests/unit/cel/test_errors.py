"""Errors at their place."""

from kyvsim.cel.errors import Issue, describe

# Issues shown at their place.


def test_the_place_is_marked_below_the_line():
    assert describe("a +\n b c", [Issue(7, "no")]) == "ERROR: <input>:2:4: no\n |  b c\n | ...^"


def test_issues_come_in_the_order_of_their_places():
    shown = describe("abc", [Issue(2, "second"), Issue(0, "first")])
    assert [line for line in shown.splitlines() if line.startswith("ERROR")] == [
        "ERROR: <input>:1:1: first",
        "ERROR: <input>:1:3: second",
    ]


def test_wide_characters_have_wide_dots_and_tabs_are_blanks():
    assert describe("ü\tx", [Issue(2, "m")]).splitlines()[1:] == [" | ü x", " | \uff0e.^"]
