"""Kyverno's wildcards: `*` is any run of characters, `?` exactly one; nothing else is special.

upstream: ext/wildcard (IGLOU-EU/go-wildcard), whose answers these are in linear time.
"""

import re
from collections.abc import Callable
from functools import lru_cache


def has_wildcard(text: str) -> bool:
    """Return whether `text` holds a `*` or `?`."""
    return "*" in text or "?" in text


def matches(pattern: str, text: str) -> bool:
    """Return whether all of `text` fits `pattern`; the empty pattern fits the empty text only."""
    if "*" not in pattern:
        return _fits(pattern, text)
    first, *middle, last = pattern.split("*")
    return _follow(text, first, middle, last)


def compile_wildcard(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a text fits `pattern`."""
    if "?" in pattern:
        return lambda text: matches(pattern, text)
    first, *rest = pattern.split("*")
    if not rest:
        return pattern.__eq__
    last = rest[-1]
    middle = tuple(part for part in rest[:-1] if part)
    if middle:
        return _contains(middle[0]) if not (first or last or middle[1:]) else _runs(pattern)
    if first and last:
        shortest = len(first) + len(last)
        return lambda text: len(text) >= shortest and text.startswith(first) and text.endswith(last)
    if last:
        return lambda text: text.endswith(last)
    return lambda text: text.startswith(first)


def _contains(part: str) -> Callable[[str], bool]:
    return lambda text: part in text


def _runs(pattern: str) -> Callable[[str], bool]:
    first, *middle, last = pattern.split("*")
    return lambda text: _follow(text, first, middle, last)


def _follow(text: str, first: str, middle: list[str], last: str) -> bool:
    """Tell whether the parts between stars follow each other in the text, from end to end."""
    if not (_fits(first, text[: len(first)]) and _fits(last, text[len(text) - len(last) :])):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = _find(part, text, at, end)
        if at < 0:
            return False
        at += len(part)
    return at <= end


def _fits(part: str, text: str) -> bool:
    """Tell whether a text fits a part without stars."""
    if "?" not in part:
        return part == text
    return len(part) == len(text) and _regex(part).fullmatch(text) is not None


def _find(part: str, text: str, at: int, end: int) -> int:
    """Return where a part without stars first fits in a text between two places; -1 for nowhere."""
    if "?" not in part:
        return text.find(part, at, end)
    found = _regex(part).search(text, at, end)
    return -1 if found is None else found.start()


@lru_cache(maxsize=256)
def _regex(part: str) -> re.Pattern[str]:
    """Return a part as an expression of a fixed length: nothing in it is tried in two ways."""
    return re.compile("".join("." if one == "?" else re.escape(one) for one in part), re.DOTALL)
