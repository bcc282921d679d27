import pytest

from kyvsim.kubernetes.quantities import deep_equal


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (0.0, -0.0, True),
        (None, False, False),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x"}]}, True),
        ({"a": [1]}, {"a": [1.0]}, False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([1, 2], [1], False),
        ([], {}, False),
    ],
)
def test_deep_equal(left, right, same):
    assert deep_equal(left, right) is same
    assert deep_equal(right, left) is same
