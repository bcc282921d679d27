"""AnyIn, AllIn, AnyNotIn, AllNotIn, and the older In and NotIn.

Keys and list elements compare as texts. A value is a list, a text that is JSON for a list of
texts, a range, or one text; of another type it makes every operator false. Between elements,
wildcards count on both sides.

upstream: anyin.go, allin.go, anynotin.go, allnotin.go, in.go and notin.go in
pkg/engine/variables/operator.
"""

import json
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, NoReturn, TypeAlias

from kyvsim.kube.go_text import sprint
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import (
    compile_text_pattern,
    compile_wildcard,
    has_wildcard,
    is_range,
    matches,
)
from kyvsim.model.budget import FEW

Test: TypeAlias = Callable[[Json], bool]
_TextTest: TypeAlias = Callable[[str], bool]


class Choice(NamedTuple):
    """A value, read as what keys may be in."""

    holds_scalar: Callable[[str], bool | None]
    """Whether a scalar key's text is in; None where the value is no choice."""
    holds: _TextTest | None = None
    """Whether an element of a list key is in; None where the value is no choice."""
    lacks: _TextTest | None = None
    """Whether an element of a list key is outside, for AnyNotIn; None: the opposite of `holds`."""
    text: str | None = None
    """The value where it is a text: a list key of just this text is in."""
    is_single: bool = False
    """Whether it is a number or boolean: a choice for AnyIn and AnyNotIn with list keys only."""


def any_in(key: Json, value: Json) -> bool:
    """Return whether the key, or an element of a list key, is among the value's elements."""
    return _any_in(key, _read(value))


def all_in(key: Json, value: Json) -> bool:
    """Return whether the key, or every element of a list key, is among the value's elements."""
    return _all_in(key, _read(value))


def any_not_in(key: Json, value: Json) -> bool:
    """Return whether the key, or an element of a list key, is not among the value's elements."""
    return _any_not_in(key, _read(value))


def all_not_in(key: Json, value: Json) -> bool:
    """Return whether the key, or every element of a list key, is not among the value's."""
    return _all_not_in(key, _read(value))


# ---------------------------------------------------------------------------- keys


def _any_in(key: Json, choice: Choice) -> bool:
    if key.__class__ is not list:
        return _scalar_is(key, choice, wanted=True)
    texts = _texts(key)
    if _is_just(texts, choice):
        return True
    return choice.holds is not None and any(map(choice.holds, texts))


def _all_in(key: Json, choice: Choice) -> bool:
    if key.__class__ is not list:
        return _scalar_is(key, choice, wanted=True)
    texts = _texts(key)
    if _is_just(texts, choice):
        return True
    return choice.holds is not None and not choice.is_single and all(map(choice.holds, texts))


def _any_not_in(key: Json, choice: Choice) -> bool:
    if key.__class__ is not list:
        return _scalar_is(key, choice, wanted=False)
    texts = _texts(key)
    if choice.holds is None or _is_just(texts, choice):
        return False
    if choice.lacks is not None:
        return any(map(choice.lacks, texts))
    return not all(map(choice.holds, texts))


def _all_not_in(key: Json, choice: Choice) -> bool:
    if key.__class__ is not list:
        return _scalar_is(key, choice, wanted=False)
    texts = _texts(key)
    if choice.holds is None or choice.is_single or _is_just(texts, choice):
        return False
    return not any(map(choice.holds, texts))


def _with_one_value(decide: Callable[[Json, Choice], bool]) -> Callable[[Json], Test]:
    """Return what makes tests of keys: a value is read once and its patterns are compiled."""

    def test_for(value: Json) -> Test:
        choice = _read(value)
        return lambda key: decide(key, choice)

    return test_for


any_in_constant: Final = _with_one_value(_any_in)
all_in_constant: Final = _with_one_value(_all_in)
any_not_in_constant: Final = _with_one_value(_any_not_in)
all_not_in_constant: Final = _with_one_value(_all_not_in)


def _scalar_is(key: Json, choice: Choice, *, wanted: bool) -> bool:
    kind = key.__class__
    if key is None or kind is dict:
        return False
    return choice.holds_scalar(key if kind is str else sprint(key)) is wanted


def _is_just(texts: Sequence[str], choice: Choice) -> bool:
    return choice.text is not None and len(texts) == 1 and texts[0] == choice.text


def _texts(values: Sequence[Json]) -> list[str]:
    return [value if value.__class__ is str else sprint(value) for value in values]


# ---------------------------------------------------------------------------- values


def _read(value: Json) -> Choice:
    """Return a value as a choice."""
    kind = value.__class__
    if kind is list:
        holds = _among(_texts(value))
        return Choice(holds, holds)
    if kind is str:
        return _read_text(value)
    if value is None or kind is dict:
        return Choice(_no_choice)
    return Choice(_no_choice, _among([sprint(value)]), is_single=True)


def _no_choice(_: str) -> None:
    return None


def _read_text(value: str) -> Choice:
    if is_range(value):
        holds = compile_text_pattern(value)
        lacks = compile_text_pattern(value.replace("-", "!-", 1))
        return Choice(holds, holds, lacks, text=value)
    elements = _listed(value)
    if elements is None:
        return Choice(lambda key: True if matches(value, key) else None, text=value)
    return Choice(lambda key: matches(value, key) or key in elements, _among(elements), text=value)


def _listed(value: str) -> list[str] | None:
    """Return the texts that a value's text stands for: a JSON list's, or itself if it is no JSON.

    None where it is JSON for something else.
    """
    try:
        data = _read_json(value)
    except (ValueError, RecursionError):
        return [value]
    return _as_texts(data)


def _as_texts(data: Json) -> list[str] | None:
    """Return decoded JSON as Go fills a list of texts: null is empty in both places."""
    if data is None:
        return []
    if data.__class__ is not list:
        return None
    if not all(item is None or item.__class__ is str for item in data):
        return None
    return [item or "" for item in data]


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


_read_json: Final = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=_refuse).decode
"""Reads what Go calls valid JSON; numbers only need to be recognised."""


def _among(texts: list[str]) -> _TextTest:
    """Return the test for fitting one of `texts`, with wildcards on either side."""
    plain = frozenset(texts)
    patterns = tuple(compile_wildcard(text) for text in texts if has_wildcard(text))

    def holds(key: str) -> bool:
        if key in plain:
            return True
        if patterns and any(match(key) for match in patterns):
            return True
        return has_wildcard(key) and any(matches(key, text) for text in texts)

    return holds


def pairs(left: Json, right: Json) -> int:
    """Return how many elements of a list key and a value are held against each other, one by one.

    Those without wildcards are looked up. What is few is not counted.
    """
    if left.__class__ is not list or len(left) <= FEW:
        return 0
    if right.__class__ is str:
        return len(left) * right.count(",") if has_wildcard(right) else 0
    if right.__class__ is not list or len(right) <= FEW:
        return 0
    return _wild(left) * len(right) + _wild(right) * len(left)


def _wild(values: Sequence[Json]) -> int:
    return sum(1 for one in values if one.__class__ is str and has_wildcard(one))


# ---------------------------------------------------------------------------- In and NotIn


def is_in(key: Json, value: Json) -> bool:
    """Return whether the key, or every element of a list key, is in the value.

    List keys know no wildcards and no texts other than the elements' own.
    """
    if key.__class__ is list:
        return _list_is(key, value, wanted=True)
    return _older_scalar_is(key, value, wanted=True)


def is_not_in(key: Json, value: Json) -> bool:
    """Return whether the key, or an element of a list key, is missing in the value.

    upstream: a list key of one element that is the value itself counts as missing, too.
    """
    if key.__class__ is list:
        return _list_is(key, value, wanted=False)
    return _older_scalar_is(key, value, wanted=False)


def _older_scalar_is(key: Json, value: Json, *, wanted: bool) -> bool:
    if key is None or key.__class__ is dict:
        return False
    text = key if key.__class__ is str else sprint(key)
    if value.__class__ is list:
        return _among(_texts(value))(text) is wanted
    if value.__class__ is not str:
        return False
    if matches(value, text):
        return wanted
    elements = _json_texts(value)
    return elements is not None and (text in elements) is wanted


def _list_is(key: Sequence[Json], value: Json, *, wanted: bool) -> bool:
    texts = _texts(key)
    if value.__class__ is str:
        if texts == [value]:
            return True
        elements = _json_texts(value)
    else:
        elements = _as_texts(value) if value.__class__ is list and None not in value else None
    return elements is not None and set(elements).issuperset(texts) is wanted


def _json_texts(value: str) -> list[str] | None:
    """Return the texts of a JSON list of texts, or None for any other text."""
    try:
        return _as_texts(_read_json(value))
    except (ValueError, RecursionError):
        return None
