import pytest

from kyvsim.engine.pattern.checks import compile_scalar


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        (None, [None, "", 0, 0.0, False], ["a", 1, True, {}, []]),
        (True, [True], [False, "true", 1, 1.0, None]),
        (5, [5, 5.0, "5", "+5", "05"], [5.5, "5.0", "five", True, None, [], {}]),
        (1, [1, 1.0, "1"], [True]),
        (1.5, [1.5, "1.5", "15e-1"], [1, 2, "1.6", None]),
        (2.0, [2, 2.0, "2", "2e0"], [True, 3]),
        ({"a": 1}, [{}, {"b": 2}], [None, [], "a"]),
        ([1], [], [1, [1], None]),
        ("5", [5, 5.0, "5", "5.0"], [True, None, [5], {}]),
    ],
)
def test_scalar(pattern, fitting, others):
    fits = compile_scalar(pattern)
    assert [value for value in fitting if not fits(value)] == []
    assert [value for value in others if fits(value)] == []
