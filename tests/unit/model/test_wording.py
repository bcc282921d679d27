import pytest

from kyvsim.model.diagnostic import likely, listed, nearest


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("mtach", ("match", "mutate"), "match"),
        ("Rules", ("rules",), "rules"),
        ("NAMESPCE", ("Namespace",), "Namespace"),
        ("zzz", ("match",), ""),
        ("match", (), ""),
    ],
)
def test_nearest(word, known, expected):
    assert nearest(word, known) == expected


def test_nearest_as_like_as_is_asked():
    assert nearest("mach", ("match",), 0.8) == "match"
    assert nearest("mach", ("match",), 0.95) == ""


def test_likely_is_a_question_or_nothing():
    assert likely("mtach", ("match",)) == ": did you mean `match`?"
    assert likely("zzz", ("match",)) == ""


def test_listed_names_once_in_order_and_no_more_than_a_few():
    assert listed(("b", "a", "b")) == "`a`, `b`"
    assert listed("abcde", most=2) == "`a`, `b` and 3 more"
