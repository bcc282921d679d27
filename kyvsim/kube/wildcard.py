"""Kyverno's wildcards: `*` is any run of characters, `?` exactly one; nothing else is special.

upstream: ext/wildcard (IGLOU-EU/go-wildcard), whose answers these are in linear time.
"""

from collections.abc import Callable


def has_wildcard(text: str) -> bool:
    """Return whether `text` holds a `*` or `?`."""
    return "*" in text or "?" in text


def matches(pattern: str, text: str) -> bool:
    """Return whether all of `text` fits `pattern`; the empty pattern fits the empty text only."""
    if "*" not in pattern:
        if "?" not in pattern:
            return pattern == text
        return len(pattern) == len(text) and _fits(pattern, text)
    if "?" in pattern:
        return _matches_general(pattern, text)
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
    if not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return at <= end


def _fits(pattern: str, text: str) -> bool:
    return all(wanted in ("?", found) for wanted, found in zip(pattern, text, strict=True))


def _matches_general(pattern: str, text: str) -> bool:
    """Match with two positions, going back to the last `*` only: never exponential."""
    at = here = 0
    star = mark = -1
    length, end = len(pattern), len(text)
    while here < end:
        wanted = pattern[at] if at < length else ""
        if wanted == "*":
            star, mark = at, here
            at += 1
        elif wanted in ("?", text[here]):
            at += 1
            here += 1
        elif star >= 0:
            mark += 1
            at, here = star + 1, mark
        else:
            return False
    return not pattern[at:].strip("*")
