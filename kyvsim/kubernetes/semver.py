"""Semantic versions, and ranges such as `>=1.2.0 <2.0.0 || 3.x`.

upstream: github.com/blang/semver/v4 (semver.go, range.go). A version is strict: three numbers, no
leading `v`. Ranges support `x` as a wildcard, but neither `^` nor `~`.
"""

import re
from collections.abc import Callable, Mapping
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

from kyvsim.kubernetes.go_text import quote

_MAX_UINT64 = (1 << 64) - 1
_RELEASE = (1,)
_DIGITS = "[0-9]*"
_WORD = "[0-9A-Za-z-]*"


class Version(NamedTuple):
    """A version; versions compare by precedence, which ignores build metadata."""

    major: int
    minor: int
    patch: int
    precedence: tuple[object, ...] = _RELEASE
    """Sorts pre-releases before the release, part by part."""


Range = Callable[[Version], bool]

ZERO = Version(0, 0, 0)

_COMPARISONS: Mapping[str, Callable[[Version, Version], bool]] = {
    "": eq,
    "=": eq,
    "==": eq,
    "!": ne,
    "!=": ne,
    ">": gt,
    ">=": ge,
    "<": lt,
    "<=": le,
}


def parse_version(text: str) -> Version | None:
    """Return the version that a text represents; None if it is not a complete version."""
    try:
        return read_version(text)
    except ValueError:
        return None


def parse_range(text: str) -> Range:
    """Return a predicate for a range.

    Raises ValueError with upstream's message for an invalid range. As in upstream, a part of one
    character is ignored.
    """
    alternatives = [
        # A part with an `x` represents one or two bounds.
        [_comparison(one) for part in parts for one in (_bounds(part) if "x" in part else (part,))]
        for parts in _alternatives(_parts(text))
    ]

    def accepts(version: Version) -> bool:
        return any(all(test(version) for test in tests) for tests in alternatives)

    return accepts


def read_version(text: str) -> Version:
    """Return the version that a text represents; raises ValueError with upstream's message."""
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "major number", "Major number")
    minor = _number(parts[1], "minor number", "Minor number")
    rest, plus, build = parts[2].partition("+")
    rest, dash, before = rest.partition("-")
    patch = _number(rest, "patch number", "Patch number")
    precedence: tuple[object, ...] = _RELEASE
    if dash:
        precedence = (0, *map(_prerelease, before.split(".")))
    if plus:
        for part in build.split("."):
            _check_word(part, "Build meta data is empty", "build meta data")
    return Version(major, minor, patch, precedence)


def _number(text: str, name: str, subject: str) -> int:
    if not re.fullmatch(_DIGITS, text):
        raise ValueError(f"Invalid character(s) found in {name} {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{subject} must not contain leading zeroes {quote(text)}")
    if not text:
        raise ValueError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > _MAX_UINT64:
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def _prerelease(text: str) -> tuple[int, int, str]:
    """Return a sort key: numbers before words."""
    if text and re.fullmatch(_DIGITS, text):
        return (0, _number(text, "prerelease", "Numeric PreRelease version"), "")
    _check_word(text, "Prerelease is empty", "prerelease")
    return (1, 0, text)


def _check_word(text: str, empty: str, name: str) -> None:
    if not text:
        raise ValueError(empty)
    if not re.fullmatch(_WORD, text):
        raise ValueError(f"Invalid character(s) found in {name} {quote(text)}")


def _parts(text: str) -> list[str]:
    """Split a text at spaces, but not at those after `<`, `>` or `=`."""
    parts: list[str] = []
    start, before = 0, ""
    for at, char in enumerate(text):
        if char != " ":
            before = char
        elif before not in ("<", ">", "="):
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.replace(" ", "") for part in parts if len(part.encode()) > 1]


def _alternatives(parts: list[str]) -> list[list[str]]:
    """Return the parts between the `||`."""
    groups: list[list[str]] = [[]]
    for at, part in enumerate(parts):
        if part != "||":
            groups[-1].append(part)
        elif at == 0:
            raise ValueError("First element in range is '||'")
        else:
            groups.append([])
    if not groups[-1]:
        raise ValueError("Last element in range is '||'")
    if not all(groups):
        raise ValueError("Empty element in range")  # upstream: a nil function, which panics
    return groups


def _split_operator(part: str) -> tuple[str, str]:
    found = re.search(r"\d", part)
    if found is None:
        raise ValueError(f"Could not get version from string: {quote(part)}")
    return part[: found.start()].strip(), part[found.start() :]


def _comparison(part: str) -> Range:
    operator, text = _split_operator(part)
    whole = quote(operator + text)
    compare = _COMPARISONS.get(operator)
    if compare is None:
        problem = f"Could not parse comparator {quote(operator)} in {whole}"
        raise ValueError(f"Could not parse Range {quote(part)}: {problem}")
    try:
        bound = read_version(text)
    except ValueError as error:
        problem = f"Could not parse version {quote(text)} in {whole}: {error}"
        raise ValueError(f"Could not parse Range {quote(part)}: {problem}") from None
    return lambda version: compare(version, bound)


def _bounds(part: str) -> tuple[str, ...]:
    operator, text = _split_operator(part)
    flat = text.replace(".x.x", ".x", 1).replace(".x", ".0", 1)
    if flat.count(".") == 1:
        flat += ".0"
    depth = text.count(".") + 1 if text.rsplit(".", 1)[-1] == "x" else 0
    match operator:
        case ">":
            return (f">={_next(flat, depth)}",)
        case "<=":
            return (f"<{_next(flat, depth)}",)
        case ">=" | "<":
            return (operator + flat,)
        case "" | "=" | "==":
            return (f">={flat}", f"<{_next(flat, depth)}")
        case "!" | "!=":
            return (f"<{flat}", f">={_next(flat, depth)}")
    return (flat,)


def _next(text: str, depth: int) -> str:
    """Return the first version after the range of a wildcard at position `depth`."""
    if depth not in (2, 3):
        return ""
    parts = text.split(".")
    at = depth - 2
    if not re.fullmatch(_DIGITS, parts[at]):
        return ""
    parts[at] = str(int(parts[at]) + 1)
    return ".".join(parts)
