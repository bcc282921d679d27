"""Anchors of pattern keys: `(key)`, `=(key)`, `X(key)`, `^(key)`, `<(key)` and `+(key)`.

upstream: pkg/engine/anchor/anchor.go and pkg/engine/validate/utils.go.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json, contains_text
from kyvsim.kubernetes.wildcard import SPACE, has_wildcard

CONDITION: Final = ""
GLOBAL: Final = "<"
NEGATION: Final = "X"
ADDITION: Final = "+"
EQUALITY: Final = "="
EXISTENCE: Final = "^"

_SYNTAX = re.compile(r"([+<=X^]?)\((.+)\)")
_FIRST_PHASE = frozenset({CONDITION, EXISTENCE, EQUALITY, NEGATION})
_CHECKING = _FIRST_PHASE | {GLOBAL}
_TRACKED = frozenset({CONDITION, EXISTENCE})


class Anchor(NamedTuple):
    """An anchored key: the sign before the parentheses ("" for a condition), and the bare key."""

    sign: str
    key: str

    def __str__(self) -> str:
        return f"{self.sign}({self.key})"


@lru_cache(maxsize=1024)
def parse_anchor(text: str) -> Anchor | None:
    """Return the anchor that a pattern's key writes, or None for a plain key."""
    if ")" not in text:
        return None
    found = _SYNTAX.fullmatch(text.strip(SPACE))
    return None if found is None else Anchor(found[1], found[2])


def _sign(key: str) -> str | None:
    anchor = parse_anchor(key)
    return None if anchor is None else anchor.sign


def checking_order(pattern: Mapping[str, Json]) -> tuple[list[str], list[str]]:
    """Return the keys of both phases in the order in which they are checked.

    First the anchors, sorted with their signs. Then the others: sorted, but each key that is a
    global anchor or has anchors below it goes before all that came so far.
    """
    if not contains_text(pattern, ")"):
        return [], sorted(pattern)
    first: list[str] = []
    second: list[str] = []
    for key in sorted(pattern):
        sign = _sign(key)
        if sign in _FIRST_PHASE:
            first.append(key)
            continue
        is_early = sign == GLOBAL or _has_sign_within(pattern[key], _CHECKING)
        second.insert(0 if is_early else len(second), key)
    return first, second


def tracked_keys(pattern: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Return text and bare key of the anchors whose absence turns a failure into an error."""
    anchors = ((key, parse_anchor(key)) for key in pattern)
    return tuple((key, found.key) for key, found in anchors if found and found.sign in _TRACKED)


def is_tracking(pattern: Json) -> bool:
    """Return whether a pattern has an anchor that `tracked_keys` would report, at any depth."""
    return _has_sign_within(pattern, _TRACKED)


def may_skip(pattern: Json) -> bool:
    """Return whether a mismatch of `pattern` may mean that the rule does not apply."""
    return _has_sign_within(pattern, frozenset({CONDITION, GLOBAL}))


def has_wildcard_key(pattern: Json) -> bool:
    """Return whether any key in a pattern holds a wildcard, at any depth."""
    return any(map(has_wildcard, _keys_within(pattern)))


def _has_sign_within(pattern: Json, signs: frozenset[str]) -> bool:
    return contains_text(pattern, ")") and any(_sign(key) in signs for key in _keys_within(pattern))


def _keys_within(pattern: Json) -> Iterator[str]:
    if pattern.__class__ is dict:
        yield from pattern
        for value in pattern.values():
            yield from _keys_within(value)
    elif pattern.__class__ is list:
        for value in pattern:
            yield from _keys_within(value)
