"""Deep equality of plain data, where numbers of different classes differ.

upstream: Go's reflect.DeepEqual on decoded JSON.
"""

from typing import Final

from kyvsim.kube.objects import Json

_CONTAINERS: Final = frozenset({dict, list})


def deep_equal(left: Json, right: Json) -> bool:
    """Tell whether two values are the same throughout: 1 is neither 1.0 nor true."""
    kind = left.__class__
    if kind is not right.__class__ or left != right:
        return False
    return kind not in _CONTAINERS or _same_classes(left, right)


def _same_classes(left: Json, right: Json) -> bool:
    """Tell whether two values that Python holds equal have the same classes throughout."""
    kind = left.__class__
    if kind is not right.__class__:
        return False
    if kind is list:
        return all(map(_same_classes, left, right))
    if kind is dict:
        return all(_same_classes(value, right[key]) for key, value in left.items())
    return True
