"""Parts of a text that a pattern matches.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/regex.go.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.loops import Run
from kyvsim.cel.values import TextList
from kyvsim.kubernetes.regexes import RegexError, as_bytes, compile_regex, each_match


def _compile(pattern: str) -> Any:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return _first(_compile(pattern), text)


def _first(pattern: Any, text: str) -> str:
    return next(_texts(pattern, text), "")


def _find_all(text: str, pattern: str, count: int = -1) -> TextList:
    return _all(_compile(pattern), text, count)


def _all(pattern: Any, text: str, count: int = -1) -> TextList:
    return TextList(islice(_texts(pattern, text), count if count >= 0 else None))


def _texts(pattern: Any, text: str) -> Iterator[str]:
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
