"""Deep equality of plain data, where numbers of different classes differ.

upstream: Go's reflect.DeepEqual on decoded JSON.
"""

from kyvsim.kube.objects import Json


def deep_equal(left: Json, right: Json) -> bool:
    """Tell whether two values are the same throughout: 1 is neither 1.0 nor true."""
    kind = left.__class__
    if kind is not right.__class__:
        return False
    if kind is dict:
        return left.keys() == right.keys() and all(
            deep_equal(value, right[key]) for key, value in left.items()
        )
    if kind is list:
        return len(left) == len(right) and all(map(deep_equal, left, right))
    return bool(left == right)
