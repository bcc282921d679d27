from kyvsim.report.style import justified, truncated, wrapped


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
