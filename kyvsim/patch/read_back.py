"""Reading a patched object back: whole floats become ints, and it must still be an object.

upstream: `pkg/engine/mutate/mutation.go` reads the patched JSON text with apimachinery's
`UnstructuredJSONScheme`, which makes an int64 of every number written without fraction and exponent
that fits, and refuses what has no kind.
"""

from kyvsim.kube.go_text import format_float, to_json
from kyvsim.kube.objects import Json, text_field
from kyvsim.patch.errors import UnreadableObjectError

_EXACT = 2.0**53
_PLAIN_BELOW = 1e21
_INT64 = range(-(2**63), 2**63)


def read_back(patched: Json) -> Json:
    """Return the object that a patched document is, with whole numbers as ints.

    Raises UnreadableObjectError for what is no object, has no kind, or no proper apiVersion.
    """
    if patched.__class__ is not dict:
        message = "json: cannot unmarshal array into Go value of type map[string]interface {}"
        raise UnreadableObjectError(message)
    if not text_field(patched, "kind") or text_field(patched, "apiVersion").count("/") > 1:
        raise UnreadableObjectError(f"Object 'Kind' is missing in '{to_json(patched)}'")
    return with_whole_numbers(patched)


def with_whole_numbers(value: Json) -> Json:
    """Return `value` with whole floats as ints; parts without any are shared, not copied."""
    kind = value.__class__
    if kind is float:
        return _whole(value)
    if kind is dict:
        changed = {}
        for key, item in value.items():
            if (new := with_whole_numbers(item)) is not item:
                changed[key] = new
        return {**value, **changed} if changed else value
    if kind is list:
        items = [with_whole_numbers(item) for item in value]
        return (
            items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        )
    return value


def _whole(number: float) -> int | float:
    if not number.is_integer() or abs(number) >= _PLAIN_BELOW:
        return number
    if abs(number) < _EXACT:
        return int(number)
    written = int(format_float(number, "f"))  # the shortest digits, filled up with zeros
    return written if written in _INT64 else number
