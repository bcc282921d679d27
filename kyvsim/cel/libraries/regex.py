"""Functions that find, replace and extract what a regular expression matches."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.loops import Run
from kyvsim.cel.values import NONE, Optional, TextList
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.regexes import RegexError, as_bytes, compile_regex, each_match

# Parts of a text that a pattern matches.
#
# Source of the rules: upstream k8s.io/apiserver pkg/cel/library/regex.go.


def _regex_compile(pattern: str) -> Any:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return _first(_regex_compile(pattern), text)


def _first(pattern: Any, text: str) -> str:
    return next(_regex_texts(pattern, text), "")


def _find_all(text: str, pattern: str, count: int = -1) -> TextList:
    return _all(_regex_compile(pattern), text, count)


def _all(pattern: Any, text: str, count: int = -1) -> TextList:
    return TextList(islice(_regex_texts(pattern, text), count if count >= 0 else None))


def _regex_texts(pattern: Any, text: str) -> Iterator[str]:
    return (match[0].decode("utf-8", "replace") for match in each_match(pattern, as_bytes(text)))


def _find_constant(text: Run, pattern: Any) -> Run:
    compiled = compile_regex(pattern)
    return lambda frame: _first(compiled, _text(text(frame)))


def _find_all_constant(text: Run, pattern: Any, count: Run = lambda _: -1) -> Run:
    compiled = compile_regex(pattern)
    return lambda frame: _all(compiled, _text(text(frame)), _number(count(frame)))


def _number(value: Any) -> int:
    if value.__class__ is int:
        return int(value)
    raise no_such_overload()


def _text(value: Any) -> str:
    if value.__class__ is str:
        return str(value)
    raise no_such_overload()


REGEX = Library(
    "regex",
    (
        function("find", way("string.(string) -> string", _find)._replace(optimize=_find_constant)),
        function(
            "findAll",
            way("string.(string) -> list<string>", _find_all)._replace(optimize=_find_all_constant),
            way("string.(string, int) -> list<string>", _find_all)._replace(
                optimize=_find_all_constant
            ),
        ),
    ),
)

# Replacing and extracting what a pattern and its groups match.
#
# Source of the rules: upstream cel-go ext/regex.go. In a replacement `\1` stands for a group and
# `\\` for a backslash.


def _regex_groups_compile(pattern: str) -> Any:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise CelError(str(error)) from None


def _replace(text: str, pattern: str, replacement: str, count: int = -1) -> str:
    if not count:
        return text
    compiled = _regex_groups_compile(pattern)
    data, made, last = as_bytes(text), [], 0
    for place, match in enumerate(each_match(compiled, data)):
        if 0 <= count <= place:
            break
        made += [data[last : match.start()], _filled(replacement, match, compiled.groups)]
        last = match.end()
    return b"".join((*made, data[last:])).decode("utf-8", "replace")


def _filled(replacement: str, match: Any, groups: int) -> bytes:
    """Return a replacement with its groups filled in."""
    made: list[bytes] = []
    chars = iter(replacement)
    for char in chars:
        if char != "\\":
            made.append(as_bytes(char))
            continue
        following = next(chars, "")
        if following == "\\":
            made.append(b"\\")
            continue
        if not (following.isascii() and following.isdigit()):
            need = "must be followed by a digit or \\" if following else "not allowed at end"
            raise CelError(f"invalid replacement string: '{replacement}' \\ {need}")
        if int(following) > groups:
            raise CelError(
                f"replacement string references group {following} "
                f"but regex has only {groups} group(s)"
            )
        made.append(match[int(following)] or b"")
    return b"".join(made)


def _regex_groups_texts(text: str, pattern: str) -> Iterator[str]:
    """Yield what each match has in the only group, or as a whole where there is none."""
    compiled = _regex_groups_compile(pattern)
    if compiled.groups > 1:
        shown = quote(pattern)
        raise CelError(f"regular expression has more than one capturing group: {shown}")
    for match in each_match(compiled, as_bytes(text)):
        yield (match[compiled.groups] or b"").decode("utf-8", "replace")


def _extract(text: str, pattern: str) -> Optional:
    found = next(_regex_groups_texts(text, pattern), None)
    # A group that takes no character counts as missing, a whole match that is empty does not.
    if found is None or (not found and _regex_groups_compile(pattern).groups):
        return NONE
    return Optional(present=True, value=found)


def _extract_all(text: str, pattern: str) -> TextList:
    grouped = _regex_groups_compile(pattern).groups > 0
    return TextList(found for found in _regex_groups_texts(text, pattern) if found or not grouped)


REGEX_GROUPS = Library(
    "regex groups",
    (
        function(
            "regex.replace",
            way("(string, string, string) -> string", _replace),
            way("(string, string, string, int) -> string", _replace),
        ),
        function("regex.extract", way("(string, string) -> optional<string>", _extract)),
        function("regex.extractAll", way("(string, string) -> list<string>", _extract_all)),
    ),
)
