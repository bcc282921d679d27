from kyvsim.report.page import TableEntry, table_of

STATUSES = ("fail", "warn", "pass")
RESULTS = [
    TableEntry("b", "fail"),
    TableEntry("a", "warn"),
    TableEntry("a", "fail", ""),
    TableEntry("a", "fail"),
    TableEntry("c", "skip"),
    TableEntry("a", "fail", "high"),
]


def test_lines_count_by_name_and_note_with_the_worst_first():
    table = table_of("rule", RESULTS, STATUSES)
    assert table.key == "rule"
    assert table.columns == ("fail", "warn")
    assert [tuple(one) for one in table.lines] == [
        ("a", "", (2, 1)),
        ("b", "", (1, 0)),
        ("a", "high", (1, 0)),
    ]
    assert table.further == 0


def test_lines_beyond_a_limit_are_counted():
    table = table_of("rule", RESULTS, STATUSES, most=1)
    assert [one.name for one in table.lines] == ["a"]
    assert table.further == 2


def test_nothing_makes_no_line():
    assert table_of("rule", [], STATUSES).lines == ()
