import pytest

from kyvsim.report.style import counted, indented, painter, safe_line, safe_text


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
