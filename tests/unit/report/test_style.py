"""Colours, widths and safe text."""

import pytest

from kyvsim.report.style import (
    counted,
    indented,
    justified,
    painter,
    safe_line,
    safe_text,
    truncated,
    wrapped,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本", "plain é 日本"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb", "a\\x0db"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("a\nb\tc", "a\nb\tc"),
    ],
)
def test_control_characters_become_visible(text, shown):
    assert safe_text(text) == shown


def test_a_line_stays_one_line():
    assert safe_line("a\nb") == "a\\nb"


def test_following_lines_are_indented():
    assert indented("a\nb\n", "  ") == "a\n  b"


def test_paint_colours_only_when_asked():
    assert painter(colours=False)("fail", "x") == "x"
    assert painter(colours=True)("fail", "x") == "\x1b[31mx\x1b[0m"


def test_counted_knows_the_plural_of_a_policy():
    assert [counted(number, "policy") for number in (0, 1, 2)] == [
        "0 policies",
        "1 policy",
        "2 policies",
    ]
    assert counted(2, "row") == "2 rows"


def test_words_and_places_stay_whole():
    place = "a/very/long/folder/of/policies/with/a/long/name.yaml:120:17"
    lines = [*wrapped(f"it stands at {place} and nowhere else", 40)]
    assert lines == ["        it stands at", f"        {place}", "        and nowhere else"]


def test_the_first_line_may_begin_otherwise_and_line_ends_stay():
    assert [*wrapped("one two\nthree", 80, "   ", "- ")] == ["- one two", "   three"]


def test_text_is_safe_to_show():
    assert [*wrapped("a\x1b[31m \u202eb", 80, "")] == ["a\\x1b[31m \\u202eb"]


def test_texts_stand_at_the_ends_of_a_line_or_below_each_other():
    assert "".join(justified("left", "right", 20)) == "left           right"
    assert "".join(justified("left", "right", 10)) == "left\n        right"
    assert justified("left", "", 10) == ("left", "")


def test_lines_of_objects_are_cut_not_wrapped():
    assert truncated("key: value", 80) == "key: value"
    assert truncated("key: value", 8) == "key: va…"
