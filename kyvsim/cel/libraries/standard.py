"""Sizes, conversions and the string functions of the language itself.

Source of the rules: upstream cel-go common/stdlib/standard.go.
"""

from collections.abc import Callable
from typing import Any

from kyvsim.cel import conversion as to
from kyvsim.cel.environment import Function, Library, function, member_and_global, way
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.loops import Run
from kyvsim.cel.types import CelType
from kyvsim.cel.values import Duration, Timestamp, runtime_type
from kyvsim.kubernetes.regexes import RegexError, compile_regex, is_found


def _size(value: Any) -> int:
    kind = value.__class__
    if kind in {str, bytes} or isinstance(value, list):
        return len(value)
    if isinstance(value, dict) and not getattr(value, "only_own_kind", False):
        return len(value)
    if kind in {Duration, Timestamp}:
        raise no_such_overload()
    raise CelError("no such overload: size")


def _same(value: Any) -> Any:
    return value


def _matches(text: Any, pattern: Any) -> bool:
    if text.__class__ is not str or pattern.__class__ is not str:
        raise _no_match(text)
    try:
        return is_found(compile_regex(pattern), text)
    except RegexError as error:
        raise CelError(str(error)) from None


def _no_match(text: Any) -> CelError:
    if text.__class__ in {str, Duration, Timestamp}:
        return no_such_overload()
    return CelError("no such overload: matches")


def _matches_constant(text: Run, pattern: Any) -> Run:
    compiled = compile_regex(pattern)

    def run(frame: list[Any]) -> bool:
        found = text(frame)
        if found.__class__ is CelType:
            # The Go value of a type is its name, and this is all that upstream looks at here.
            found = found.name
        if found.__class__ is str:
            return is_found(compiled, found)
        raise no_such_overload()

    return run


def _text_test(name: str, run: Callable[[str, str], bool]) -> Function:
    ways = (way("string.(string) -> bool", run),)
    return Function(name, ways, fault="no such overload")


def _type(value: Any) -> CelType:
    found = runtime_type(value)
    if getattr(value, "hides_type", False):
        raise CelError(f"type conversion error from '{found}' to 'type'")
    return found


def _contains(text: str, part: str) -> bool:
    return part in text


_MATCHES = tuple(
    one._replace(optimize=_matches_constant)
    for one in member_and_global("(string, string) -> bool", _matches)
)

STANDARD = Library(
    "standard",
    (
        Function(
            "size",
            tuple(
                one
                for kind in ("bytes", "list<A>", "map<A, B>", "string")
                for one in member_and_global(f"({kind}) -> int", _size)
            ),
            guarded=False,
        ),
        function("bool", way("(bool) -> bool", _same), way("(string) -> bool", to.text_to_bool)),
        function("bytes", way("(bytes) -> bytes", _same), way("(string) -> bytes", str.encode)),
        function(
            "double",
            way("(double) -> double", _same),
            way("(int) -> double", float),
            way("(string) -> double", to.text_to_double),
            way("(uint) -> double", float),
        ),
        function(
            "duration",
            way("(duration) -> duration", _same),
            way("(string) -> duration", to.text_to_duration),
        ),
        function("dyn", way("(A) -> dyn", _same)),
        function(
            "int",
            way("(int) -> int", _same),
            way("(double) -> int", to.double_to_int),
            way("(duration) -> int", lambda value: value.nanoseconds),
            way("(string) -> int", to.text_to_int),
            way("(timestamp) -> int", to.timestamp_to_int),
            way("(uint) -> int", to.uint_to_int),
        ),
        function(
            "string",
            *(
                way(f"({kind}) -> string", to.to_text)
                for kind in (
                    "string",
                    "bool",
                    "bytes",
                    "double",
                    "duration",
                    "int",
                    "timestamp",
                    "uint",
                )
            ),
        ),
        function(
            "timestamp",
            way("(timestamp) -> timestamp", _same),
            way("(int) -> timestamp", to.int_to_timestamp),
            way("(string) -> timestamp", to.text_to_timestamp),
        ),
        function("type", way("(A) -> type<A>", _type)),
        function(
            "uint",
            way("(uint) -> uint", _same),
            way("(double) -> uint", to.double_to_uint),
            way("(int) -> uint", to.int_to_uint),
            way("(string) -> uint", to.text_to_uint),
        ),
        _text_test("contains", _contains),
        _text_test("endsWith", str.endswith),
        _text_test("startsWith", str.startswith),
        Function("matches", _MATCHES, guarded=False),
    ),
)
