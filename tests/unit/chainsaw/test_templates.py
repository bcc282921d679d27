import pytest

from kyvsim.chainsaw.errors import HardError
from kyvsim.chainsaw.expressions import fill


def test_texts_that_are_expressions_are_filled_in_and_keys_are_not(ask):
    template = {"(image)": "*", "name": "($name)", "count": "(length($name))", "list": ["($name)"]}
    filled = fill(template, {"name": "ab"}, ask)
    assert filled == {"(image)": "*", "name": "ab", "count": 2, "list": ["ab"]}
    assert filled["count"].__class__ is int


@pytest.mark.parametrize("text", ["plain", "a ($name)", "(a\nb)", "($x) -> name", ""])
def test_other_texts_stay(text, ask):
    assert fill(text, {"name": "ab", "x": 1}, ask) == text


def test_name_that_is_not_bound_is_an_error(ask):
    with pytest.raises(HardError, match="variable not defined: name"):
        fill("($name)", {}, ask)
