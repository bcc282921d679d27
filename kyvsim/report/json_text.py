"""JSON text of loaded data, its whole numbers without a fraction."""

import json
from collections.abc import Iterable, Iterator

from kyvsim.kubernetes.objects import Json

_LARGEST_WHOLE = 1e21


def to_json(value: Json) -> str:
    """Return `value` as JSON on one line, all characters in ASCII."""
    return json.dumps(whole_numbers(value))


def whole_numbers(value: Json) -> Json:
    """Return `value` with every whole float as an int, as Kubernetes prints numbers."""
    kind = value.__class__
    if kind is dict:
        return {key: whole_numbers(member) for key, member in value.items()}
    if kind is list:
        return [whole_numbers(member) for member in value]
    if kind is float and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return int(value)
    return value


def without_comma(pieces: Iterable[str]) -> Iterator[str]:
    """Yield pieces without their very first character: what stands between entries of a list."""
    rest = iter(pieces)
    for piece in rest:
        if piece:
            yield piece[1:]
            break
    yield from rest
