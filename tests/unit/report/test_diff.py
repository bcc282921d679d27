from kyvsim.report.object_text import hunks, marked_lines


def marks(before, after):
    return "".join(mark for mark, _ in marked_lines(before, after))


def test_lines_are_marked():
    assert marked_lines(list("abc"), list("axcd")) == [
        (" ", "a"),
        ("-", "b"),
        ("+", "x"),
        (" ", "c"),
        ("+", "d"),
    ]


def test_equal_texts_have_no_marks():
    assert marks(list("ab"), list("ab")) == "  "
    assert list(hunks(marked_lines(list("ab"), list("ab")))) == []


def test_repeated_lines_are_told_apart():
    assert marks(["- a"] * 2, ["- a"] * 3) == "  +"


def test_hunks_keep_three_lines_around_a_change_and_mark_gaps():
    lines = [f"l{n}" for n in range(20)]
    changed = [*lines[:10], "new", *lines[10:]]
    shown = list(hunks(marked_lines(lines, changed)))
    assert [line for mark, line in shown if mark == " "] == ["l7", "l8", "l9", "l10", "l11", "l12"]
    assert shown[0] == ("@", "")
    assert shown[-1] == ("@", "")
    assert ("+", "new") in shown
