"""Lines of files with the part that is meant."""

import pytest
from rich.cells import cell_len

from kyvsim.report.diagnostics import excerpt_lines, excerpt_of, window_of


def shown(source, column, width=60):
    excerpt = excerpt_of(source, column)
    return [f"{gutter}{text}" for gutter, text in excerpt_lines(excerpt, 7, width)]


@pytest.mark.parametrize(
    ("source", "column", "mark"),
    [
        ("      labels: {tier: web}", 7, "      ^^^^^^"),
        ("  runAsUser: 0", 3, "  ^^^^^^^^^^^^"),
        ("  labels: {app: web, a: b}", 12, " " * 11 + "^^^^^^^^"),
        ('  image: "a:b, c" # why', 3, "  ^^^^^^^^^^^^^^^"),
        ('    "image": "nginx:latest"', 5, "    ^^^^^^^^^^^^^^^^^^^^^^^"),
        ("  - {name: [a, b]} # x", 5, "    ^^^^^^^^^^^^^^"),
        ("  - {name: open", 5, "    ^^^^^^^^^^^"),
        ("metadata:", 1, "^^^^^^^^"),
        ("\tspec: 1", 2, " ^^^^^^^"),
        ("  名前: 値", 3, "  ^^^^^^^^"),
    ],
)
def test_a_mark_stands_below_what_is_meant(source, column, mark):
    line, below = shown(source, column)
    assert line == "7 | " + source.replace("\t", " ")
    assert below == "  | " + mark


def test_a_line_that_is_too_long_is_cut_around_its_mark():
    source = "{" + "a: 1, " * 40 + "here: 2, " + "b: 1, " * 40 + "}"
    line, below = shown(source, source.index("here") + 1)
    assert len(line) <= 60
    start = below.index("^")
    assert line[start : start + len("here: 2")] == "here: 2"
    assert line.startswith("7 | …")
    assert line.endswith("…")


def test_a_value_that_is_too_long_is_cut():
    line, below = shown("  command: " + "x" * 200, 3)
    assert len(line) == len(below) + 1 == 60
    assert line.endswith("x…")


def test_control_characters_are_shown_and_the_mark_keeps_its_place():
    line, below = shown("  a\x1b[31m: {b: 1}", 12)
    assert line == "7 |   a\\x1b[31m: {b: 1}"
    assert line[below.index("^") :].startswith("b: 1")


@pytest.mark.parametrize(
    ("source", "column", "width", "mark"),
    [
        ("日本: {b: 1}", 6, 80, (11, 4)),
        ("e\u0301e\u0301: {b: 1}", 8, 80, (9, 4)),  # combining accents take no column
        ("a: 日本" * 40, 1, 40, (4, 35)),
        ("{日本: 1, b: " + "本" * 40 + "}", 2, 40, (5, 7)),
    ],
)
def test_marks_and_cuts_count_columns_of_a_terminal(source, column, width, mark):
    (gutter, line), (_, below) = excerpt_lines(excerpt_of(source, column), 7, width)
    start = len(gutter) + below.index("^")
    assert (start, below.count("^")) == mark
    assert len(gutter) + cell_len(line) <= width


def test_nothing_is_shown_of_a_place_that_is_not_there():
    assert excerpt_of("a: b", 9) is None
    assert excerpt_of("", 1) is None


def test_what_is_kept_of_a_long_line_does_not_grow_with_it():
    excerpt = excerpt_of('{"a": "' + "x" * 9000 + '", "b": "' + "y" * 9000 + '"}', 9011)
    assert excerpt.meant.startswith('"b": "yyy')
    assert sum(map(len, excerpt)) <= 600


def test_of_a_long_line_only_what_is_near_is_looked_at():
    line = "{" + "a: 1, " * 20_000 + 'here: "' + "x" * 5000 + '", ' + "b: 1, " * 20_000 + "}"
    column = line.index("here") + 1
    first, last = window_of(column)
    assert last - first < 2000
    near = excerpt_of(line[first:last], column - first)
    assert near == excerpt_of(line, column)
    assert all(len(part) <= 200 for part in near)
    assert near[1].startswith('here: "xxx')
    quoted = excerpt_of(line, column + len("here: "))
    assert quoted[1] == '"' + "x" * 199
