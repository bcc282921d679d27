"""The operators: selection, indexes, equality, order and arithmetic."""

import math
from collections.abc import Callable
from typing import Any

from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.values import (
    NONE,
    Duration,
    JoinedList,
    MadeList,
    MadeMap,
    Message,
    Optional,
    TextList,
    Timestamp,
    UInt,
    go_type,
    show_value,
    type_name,
)

# Equality of two values, and membership.
#
# Source of the rules: upstream cel-go common/types (Equal, Contains): numbers of different types
# are compared by value, other values are equal only to values of the same type.

NUMBERS = frozenset({int, float, UInt})


def equals(left: object, right: object) -> bool:
    """Return whether two values are equal."""
    kind = left.__class__
    if kind is str:
        return left == right
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(equals, left, right))
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(_is_entry(key, value, right) for key, value in left.items())
        )
    if kind is right.__class__:
        if left.__class__ is Timestamp and right.__class__ is Timestamp:
            return left.nanoseconds == right.nanoseconds
        if left.__class__ is Optional and right.__class__ is Optional:
            return left.present == right.present and equals(left.value, right.value)
        return left == right
    if kind in NUMBERS and right.__class__ in NUMBERS:
        return compare_numbers(left, right) == 0
    return False


def _is_entry(key: object, value: object, among: dict[object, object]) -> bool:
    if key.__class__ is bool or key.__class__ in NUMBERS:
        found = find_key(among, key)
        return found is not None and equals(value, found[0])
    return key in among and equals(value, among[key])


def equated(left: object, right: object) -> bool:
    """Return the result of `==` for two values.

    Kubernetes' own types can only be compared with null and their own type: raises CelError.
    """
    if right is None or not getattr(left, "only_own_kind", False):
        return equals(left, right)
    if left.__class__ is not right.__class__ or getattr(right, "computed", False):
        raise no_such_overload()
    return equals(left, right)


def differs(left: object, right: object) -> bool:
    """Return the result of `!=` for two values; values that cannot be compared differ."""
    return getattr(right, "computed", False) or not equals(left, right)


def compare_numbers(left: Any, right: Any) -> int:
    """Return a number below, at or above 0; a NaN is above everything.

    As upstream, an int is compared with a double as a double.
    """
    if left.__class__ is float and right.__class__ is not float:
        return _compare_double(left, int(right))
    if right.__class__ is float and left.__class__ is not float:
        return -_compare_double(right, int(left)) if right == right else 1  # noqa: PLR0124 — a NaN
    if left == right:
        return 0
    return -1 if left < right else 1


def _compare_double(double: float, whole: int) -> int:
    other = float(whole)
    if double == other:
        return 0
    return -1 if double < other else 1


def contains(item: object, among: object) -> bool:
    """Return whether a list contains an item, or a map has a key; raises CelError for others."""
    if isinstance(among, list):
        if item.__class__ is str:
            return item in among
        return any(equals(item, one) and not getattr(one, "computed", False) for one in among)
    if isinstance(among, dict) and not getattr(among, "only_own_kind", False):
        return find_key(among, item) is not None
    raise no_such_overload()


def find_key(found: dict[object, object], key: object) -> tuple[object] | None:
    """Return the map's value for a key in a tuple, or None if the key is missing.

    Raises CelError for bytes, on which upstream panics.
    """
    kind = key.__class__
    if kind is str or key is None:
        return (found[key],) if key in found else None
    if kind is bytes and found.__class__ is MadeMap:
        raise _unhashable()
    if (kind is not bool and kind not in NUMBERS) or key not in found:
        return None
    if key.__class__ is float and math.isnan(key):
        return None
    written = next(one for one in found if one == key)
    # upstream looks up a double as a whole number, but never a whole number as a double.
    fits = written.__class__ is not float or kind is float
    return (found[key],) if fits and (written.__class__ is bool) == (kind is bool) else None


def as_key(value: object) -> object:
    """Return a value as a key of a map; a list or map is a key that is equal only to itself."""
    kind = value.__class__
    if kind is str:
        return value
    if value.__class__ is list or value.__class__ is TextList:
        return MadeList(value)
    if kind is bytes:
        raise _unhashable()
    if isinstance(value, dict):
        return value if kind is MadeMap else MadeMap(value)
    return value


def _unhashable() -> CelError:
    return CelError("internal error: runtime error: hash of unhashable type types.Bytes")


# The order of two values.
#
# Source of the rules: upstream cel-go common/types (Compare), common/stdlib/standard.go.

_PLAIN = frozenset({str, bytes, bool, int})
COMPARABLE = frozenset({*_PLAIN, *NUMBERS, Duration, Timestamp})


def compare(left: Any, right: Any) -> int:
    """Return a number below, at or above 0; raises CelError if the values have no order."""
    kind = left.__class__
    if kind is right.__class__ and kind in _PLAIN:
        return int(left > right) - int(left < right)
    if kind in NUMBERS and right.__class__ in NUMBERS:
        if left != left or right != right:  # noqa: PLR0124 — only a NaN differs from itself
            raise CelError("NaN values cannot be ordered")
        return compare_numbers(left, right)
    if kind is right.__class__ and kind in {Duration, Timestamp}:
        return compare(left.nanoseconds, right.nanoseconds)
    raise no_such_overload()


def _relation(sign: str, holds: Callable[[int], bool]) -> Callable[[object, object], bool]:
    fault = f"no such overload: _{sign}_"

    def relation(left: object, right: object) -> bool:
        if left.__class__ not in COMPARABLE:
            raise CelError(fault)
        if left != left or right != right:  # noqa: PLR0124 — only a NaN differs from itself
            return False
        return holds(compare(left, right))

    return relation


less = _relation("<", lambda order: order < 0)
less_or_equal = _relation("<=", lambda order: order <= 0)
greater = _relation(">", lambda order: order > 0)
greater_or_equal = _relation(">=", lambda order: order >= 0)

# Arithmetic; overflow of whole numbers is an error.
#
# Source of the rules: upstream cel-go common/types (Add, Divide, …), overflow.go.

_MAX_INT = (1 << 63) - 1
_MAX_UINT = (1 << 64) - 1
_SECOND = 1_000_000_000
MIN_TIME = -62_135_596_800 * _SECOND
MAX_TIME = 253_402_300_800 * _SECOND - 1
_JOINED = frozenset({str, bytes, float})
_RECEIVERS = frozenset({str, Timestamp, Duration})


def checked_int(number: int) -> int:
    """Return the number; raises CelError if it is not an int64."""
    if -_MAX_INT - 1 <= number <= _MAX_INT:
        return number
    raise CelError("integer overflow")


def checked_uint(number: int) -> UInt:
    """Return the number as a UInt; raises CelError if it is not a uint64."""
    if 0 <= number <= _MAX_UINT:
        return UInt(number)
    raise CelError("unsigned integer overflow")


def checked_duration(nanoseconds: int) -> Duration:
    """Return a duration; raises CelError if it does not fit into 64 bits."""
    return Duration(checked_int(nanoseconds))


def checked_timestamp(nanoseconds: int, offset: int = 0) -> Timestamp:
    """Return a point in time; raises CelError outside of the years 1 to 9999."""
    if MIN_TIME <= nanoseconds <= MAX_TIME:
        return Timestamp(nanoseconds, offset)
    raise CelError("timestamp overflow")


def _unfit(sign: str, left: object, takes: frozenset[type]) -> CelError:
    if left.__class__ in takes or left.__class__ in _RECEIVERS:
        return no_such_overload()
    return CelError(f"no such overload: _{sign}_")


_LISTS = (list, MadeList, JoinedList, TextList)
_ADDERS = frozenset({int, UInt, *_JOINED, Duration, Timestamp, *_LISTS})


def add(left: Any, right: Any) -> object:
    """Return `left + right`."""
    kind = left.__class__
    if kind is right.__class__:
        if kind in _JOINED:
            return left + right
        if kind is int:
            return checked_int(left + right)
        if kind is UInt:
            return checked_uint(left + right)
        if kind is Duration:
            return checked_duration(left.nanoseconds + right.nanoseconds)
    if isinstance(left, list) and isinstance(right, list):
        return JoinedList([*left, *right]) if left and right else left or right
    if kind is Duration and right.__class__ is Timestamp:
        return checked_timestamp(right.nanoseconds + left.nanoseconds, right.offset)
    if kind is Timestamp and right.__class__ is Duration:
        return checked_timestamp(left.nanoseconds + right.nanoseconds, left.offset)
    raise _unfit("+", left, _ADDERS)


_SUBTRACTORS = frozenset({int, UInt, float, Duration, Timestamp})


def subtract(left: Any, right: Any) -> object:
    """Return `left - right`."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is float:
            return left - right
        if kind is int:
            return checked_int(left - right)
        if kind is UInt:
            return checked_uint(left - right)
        if kind in {Duration, Timestamp}:
            return checked_duration(left.nanoseconds - right.nanoseconds)
    if kind is Timestamp and right.__class__ is Duration:
        return checked_timestamp(left.nanoseconds - right.nanoseconds, left.offset)
    raise _unfit("-", left, _SUBTRACTORS)


def _numeric(
    sign: str,
    takes: frozenset[type],
    whole: Callable[[int, int], int],
    double: Callable[[float, float], float],
) -> Callable[[object, object], object]:
    def operation(left: Any, right: Any) -> object:
        kind = left.__class__
        if kind is right.__class__ and kind in takes:
            if kind is int:
                return checked_int(whole(left, right))
            if kind is UInt:
                return checked_uint(whole(left, right))
            return double(left, right)
        raise _unfit(sign, left, takes)

    return operation


def _quotient(left: int, right: int) -> int:
    if not right:
        raise CelError("division by zero")
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _remainder(left: int, right: int) -> int:
    if not right:
        raise CelError("modulus by zero")
    if left == -_MAX_INT - 1 and right == -1:
        raise CelError("integer overflow")
    found = abs(left) % abs(right)
    return -found if left < 0 else found


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


_NUMERIC = frozenset({int, UInt, float})
multiply = _numeric("*", _NUMERIC, lambda a, b: int(a) * int(b), lambda a, b: a * b)
divide = _numeric("/", _NUMERIC, _quotient, _divide_doubles)
modulo = _numeric("%", frozenset({int, UInt}), _remainder, lambda a, _: a)


def negate(value: object) -> object:
    """Return `-value`."""
    if value.__class__ is float:
        return -value
    if value.__class__ is int:
        return checked_int(-value)
    if value.__class__ is Duration:
        return checked_duration(-value.nanoseconds)
    if value.__class__ in _RECEIVERS or value.__class__ is bool:
        raise no_such_overload()
    raise CelError("no such overload: -_")


def invert(value: object) -> bool:
    """Return `!value`."""
    if value is True:
        return False
    if value is False:
        return True
    raise no_such_overload()


# Fields of objects, elements of lists, and optional access to both.
#
# Source of the rules: upstream cel-go interpreter/attributes.go.

_QUALIFIERS = frozenset({str, int, UInt, float, bool})


def select(value: object, field: str) -> object:
    """Return a field; of an optional value, an optional field."""
    if isinstance(value, dict):
        if field in value:
            return value[field]
        if value.__class__ is Message:
            raise CelError(f"no such field '{field}'")
        raise CelError(f"no such key: {field}")
    if value.__class__ is Optional:
        return select_if_present(value, field)
    refuse_list(value)
    raise CelError(f"no such key: {field}")


def select_if_present(value: object, field: str) -> Optional:
    """Return a field as an optional value."""
    if value.__class__ is Optional:
        if not value.present:
            return NONE
        value = value.value
    if value.__class__ is Message and value.is_native:  # as upstream, which finds no field
        raise CelError(f"no such field: {field}")
    if value.__class__ is Message and field not in value.present:
        return NONE
    if isinstance(value, dict) and field in value:
        return Optional(present=True, value=value[field])
    refuse_list(value)
    return NONE


def refuse_list(value: object) -> None:
    """Raise CelError if a field of a list is selected, even optionally."""
    if isinstance(value, list):
        raise CelError("unsupported index type 'string' in list")


def has_field(value: object, field: str) -> bool:
    """Return whether there is a field; a value without fields has none."""
    if value.__class__ is Optional:
        value = value.value
    refuse_list(value)
    if value.__class__ is Message:
        return field in value.present
    return isinstance(value, dict) and field in value


def index(value: object, key: object) -> object:
    """Return an element by its index or key; of an optional value, an optional element."""
    check_qualifier(key)
    if isinstance(value, list):
        place = list_index(key)
        if 0 <= place < len(value):
            return value[place]
        raise CelError(f"index out of bounds: {show_value(key)}")
    if isinstance(value, dict):
        found = find_key(value, key)
        if found is None:
            raise CelError(f"no such key: {show_value(key)}")
        return found[0]
    if value.__class__ is Optional:
        return index_if_present(value, key)
    raise CelError(f"no such key: {show_value(key)}")


def index_if_present(value: object, key: object) -> Optional:
    """Return an element as an optional value."""
    check_qualifier(key)
    if value.__class__ is Optional:
        if not value.present:
            return NONE
        value = value.value
    if isinstance(value, list):
        place = list_index(key)
        if 0 <= place < len(value):
            return Optional(present=True, value=value[place])
        return NONE
    if isinstance(value, dict):
        found = find_key(value, key)
        return NONE if found is None else Optional(present=True, value=found[0])
    return NONE


def check_qualifier(key: object, *, constant: bool = False) -> None:
    """Raise CelError for a value that can be neither an index nor a key."""
    if key.__class__ not in _QUALIFIERS:
        name = "<nil>" if key is None and not constant else go_type(key)
        raise CelError(f"invalid qualifier type: {name}")


def list_index(key: object) -> int:
    """Return an index of a list; raises CelError if it is not a whole number."""
    if key.__class__ in {int, UInt}:
        return int(key)
    if key.__class__ is float:
        if key.is_integer() and abs(key) < 1 << 63:
            return int(key)
        raise CelError(f"unsupported index value {show_value(key)} in list")
    raise CelError(f"unsupported index type '{type_name(key)}' in list")
