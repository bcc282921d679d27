"""When two values are equal, and whether one is among others.

Source of the rules: upstream cel-go common/types (Equal, Contains): numbers compare across their
types, everything else is equal only to its own kind.
"""

import math
from typing import Any

from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.values import MadeList, MadeMap, Optional, TextList, Timestamp, UInt

NUMBERS = frozenset({int, float, UInt})


def equals(left: Any, right: Any) -> bool:
    """Return whether two values are equal."""
    kind = left.__class__
    if kind is str:
        return bool(left == right)
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(equals, left, right))
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(_is_entry(key, value, right) for key, value in left.items())
        )
    if kind is right.__class__:
        if kind is Timestamp:
            return bool(left.nanoseconds == right.nanoseconds)
        if kind is Optional:
            return left.present == right.present and equals(left.value, right.value)
        return bool(left == right)
    if kind in NUMBERS and right.__class__ in NUMBERS:
        return compare_numbers(left, right) == 0
    return False


def _is_entry(key: Any, value: Any, among: dict[Any, Any]) -> bool:
    if key.__class__ is bool or key.__class__ in NUMBERS:
        found = find_key(among, key)
        return found is not None and equals(value, found[0])
    return key in among and equals(value, among[key])


def equated(left: Any, right: Any) -> bool:
    """Return what `==` says of two values.

    Kubernetes' own types have no answer but for null and for their own kind: raises CelError.
    """
    if right is None or not getattr(left, "only_own_kind", False):
        return equals(left, right)
    if left.__class__ is not right.__class__ or getattr(right, "computed", False):
        raise no_such_overload()
    return equals(left, right)


def differs(left: Any, right: Any) -> bool:
    """Return what `!=` says of two values: what has no answer differs."""
    return getattr(right, "computed", False) or not equals(left, right)


def compare_numbers(left: Any, right: Any) -> int:
    """Return a number below, at or above 0; a NaN is above everything.

    As upstream, an int meets a double as a double.
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


def contains(item: Any, among: Any) -> bool:
    """Return whether a list holds an item, or a map has a key; raises CelError for others."""
    if isinstance(among, list):
        if item.__class__ is str:
            return item in among
        return any(equals(item, one) and not getattr(one, "computed", False) for one in among)
    if isinstance(among, dict) and not getattr(among, "only_own_kind", False):
        return has_key(among, item)
    raise no_such_overload()


def has_key(found: dict[Any, Any], key: Any) -> bool:
    """Return whether a map has a key; numbers that are equal are one key."""
    return find_key(found, key) is not None


def find_key(found: dict[Any, Any], key: Any) -> tuple[Any] | None:
    """Return the map's value for a key in a tuple, or None where it lacks the key.

    Raises CelError for bytes, on which upstream dies.
    """
    kind = key.__class__
    if kind is str or key is None:
        return (found[key],) if key in found else None
    if kind is bytes and found.__class__ is MadeMap:
        raise _unhashable()
    if (kind is not bool and kind not in NUMBERS) or (kind is float and math.isnan(key)):
        return None
    if key not in found:
        return None
    written = next(one for one in found if one == key)
    # upstream looks a double up as a whole number, and never a whole number as a double.
    fits = written.__class__ is not float or kind is float
    return (found[key],) if fits and (written.__class__ is bool) == (kind is bool) else None


def as_key(value: Any) -> Any:
    """Return a value as a key of a map; a list or map is a key that equals nothing but itself."""
    kind = value.__class__
    if kind is str:
        return value
    if kind is list or kind is TextList:
        return MadeList(value)
    if kind is bytes:
        raise _unhashable()
    if isinstance(value, dict):
        return value if kind is MadeMap else MadeMap(value)
    return value


def _unhashable() -> CelError:
    return CelError("internal error: runtime error: hash of unhashable type types.Bytes")
