import pytest

from kyvsim.migrate.convert import object_name


@pytest.mark.parametrize("name", ["a", "a-b.c", "a" * 63])
def test_names_that_fit_stay(name):
    assert object_name(name) == name


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a_b", "a-b-"),
        ("Team Label", "team-label-"),
        ("a..b", "a--b-"),
        ("-a-", "a-"),
        ("a" * 64, "a" * 56 + "-"),
        ("\u00e4", ""),
    ],
)
def test_others_are_made_to_fit(name, start):
    found = object_name(name)
    assert found.startswith(start)
    assert len(found) <= 63
    assert object_name(found) == found


def test_what_is_cut_off_tells_names_apart():
    assert object_name("a" * 64) != object_name("a" * 65)
    assert object_name("a_b") != object_name("a b")
