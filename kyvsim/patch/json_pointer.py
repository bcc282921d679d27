"""JSON pointers and the places they name in a document.

upstream: github.com/evanphx/json-patch/v5 `patch.go` (findObject, partialDoc, partialArray).
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import MAX_DEPTH, Json
from kyvsim.model.ports import Meter
from kyvsim.patch.nodes import PatchError

_NUMBER = re.compile(r"[+-]?[0-9]+")
_FEW = 16
"""Entries that are copied in a step."""
_INT64 = range(-(2**63), 2**63)


class Pointer(NamedTuple):
    """A path, taken apart."""

    text: str
    steps: tuple[str, ...]
    """The parts between slashes as written; () for a path without a slash."""
    parents: tuple[str, ...]
    """All parts but the last, decoded."""
    key: str
    """The last part, decoded."""


class PatchRules(NamedTuple):
    """What JSON patches make of what is not there."""

    creates_path: bool
    """Whether `add` makes what is missing on the way to its place."""
    forgives_removal: bool
    """Whether `remove` passes over what is not there."""
    reads_missing: bool
    """Whether a missing field of a map reads as null, which `replace` can set."""
    names_itself: bool
    """Whether an empty part of a path names the document at the root; otherwise a field."""


KYVERNO = PatchRules(
    creates_path=True, forgives_removal=True, reads_missing=False, names_itself=True
)
"""Those of mutate rules. upstream: github.com/evanphx/json-patch/v5 with options"""
KUBERNETES = PatchRules(
    creates_path=False, forgives_removal=False, reads_missing=True, names_itself=False
)
"""Those of the API server's policies. upstream: gopkg.in/evanphx/json-patch.v4"""


class PatchDocument(NamedTuple):
    """A document while operations change it."""

    root: Json
    itself: Json
    """What an empty part of a path names at the root: the document as it was at first."""
    rules: PatchRules = KYVERNO
    meter: Meter | None = None
    """Counts what is copied; None for nobody."""

    def counts(self, copied: Json) -> None:
        """Count a map or list that is copied; raises BudgetError where that is too much."""
        if self.meter is not None and len(copied) > _FEW:
            self.meter.spend(len(copied) // _FEW)


class Slot(NamedTuple):
    """A map or list and a key in it that need not exist."""

    container: Json
    key: str
    trail: tuple[str | int, ...] | None
    """The way from the root to the container; None where it is a copy whose changes are lost."""


class MissingKeyError(PatchError):
    """A map lacks a key."""


def parse_pointer(path: str) -> Pointer:
    """Return the parts of a path; what stands before the first slash counts for nothing.

    Raises PatchError for a path that leads too deep.
    """
    steps = tuple(path.split("/")[1:])
    if len(steps) > MAX_DEPTH:
        raise PatchError(f"a path leads more than {MAX_DEPTH} deep")
    parts = tuple(map(decode_step, steps)) or ("",)
    return Pointer(path, steps, parts[:-1], parts[-1])


def decode_step(step: str) -> str:
    """Return one part of a path with its escapes resolved."""
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step


def find_place(document: PatchDocument, pointer: Pointer) -> Slot | None:
    """Return the place a pointer names, or None where the way to it is missing."""
    whole = document.rules.names_itself
    if not pointer.steps:
        return None if pointer.text or not whole else Slot(document.root, "", ())
    node = document.root
    trail: tuple[str | int, ...] = ()
    lost = False
    for part in pointer.parents:
        if whole and part == "" and node is document.root and not lost:
            node, lost = document.itself, True
            continue
        key = concrete_key(node, part, empty=not whole)
        node = None if key is None else node[key]
        if key is None or (node.__class__ is not dict and node.__class__ is not list):
            return None
        trail = (*trail, key)
    return Slot(node, pointer.key, None if lost else trail)


def concrete_key(node: Json, part: str, *, empty: bool = False) -> str | int | None:
    """Return the key or index that exists in a map or list under this part, or None.

    `empty` says whether an empty text is a key.
    """
    if node.__class__ is dict:
        return part if (part or empty) and part in node else None
    try:
        return existing_index(node, part)
    except PatchError:
        return None


def value_at(document: PatchDocument, place: Slot) -> Json:
    """Return the value at a place; raises MissingKeyError or PatchError where there is none."""
    container, key, trail = place
    if key == "" and document.rules.names_itself:
        return document.itself if container is document.root and trail is not None else None
    if container.__class__ is list:
        return container[existing_index(container, key)]
    if key not in container:
        if document.rules.reads_missing:
            return None
        raise MissingKeyError(f"unable to get nonexistent key: {key}: missing value")
    return container[key]


def existing_index(items: Sequence[Json], part: str) -> int:
    """Return the index of an existing element; a negative number counts from the end."""
    number = parse_index(part)
    if not -len(items) <= number < len(items):
        raise PatchError(f"Unable to access invalid index: {number}: invalid index referenced")
    return number % len(items)


def parse_index(part: str) -> int:
    """Return a part as a number; raises PatchError with the text of Go's strconv.Atoi."""
    if not _NUMBER.fullmatch(part):
        raise PatchError(f"strconv.Atoi: parsing {quote(part)}: invalid syntax")
    if len(part) > 20 or int(part) not in _INT64:
        raise PatchError(f"strconv.Atoi: parsing {quote(part)}: value out of range")
    return int(part)


def with_container(document: PatchDocument, place: Slot, new: Json) -> PatchDocument:
    """Return the document with another map or list at a place; the rest is shared."""
    if place.trail is None:
        return document
    nodes = [document.root]
    for key in place.trail[:-1]:
        nodes.append(nodes[-1][key])
    for node, key in zip(reversed(nodes), reversed(place.trail), strict=False):
        document.counts(node)
        above = node.copy()
        above[key] = new
        new = above
    return document._replace(root=new)


def with_value(place: Slot, value: Json) -> Json:
    """Return the container with a value added: set in a map, inserted in a list."""
    container, key, _ = place
    new = container.copy()
    if container.__class__ is dict:
        new[key] = value
    else:
        new.insert(insertion_index(container, key), value)
    return new


def insertion_index(items: Sequence[Json], part: str) -> int:
    """Return where in a list a new element goes: `-` or -1 is the end."""
    if part == "-":
        return len(items)
    try:
        number = parse_index(part)
    except PatchError as error:
        message = f"value was not a proper array index: '{part}': {error}"
        raise PatchError(message) from error
    if not -len(items) - 1 <= number <= len(items):
        raise PatchError(f"Unable to access invalid index: {number}: invalid index referenced")
    return number if number >= 0 else number + len(items) + 1


# Making the maps and lists on the way to a place that `add` wants to fill.
#
# upstream: github.com/evanphx/json-patch/v5 `patch.go` (ensurePathExists).


_MOST_PADDING = 100_000


def create_path(document: PatchDocument, pointer: Pointer) -> PatchDocument:
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
