"""Character classes and escapes of the expressions that `random` takes.

upstream: Go's regexp/syntax without its Perl flags.
"""

import re
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.kube.regexes import RegexError

Runes: TypeAlias = list[tuple[int, int]]
"""Ranges of characters, first and last."""

_LAST = 0x10FFFF
_CONTROLS = MappingProxyType({"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11})
_ESCAPE = re.compile(
    r"\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|(0[0-7]{0,2}|[1-7][0-7]{1,2})|([afnrtv])"
    r"|([!-/:-@\[-`{-~]))"
)
_NAMED = MappingProxyType(
    {
        "alnum": "09AZaz",
        "alpha": "AZaz",
        "ascii": "\0\x7f",
        "blank": "\t\t  ",
        "cntrl": "\0\x1f\x7f\x7f",
        "digit": "09",
        "graph": "!~",
        "lower": "az",
        "print": " ~",
        "punct": "!/:@[`{~",
        "space": "\t\r  ",
        "upper": "AZ",
        "word": "09AZ__az",
        "xdigit": "09AFaf",
    }
)
_NAME = re.compile(r"\[:(\^?)([a-z]*):\]")


def regex_error(problem: str, where: str) -> RegexError:
    """Return the error with Go's message for a bad expression."""
    return RegexError(f"error parsing regexp: {problem}: `{where}`")


def read_escape(pattern: str, at: int) -> tuple[int, int]:
    """Return the character that the escape at `at` writes, and where it ends."""
    found = _ESCAPE.match(pattern, at)
    if found is None:
        if at + 1 >= len(pattern):
            raise regex_error("trailing backslash at end of expression", "")
        raise regex_error("invalid escape sequence", pattern[at : at + 2])
    long, short, octal, control, mark = found.groups()
    if long or short:
        code = int((long or short)[-9:], 16)
    elif octal:
        code = int(octal, 8)
    else:
        code = _CONTROLS[control] if control else ord(mark)
    if code > _LAST:
        raise regex_error("invalid escape sequence", found[0])
    return code, found.end()


def read_class(pattern: str, start: int) -> tuple[Runes, int]:
    """Return the characters of the class that begins at `start`, and where it ends."""
    negated = pattern.startswith("[^", start)
    at = first = start + 1 + negated
    runes: Runes = [(10, 10)] if negated else []
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        named = _NAME.match(pattern, at)
        if named is not None and named[2] in _NAMED:
            runes += _named(named)
            at = named.end()
            continue
        if named is not None:
            raise regex_error("invalid character class range", named[0])
        is_last = pattern.startswith("]", at + 1) or at + 1 == len(pattern)
        if pattern[at] == "-" and at != first and not is_last:
            raise regex_error("invalid character class range", pattern[at : at + 2])
        span, at = _span(pattern, at)
        runes.append(span)
    if at >= len(pattern):
        raise regex_error("missing closing ]", pattern[start:])
    merged = _merged(_others(runes) if negated else runes)
    return [(max(low, 1), high) for low, high in merged if high >= 1], at + 1


def _span(pattern: str, at: int) -> tuple[tuple[int, int], int]:
    start = at
    low, at = _single(pattern, at)
    if not pattern.startswith("-", at) or pattern[at + 1 : at + 2] in ("]", ""):
        return (low, low), at
    high, at = _single(pattern, at + 1)
    if high < low:
        raise regex_error("invalid character class range", pattern[start:at])
    return (low, high), at


def _single(pattern: str, at: int) -> tuple[int, int]:
    if pattern[at] == "\\":
        return read_escape(pattern, at)
    return ord(pattern[at]), at + 1


def _named(found: re.Match[str]) -> Runes:
    ends = _NAMED[found[2]]
    runes = [(ord(ends[at]), ord(ends[at + 1])) for at in range(0, len(ends), 2)]
    return _others(runes) if found[1] else runes


def _merged(runes: Runes) -> Runes:
    merged: Runes = []
    for low, high in sorted(runes):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _others(runes: Runes) -> Runes:
    """Return the characters that are in none of the ranges."""
    others: Runes = []
    start = 0
    for low, high in _merged(runes):
        if start < low:
            others.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        others.append((start, _LAST))
    return others
