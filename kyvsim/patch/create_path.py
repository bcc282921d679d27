"""Making the maps and lists on the way to a place that `add` wants to fill.

upstream: github.com/evanphx/json-patch/v5 `patch.go` (ensurePathExists).
"""

from collections.abc import Sequence
from itertools import pairwise

from kyvsim.kube.objects import Json
from kyvsim.patch.errors import PatchError
from kyvsim.patch.json_pointer import (
    Document,
    Pointer,
    Slot,
    concrete_key,
    decode_step,
    insertion_index,
    parse_index,
    with_container,
)

_MOST_PADDING = 100_000


def create_path(document: Document, pointer: Pointer) -> Document:
    """Return the document with all parents of a place; raises PatchError if a scalar is in the way.

    A number or `-` in the path makes a list of what holds it, padded with nulls up to that index.
    """
    node = document.root
    trail: tuple[str | int, ...] = ()
    for at, step in enumerate(pointer.steps[:-1]):
        if not step and not trail:
            return document  # an empty first part names a copy, whose changes are lost
        key = concrete_key(node, decode_step(step))
        if key is None or node[key] is None:
            new = node.copy()
            _create(new, pointer.steps[at:])
            return with_container(document, Slot(node, "", trail), new)
        node, trail = node[key], (*trail, key)
        if node.__class__ is not dict and node.__class__ is not list:
            raise PatchError("invalid state detected")
    return document


def _create(node: Json, steps: Sequence[str]) -> None:
    """Fill an own container with what the steps need; keys are taken as written."""
    for step, following in pairwise(steps):
        if node.__class__ is list and (number := _number(step)) is not None:
            _pad(node, number)
        below = _container_for(following)
        if node.__class__ is dict:
            node[step] = below
        else:
            try:
                node.insert(insertion_index(node, step), below)
            except PatchError:
                return  # the place will be found missing
        node = below


def _container_for(step: str) -> Json:
    number = _number(step)
    if number is None and step != "-":
        return {}
    if number is not None and number < -1:
        raise PatchError(
            f"Unable to ensure path for negative index other than -1: {number}: "
            "invalid index referenced"
        )
    items: list[Json] = []
    _pad(items, number or 0)
    return items


def _pad(items: list[Json], size: int) -> None:
    if size > _MOST_PADDING:
        raise PatchError(f"will not fill a list with nulls up to index {size}")
    items.extend([None] * (size - len(items)))


def _number(step: str) -> int | None:
    try:
        return parse_index(step)
    except PatchError:
        return None
