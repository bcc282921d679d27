"""The operators as functions: what the checker knows of them and what runs where no closure does.

Source of the signatures: upstream cel-go common/stdlib/standard.go.
"""

from collections.abc import Callable
from typing import Any

from kyvsim.cel import operators
from kyvsim.cel.environment import Function, Library, way

_NUMBERS = ("int", "uint", "double")


def _operator(name: str, run: Callable[..., Any], *signatures: str) -> Function:
    ways = tuple(way(signature, run) for signature in signatures)
    return Function(name, ways, guarded=False)


def _same(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"({kind}, {kind}) -> {kind}" for kind in kinds)


def _ordered(name: str, run: Callable[..., Any]) -> Function:
    plain = ("bool", *_NUMBERS, "string", "bytes", "timestamp", "duration")
    pairs = [(kind, kind) for kind in plain]
    pairs += [(one, other) for one in _NUMBERS for other in _NUMBERS if one != other]
    return _operator(name, run, *(f"({one}, {other}) -> bool" for one, other in pairs))


def _never(*_: Any) -> Any:  # pragma: no cover — closures take these
    raise AssertionError


OPERATORS = Library(
    "operators",
    (
        _operator("_&&_", _never, "(bool, bool) -> bool"),
        _operator("_||_", _never, "(bool, bool) -> bool"),
        _operator("_?_:_", _never, "(bool, A, A) -> A"),
        _operator("!_", operators.invert, "(bool) -> bool"),
        _operator("_==_", operators.equals, "(A, A) -> bool"),
        _operator("_!=_", operators.differs, "(A, A) -> bool"),
        _operator(
            "_+_",
            operators.add,
            "(bytes, bytes) -> bytes",
            "(double, double) -> double",
            "(duration, duration) -> duration",
            "(duration, timestamp) -> timestamp",
            "(timestamp, duration) -> timestamp",
            "(int, int) -> int",
            "(list<A>, list<A>) -> list<A>",
            "(string, string) -> string",
            "(uint, uint) -> uint",
        ),
        _operator("_/_", operators.divide, *_same(("double", "int", "uint"))),
        _operator("_%_", operators.modulo, *_same(("int", "uint"))),
        _operator("_*_", operators.multiply, *_same(("double", "int", "uint"))),
        _operator("-_", operators.negate, "(double) -> double", "(int) -> int"),
        _operator(
            "_-_",
            operators.subtract,
            "(double, double) -> double",
            "(duration, duration) -> duration",
            "(int, int) -> int",
            "(timestamp, duration) -> timestamp",
            "(timestamp, timestamp) -> duration",
            "(uint, uint) -> uint",
        ),
        _ordered("_<_", operators.less),
        _ordered("_<=_", operators.less_or_equal),
        _ordered("_>_", operators.greater),
        _ordered("_>=_", operators.greater_or_equal),
        _operator("@in", operators.contains, "(A, list<A>) -> bool", "(A, map<A, B>) -> bool"),
        _operator(
            "_[_]",
            operators.index,
            "(list<A>, int) -> A",
            "(map<A, B>, A) -> B",
            "(optional<list<A>>, int) -> optional<A>",
            "(optional<map<A, B>>, A) -> optional<B>",
        ),
    ),
)
