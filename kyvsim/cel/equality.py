"""When two values are equal, and whether one is among others.

Source of the rules: upstream cel-go common/types (Equal, Contains): numbers compare across their
types, everything else is equal only to its own kind.
"""

import math
from typing import Any

from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.values import Optional, Timestamp, UInt, type_name

NUMBERS = frozenset({int, float, UInt})


def equals(left: Any, right: Any) -> bool:
    """Return whether two values are equal."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is list:
            return len(left) == len(right) and all(map(equals, left, right))
        if kind is dict:
            return len(left) == len(right) and all(
                key in right and equals(value, right[key]) for key, value in left.items()
            )
        if kind is Timestamp:
            return bool(left.nanoseconds == right.nanoseconds)
        if kind is Optional:
            return left.present == right.present and equals(left.value, right.value)
        return bool(left == right)
    if kind in NUMBERS and right.__class__ in NUMBERS:
        return compare_numbers(left, right) == 0
    if isinstance(left, dict) and isinstance(right, dict):
        return equals(dict(left), dict(right))
    return False


def differs(left: Any, right: Any) -> bool:
    """Return whether two values are not equal."""
    return not equals(left, right)


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
    kind = among.__class__
    if kind is list:
        if item.__class__ is str:
            return item in among
        return any(equals(item, one) for one in among)
    if kind is dict or isinstance(among, dict):
        return has_key(among, item)
    raise no_such_overload()


def has_key(found: dict[Any, Any], key: Any) -> bool:
    """Return whether a map has a key; numbers that are equal are one key."""
    return find_key(found, key) is not None


def find_key(found: dict[Any, Any], key: Any) -> tuple[Any] | None:
    """Return the map's value for a key in a tuple, or None where it lacks the key.

    Raises CelError for a value that cannot be a key.
    """
    kind = key.__class__
    if kind is str:
        return (found[key],) if key in found else None
    if key is None:
        return None
    if kind is not bool and kind not in NUMBERS:
        # A map read from YAML has texts as keys, and asking it for another kind is no fault.
        if kind in {list, dict, bytes} or not isinstance(key, str):
            raise CelError(f"unsupported key type: {type_name(key)}")
        return None
    if kind is float and math.isnan(key):
        return None
    if key in found and any(one.__class__ is bool for one in found) == (kind is bool):
        return (found[key],)
    return None
