import pytest

from kyvsim.languages.classic.rule_type import rewrite_references


@pytest.mark.parametrize(
    ("message", "pivot", "shifted"),
    [
        ("no reference", "pattern", "no reference"),
        ("$(../../pattern/spec/a)", "pattern", "$(../../pattern/T/spec/a)"),
        ("see $(../../pattern/spec/a) here", "pattern", "see $(../../pattern/T/spec/a) here"),
        ("$(../pattern/a) $(../pattern/b)", "pattern", "$(../pattern/T/a) $(../pattern/T/b)"),
        (r"\$(../pattern/a)", "pattern", r"\$(../pattern/a)"),
        ("$(../other/a)", "pattern", "$(../other/a)"),
        ("$(../anyPattern/1/a)", "anyPattern", "$(../anyPattern/1/T/a)"),
        ("$(../other/a)", "anyPattern", "$(../other/a)"),
        ("$()", "pattern", "$()"),
    ],
)
def test_references_get_the_way_behind_their_pivot(message, pivot, shifted):
    assert rewrite_references(message, "T", pivot) == shifted
