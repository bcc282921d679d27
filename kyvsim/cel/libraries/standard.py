"""The language's own functions: operators, sizes, conversions, strings, times, optionals."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from kyvsim.cel import conversion as to
from kyvsim.cel import operators
from kyvsim.cel.environment import Frame, FunctionDecl, Library, Run, function, method
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.operators import index_if_present
from kyvsim.cel.types import CelType
from kyvsim.cel.values import (
    NONE,
    Duration,
    MadeList,
    Optional,
    Timestamp,
    runtime_type,
    show_value,
)
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.go_time import Time, from_clock
from kyvsim.kubernetes.regexes import RegexError, compile_regex, is_found

# Libraries that contain only macros.
#
# Source of the rules: upstream cel-go ext/bindings.go, ext/protos.go

BINDINGS = Library("bindings", (), macros="bindings")
"""`cel.bind`: a name for a value."""

PROTOS = Library("protos", (), macros="protos")
"""`proto.hasExt` and `proto.getExt`."""

# The operators as functions: types for the checker, and code for nodes without own closures.
#
# Source of the signatures: upstream cel-go common/stdlib/standard.go.

_NUMBERS = ("int", "uint", "double")


def _operator(name: str, run: Callable[..., object], *signatures: str) -> FunctionDecl:
    declared = (function(f"{name}{signature}", run) for signature in signatures)
    return FunctionDecl(name, tuple(one.overloads[0] for one in declared), guarded=False)


def _alike(*kinds: str) -> tuple[str, ...]:
    return tuple(f"({kind}, {kind}) -> {kind}" for kind in kinds)


def _ordered(name: str, run: Callable[..., object]) -> FunctionDecl:
    plain = ("bool", *_NUMBERS, "string", "bytes", "timestamp", "duration")
    pairs = [(kind, kind) for kind in plain]
    pairs += [(one, other) for one in _NUMBERS for other in _NUMBERS if one != other]
    return _operator(name, run, *(f"({one}, {other}) -> bool" for one, other in pairs))


def _same(value: object) -> object:
    return value


def _never(*_: object) -> object:  # pragma: no cover — closures take these
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
            *_alike("bytes", "double", "duration"),
            "(duration, timestamp) -> timestamp",
            "(timestamp, duration) -> timestamp",
            "(int, int) -> int",
            *_alike("list<A>", "string", "uint"),
        ),
        _operator("_/_", operators.divide, *_alike("double", "int", "uint")),
        _operator("_%_", operators.modulo, *_alike("int", "uint")),
        _operator("_*_", operators.multiply, *_alike("double", "int", "uint")),
        _operator("-_", operators.negate, "(double) -> double", "(int) -> int"),
        _operator(
            "_-_",
            operators.subtract,
            *_alike("double", "duration", "int"),
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

# Sizes, conversions and the string functions of the language itself.
#
# Source of the rules: upstream cel-go common/stdlib/standard.go.


def _size(value: object) -> int:
    if isinstance(value, (str, bytes, list)):
        return len(value)
    if isinstance(value, dict) and not getattr(value, "only_own_kind", False):
        return len(value)
    if value.__class__ in {Duration, Timestamp}:
        raise no_such_overload()
    raise CelError("no such overload: size")


def _matches(text: object, pattern: object) -> bool:
    if text.__class__ is not str or pattern.__class__ is not str:
        known = text.__class__ in {str, Duration, Timestamp}
        raise no_such_overload() if known else CelError("no such overload: matches")
    try:
        return is_found(compile_regex(pattern), text)
    except RegexError as error:
        raise CelError(str(error)) from None


def _matches_constant(text: Run, pattern: object) -> Run:
    compiled = compile_regex(pattern)

    def run(frame: Frame) -> bool:
        found = text(frame)
        if found.__class__ is CelType:
            # The Go value of a type is its name, and upstream uses only that here.
            found = found.name
        if found.__class__ is str:
            return is_found(compiled, found)
        raise no_such_overload()

    return run


def _type(value: object) -> CelType:
    found = runtime_type(value)
    if getattr(value, "hides_type", False):
        raise CelError(f"type conversion error from '{found}' to 'type'")
    return found


STANDARD = Library(
    "standard",
    (
        *(
            one._replace(guarded=False)
            for kind in ("bytes", "list<A>", "map<A, B>", "string")
            for one in (
                function(f"size({kind}) -> int", _size),
                method(f"{kind}.size() -> int", _size),
            )
        ),
        function("bool(bool) -> bool", _same),
        function("bool(string) -> bool", to.text_to_bool),
        function("bytes(bytes) -> bytes", _same),
        function("bytes(string) -> bytes", str.encode),
        function("double(double) -> double", _same),
        function("double(int) -> double", float),
        function("double(string) -> double", to.text_to_double),
        function("double(uint) -> double", float),
        function("duration(duration) -> duration", _same),
        function("duration(string) -> duration", to.text_to_duration),
        function("dyn(A) -> dyn", _same),
        function("int(int) -> int", _same),
        function("int(double) -> int", to.double_to_int),
        function("int(duration) -> int", lambda value: value.nanoseconds),
        function("int(string) -> int", to.text_to_int),
        function("int(timestamp) -> int", lambda value: value.nanoseconds // _SECOND),
        function("int(uint) -> int", to.uint_to_int),
        *(
            function(f"string({kind}) -> string", to.to_text)
            for kind in ("string", "bool", "bytes", *_NUMBERS, "duration", "timestamp")
        ),
        function("timestamp(timestamp) -> timestamp", _same),
        function("timestamp(int) -> timestamp", to.int_to_timestamp),
        function("timestamp(string) -> timestamp", to.text_to_timestamp),
        function("type(A) -> type<A>", _type),
        function("uint(uint) -> uint", _same),
        function("uint(double) -> uint", to.double_to_uint),
        function("uint(int) -> uint", operators.checked_uint),
        function("uint(string) -> uint", to.text_to_uint),
        *(
            method(f"string.{name}(string) -> bool", run)._replace(fault="no such overload")
            for name, run in (
                ("contains", str.__contains__),
                ("endsWith", str.endswith),
                ("startsWith", str.startswith),
            )
        ),
        *(
            declare(signature, _matches, optimize=_matches_constant)._replace(guarded=False)
            for declare, signature in (
                (function, "matches(string, string) -> bool"),
                (method, "string.matches(string) -> bool"),
            )
        ),
    ),
)

# Parts of timestamps and durations.
#
# Source of the rules: upstream cel-go common/stdlib/standard.go; without a zone the time is UTC.

_SECOND = 1_000_000_000
_FIRST, _LAST = -62_135_510_400, 253_402_214_400
"""A day after the first second of the year 1, and a day before the last one of the year 9999."""
_NUMBER = re.compile(r"[+-]?[0-9]+")


def _in_zone(value: Timestamp, zone: str) -> Time:
    if zone in {"", "UTC"}:
        return Time(value.nanoseconds)
    if ":" in zone:
        hour, minute = map(_whole, zone.split(":", 1))
        offset = hour * 60 - minute if zone[0] == "-" else hour * 60 + minute
        return Time(value.nanoseconds, offset * 60)
    # Python's years are 1 to 9999, even if the zone is outside of them.
    second = min(max(value.nanoseconds // _SECOND, _FIRST), _LAST)
    shift = datetime.fromtimestamp(second, UTC).astimezone(_zone(zone)).utcoffset()
    return Time(value.nanoseconds, int(shift.total_seconds()) if shift is not None else 0)


def _whole(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise CelError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    return int(text)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise CelError(f"unknown time zone {name}") from None


def _day_of_year(time: Time) -> int:
    year, *_ = time.civil()
    start = from_clock((year, 1, 1), 0, time.offset)
    return (time.nanoseconds - start.nanoseconds) // (86_400 * _SECOND)


def _getter(
    name: str, part: Callable[[Time], int], of_duration: Callable[[Duration], int] | None = None
) -> Iterator[FunctionDecl]:
    yield method(f"timestamp.{name}() -> int", lambda value: part(Time(value.nanoseconds)))
    yield method(
        f"timestamp.{name}(string) -> int", lambda value, zone: part(_in_zone(value, zone))
    )
    if of_duration is not None:
        yield method(f"duration.{name}() -> int", of_duration)


def _whole_units(nanoseconds: int) -> Callable[[Duration], int]:
    def units(value: Duration) -> int:
        found = abs(value.nanoseconds) // nanoseconds
        return -found if value.nanoseconds < 0 else found

    return units


TIMES = Library(
    "times",
    (
        *_getter("getFullYear", lambda time: time.civil()[0]),
        *_getter("getMonth", lambda time: time.civil()[1] - 1),
        *_getter("getDayOfYear", _day_of_year),
        *_getter("getDayOfMonth", lambda time: time.civil()[2] - 1),
        *_getter("getDate", lambda time: time.civil()[2]),
        *_getter("getDayOfWeek", lambda time: time.civil()[4]),
        *_getter("getHours", lambda time: time.civil()[3] // 3600, _whole_units(3600 * _SECOND)),
        *_getter("getMinutes", lambda time: time.civil()[3] // 60 % 60, _whole_units(60 * _SECOND)),
        *_getter("getSeconds", lambda time: time.civil()[3] % 60, _whole_units(_SECOND)),
        *_getter(
            "getMilliseconds",
            lambda time: time.nanoseconds % _SECOND // 1_000_000,
            _whole_units(1_000_000),
        ),
    ),
)

# Optional values.
#
# Source of the rules: upstream cel-go cel/library.go, common/types/optional.go.


def _of(value: object) -> Optional:
    return Optional(present=True, value=value)


def _is_zero(value: object) -> bool:
    if value.__class__ is Optional:
        return not value.present
    if value.__class__ is Duration:
        return not value.nanoseconds
    return value.__class__ is not Timestamp and not value


def _value(found: Optional) -> object:
    if not found.present:
        raise CelError("optional.none() dereference")
    return found.value


def _unwrap(values: list[object]) -> MadeList:
    made = MadeList()
    for one in values:
        if one.__class__ is not Optional:
            raise CelError(f"value {show_value(one)} is not optional")
        if one.present:
            made.append(one.value)
    return made


OPTIONALS = Library(
    "optionals",
    (
        function("optional.of(V) -> optional<V>", _of),
        function(
            "optional.ofNonZeroValue(V) -> optional<V>", lambda v: NONE if _is_zero(v) else _of(v)
        ),
        function("optional.none() -> optional<V>", lambda: NONE),
        method("optional<V>.value() -> V", _value),
        method("optional<V>.hasValue() -> bool", lambda found: found.present),
        method("optional<V>.or(optional<V>) -> optional<V>", _never),
        method("optional<V>.orValue(V) -> V", _never),
        function("_[?_](list<V>, int) -> optional<V>", index_if_present),
        function("_[?_](optional<list<V>>, int) -> optional<V>", index_if_present),
        function("_[?_](map<K, V>, K) -> optional<V>", index_if_present),
        function("_[?_](optional<map<K, V>>, K) -> optional<V>", index_if_present),
        method("list<V>.first() -> optional<V>", lambda v: _of(v[0]) if v else NONE),
        method("list<V>.last() -> optional<V>", lambda v: _of(v[-1]) if v else NONE),
        function("optional.unwrap(list<optional<V>>) -> list<V>", _unwrap),
        method("list<optional<V>>.unwrapOpt() -> list<V>", _unwrap),
    ),
    macros="optional",
)

LENIENT_OR_VALUE = Library(
    "lenient_or_value",
    (function(f"{OR_VALUE}(dyn, dyn) -> dyn", _never),),
    macros="lenient_or_value",
)
"""`orValue` on values that are not optional. upstream: pkg/cel/compiler/env.go"""
