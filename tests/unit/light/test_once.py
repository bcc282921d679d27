"""What is made when it is first asked for is made once, also where it is nothing."""

import pytest

from kyvsim.light.once import once


@pytest.mark.parametrize("value", [3, None, ()])
def test_a_value_is_made_when_it_is_first_asked_for_and_once(value):
    asked = []
    given = once(lambda: asked.append(1) or value)
    assert asked == []
    assert given() is given() is value
    assert asked == [1]


def test_what_cannot_be_made_is_an_error_each_time():
    given = once(lambda: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            given()
