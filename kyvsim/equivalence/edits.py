"""Values to try at a path of an object, and single changes of an object there."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from kyvsim.equivalence.field_rules import (
    OTHER_AMOUNTS,
    is_possible,
    needed,
    new_element,
    rivals,
    suits,
    type_at,
    usual,
    usual_entries,
)
from kyvsim.kubernetes.quantities import SECOND, parse_duration, parse_quantity
from kyvsim.kubernetes.wildcard import OPERATORS, has_wildcard
from kyvsim.model.field_reference import FieldPath, Segment
from kyvsim.schema.merge_types import Type

# Values to try at a path: those in policies, slightly different ones, and unusual ones.
#
# A string in a policy can be a pattern: alternatives, operators, ranges, wildcards. For each part
# there is a matching value and slightly different ones.

_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)([A-Za-z]*)")
_RANGE = re.compile(r"([-+]?\d+(?:\.\d+)?[A-Za-z]*)!?-([-+]?\d+(?:\.\d+)?[A-Za-z]*)")
_OPERATORS = ("!=", *filter(None, OPERATORS))
_SPLIT = re.compile(r"[|&]")
_EXPRESSION = re.compile(r"\\[bBdDsSwW.]|^\^|\$$|\.[*+]|\[[^\]]+\]")
"""Matches strings that may be regular expressions."""
_FORMS = tuple(
    (re.compile(form), text)
    for form, text in (
        (r"\\[bBAzZ]|[\^$()]|\(\?[a-zA-Z:]*", ""),
        (r"\\d|\[0-9\]", "1"),
        (r"\\[wW]|\[[^\]]*\]", "a"),
        (r"\\s", " "),
        (r"(?<!\\)\.", "x"),
        (r"(?<!\\)[*+?]|\{\d*,?\d*\}", ""),
        (r"\\(.)", r"\1"),
    )
)
"""Parts of a regular expression, and strings that match them, in this order."""
_SEPARATOR = re.compile(r"[/:.@_-]")
_MOST_WILD = 3
"""Maximum number of strings per path from which wildcard patterns are derived."""
_LONGEST = 256
_MOST_DIGITS = 18
_MILLISECOND = SECOND // 1000
OTHER = "other"
UNUSUAL: tuple[object, ...] = (None, "", OTHER, 0, 1, True, False, {}, [])
"""Values of every type, independent of policies."""


_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?")


def is_key(text: str) -> bool:
    """Return whether a string can be the key of a label or an annotation."""
    return _KEY.fullmatch(text) is not None


def is_pattern(text: str) -> bool:
    """Return whether a string has a pattern operator: alternatives, comparisons, a range."""
    return bool(text.startswith(_OPERATORS) or _SPLIT.search(text) or _RANGE.fullmatch(text))


def samples(written: Iterable[object]) -> Iterator[object]:
    """Yield values for a path from those in policies; the matching ones come first."""
    beside: list[object] = []
    for value in written:
        first, *others = _near(value)
        yield first
        beside += others
    yield from beside


def wildcards(written: Iterable[object]) -> Iterator[str]:
    """Yield strings with wildcards that match those in policies: `*`, `nodes/*`, `*/proxy`, `ge?`.

    Rules use a string of an object as a pattern if operators match in both directions (AnyIn and
    others), and lists in objects can have wildcards: verbs and resources of roles, hosts.
    """
    parts = (flat for one in written for flat in (one if isinstance(one, list) else (one,)))
    texts = [one for one in parts if isinstance(one, str) and 0 < len(one) <= _LONGEST]
    plain = [one for one in dict.fromkeys(texts) if not has_wildcard(one)][:_MOST_WILD]
    if plain:
        yield "*"
    for text in plain:
        # A prefix ends where names are usually split.
        heads = [text[: one.end()] for one in _SEPARATOR.finditer(text)] or [text[:1]]
        tails = [text[one.start() :] for one in _SEPARATOR.finditer(text)] or [text[1:]]
        yield from (f"{heads[-1]}*", f"*{tails[0]}", f"{text[:-1]}?")


def _near(value: object) -> list[object]:
    """Return values for one in a policy: first a matching one, or the value itself."""
    if isinstance(value, bool):
        return [value, not value]
    if isinstance(value, int | float):
        whole = int(value) if value == int(value) else value
        return [whole, whole + 1, whole - 1, str(whole)]
    if not isinstance(value, str) or len(value) > _LONGEST:
        return [value]
    parts = [one.strip() for one in _SPLIT.split(value)] if _SPLIT.search(value) else [value]
    found: list[object] = [near for part in parts for near in _near_text(part)]
    return [*found, value] if value in parts or has_wildcard(value) else found


def _near_text(text: str) -> list[str | int]:
    """Return strings for one alternative: one that matches, then slightly different ones."""
    operator = next((one for one in _OPERATORS if text.startswith(one)), "")
    operand = text[len(operator) :].strip()
    bounds = _RANGE.fullmatch(operand)
    if bounds:
        low, high = bounds.groups()
        return [low, high, *_steps(low), *_steps(high)]
    if has_wildcard(operand) and operand != "*":
        filled = [
            operand.replace("*", star).replace("?", mark)
            for star, mark in (("x", "x"), ("", "y"), ("ab", "z"))
        ]
        bare = operand.replace("*", "").replace("?", "")
        # A longer string at either end shows that the whole string must match.
        longer = [] if operand.endswith("*") else [f"{filled[0]}x"]
        longer += [] if operand.startswith("*") else [f"x{filled[0]}"]
        return [*filled, *([bare] if bare else []), *longer, OTHER, operand]
    number = _NUMBER.fullmatch(operand)
    if number:
        texts = [operand, *_steps(operand)]
        # Fields with numbers are compared with strings, too.
        near: list[str | int] = [*texts, *(int(one) for one in texts if one.isdecimal())]
        size = parse_quantity(operand) if number[2] else None
        if size is not None and size.scale >= 0:
            # A size as a number, and the next one: sizes of images are always numbers.
            whole = size.mantissa * 10**size.scale
            near += [whole, whole + 1]
        near += _in_another_unit(operand) if number[2] else ()
        return near[::-1] if operator in {">", "<", "!", "!="} else near
    duration = parse_duration(operand)
    if duration is not None:
        seconds = duration // SECOND
        return [operand, f"{seconds - 1}s", f"{seconds + 1}s", *_in_another_unit(operand)]
    if _EXPRESSION.search(operand):
        return [*map(_matching, operand.split("|")), OTHER, operand]
    return [OTHER, operand] if operator else [operand, f"{operand}x"]


def _in_another_unit(amount: str) -> Iterator[str]:
    """Yield the same amount in other units: quantities and durations are compared by value."""
    duration, quantity = parse_duration(amount), parse_quantity(amount)
    if duration is not None:
        yield f"{duration // _MILLISECOND}ms"
        yield str(duration // SECOND)
    if quantity is not None and 0 <= quantity.scale <= _MOST_DIGITS:
        yield str(quantity.mantissa * 10**quantity.scale)


def _matching(expression: str) -> str:
    """Return a string that a simple regular expression is likely to match."""
    for form, text in _FORMS:
        expression = form.sub(text, expression)
    return expression


def _steps(text: str) -> list[str]:
    """Return the numbers one below and one above, with the same unit."""
    number = _NUMBER.fullmatch(text)
    if number is None:
        return []
    amount, unit = number.groups()
    if "." in amount:
        return [f"{float(amount) - 1:g}{unit}", f"{float(amount) + 1:g}{unit}"]
    return [f"{int(amount) - 1}{unit}", f"{int(amount) + 1}{unit}"]


_NANOSECONDS = 1000
_ENDS = ("Timestamp", "Time")
_BESIDE = timedelta(seconds=1)


def moments(path: FieldPath, written: Iterable[object], now: datetime) -> Iterator[str]:
    """Yield times for a field of that type: durations before now, and a second around that.

    Yield nothing for other fields.
    """
    if not str(path[-1]).endswith(_ENDS):
        return
    for one in dict.fromkeys(value for value in written if isinstance(value, str)):
        found = parse_duration(one)
        if found is None:
            continue
        try:
            away = timedelta(microseconds=found // _NANOSECONDS)
            for moment in (now - away - _BESIDE, now - away, now - away + _BESIDE):
                yield moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        except OverflowError:
            continue


_ABSENT = object()
_MOST_ELEMENTS = 3
"""The size limit of growing lists: one relevant element, with others before and after it."""
_MOST_IN_ALL = 64
"""Maximum number of elements or characters, for sizes that a policy compares."""


class _Change(NamedTuple):
    """A change of the value at a path."""

    key: object
    """Equal changes have equal keys."""
    apply: Callable[[object], object]
    """Takes the value, or _ABSENT; returns the new value, or _ABSENT."""


@dataclass(frozen=True, eq=False, slots=True)
class Edit:
    """A single change of an object."""

    place: FieldPath
    change: _Change
    root: Type | None

    def __call__(self, obj: object) -> object:
        """Return a changed object, or the same one if there is nothing to change."""
        return _changed(obj, self.place, self.change, self.root)


def distinct(found: Iterable[Edit]) -> list[Edit]:
    """Return edits for one type without those that are equal to an earlier one.

    Paths with the same beginning have the same edits there.
    """
    unique: dict[object, Edit] = {}
    for edit in found:
        unique.setdefault((edit.place, edit.change.key), edit)
    return list(unique.values())


def edits(
    root: Type | None, path: FieldPath, values: Sequence[object], sizes: Sequence[int] = ()
) -> tuple[list[Edit], list[Edit]]:
    """Return the changes at a path that keep the type of an object, and those that do not.

    `sizes` are the sizes with which policies compare the value.
    """
    plain: list[Edit] = []
    unusual: list[Edit] = []
    # Many strings with wildcards in lists; elsewhere one, if a policy has any string at all.
    in_list = Segment.ELEMENT in path
    wild = wildcards(values or ("a",)) if in_list else islice(wildcards(values), 1)
    written_values = [*samples(values), *usual(path), *wild]
    at = type_at(root, path)
    if not values or not any(suits(at, one) for one in written_values):
        written_values += _typical(at, path)
    written = {value.__class__ for value in written_values}
    usual_places = ((path, value) for value in written_values)
    unusual_places = ((place, value) for place in _places_around(path) for value in UNUSUAL)
    for place, value in chain(usual_places, unusual_places):
        known = type_at(root, place)
        is_odd = root is None and not (place == path and value.__class__ in written)
        fitting = fits(known, place, value) and not is_odd
        (plain if fitting else unusual).append(Edit(place, _set(value), root))
    plain += (Edit(place, _REMOVE, root) for place in _places_around(path))
    for place in _entries(root, path):
        plain.append(Edit(place[:-1], _rename(str(place[-1])), root))
    for place in _lists(path):
        inner = path[len(place) + 1 :]
        changes = (_set([]), *_several(inner, values, root, place))
        plain += (Edit(place, change, root) for change in changes)
    near = {other for one in sizes for other in (one - 1, one, one + 1)}
    sizes = sorted(one for one in near if 1 < one <= _MOST_IN_ALL)
    for place in (*_lists(path), path):
        plain += (Edit(place, _resize(size), root) for size in sizes)
    return plain, unusual


def keys_meant(
    root: Type | None, places: Mapping[FieldPath, Sequence[object]]
) -> Iterator[FieldPath]:
    """Yield the paths of entries of maps whose keys a policy lists.

    For a map with arbitrary keys the listed ones; for a type all its fields.
    """
    for path, values in places.items():
        around = type_at(root, path[:-1]) if isinstance(path[-1], Segment) else None
        if around is None or around.mapping is None:
            continue
        free = (one for one in samples(values) if isinstance(one, str) and is_key(one))
        yield from ((*path[:-1], key) for key in around.mapping.fields or free)


def edit_to(root: Type | None, path: FieldPath, value: object) -> Edit:
    """Return the change that sets a value at a path."""
    return Edit(path, _set(value), root)


def value_at(obj: object, path: FieldPath) -> object:
    """Return the value that an edit at a path would change; None if there is none."""
    for step in path:
        if step is Segment.ELEMENT:
            obj = obj[0] if isinstance(obj, list) and obj else None
        elif isinstance(obj, dict):
            obj = obj.get(next(iter(obj), "a") if isinstance(step, Segment) else step)
        else:
            return None
    return obj


def fits(at: Type | None, path: FieldPath, value: object) -> bool:
    """Return whether an API server would accept a value at a path, as far as is known.

    The rules for paths are those of Kubernetes' own kinds: of objects whose type is unknown, they
    apply to the metadata only.
    """
    if isinstance(value, bool) or not isinstance(value, str if at is None else (str, int)):
        return suits(at, value)
    if at is None and path[:1] != ("metadata",):
        return True
    return suits(at, value) and is_possible(path, value)


def _typical(at: Type | None, path: FieldPath) -> list[object]:
    """Return values for a path for which policies have none."""
    if at is None:
        return ["a"]
    if at.scalar and at.mapping is None:
        return [value for value in ("a", "1", 1, True, False) if fits(at, path, value)]
    name = next((one for one in reversed(path) if isinstance(one, str)), "")
    if at.sequence:
        return [[new_element(name, len(path), at)]]
    if at.mapping is None:
        return []
    return [dict(needed(name, len(path)) if at.mapping.fields else usual_entries(name))]


def _entries(root: Type | None, path: FieldPath) -> Iterator[FieldPath]:
    """Yield the prefixes of a path that end in an arbitrary key, such as a label."""
    for place in _places_around(path):
        around = type_at(root, place[:-1])
        fields = around.mapping.fields if around and around.mapping else None
        if fields is not None and isinstance(place[-1], str) and place[-1] not in fields:
            yield place


def _rename(key: str) -> _Change:
    return _Change(("rename", key), partial(_renamed, key))


def _renamed(key: str, found: object) -> object:
    """Return a map with a key renamed: a map that becomes empty is often dropped."""
    if not isinstance(found, dict) or key not in found:
        return found
    rest = {name: value for name, value in found.items() if name != key}
    return {**rest, OTHER_AMOUNTS.get(key, OTHER): found[key]}


def _places_around(path: FieldPath) -> Iterator[FieldPath]:
    """Yield a path and all its prefixes, the longest first."""
    for end in range(len(path), 0, -1):
        yield path[:end]


def _lists(path: FieldPath) -> Iterator[FieldPath]:
    return (path[:index] for index, step in enumerate(path) if step is Segment.ELEMENT)


def _several(
    inner: FieldPath, values: Iterable[object], root: Type | None, place: FieldPath
) -> Iterator[_Change]:
    """Yield changes of a list: another element, first or last, with a different content."""
    whole = (*place, Segment.ELEMENT, *inner)
    at = type_at(root, whole)
    fitting = [value for value in (*samples(values), *usual(whole)) if fits(at, whole, value)]
    texts = (str(one) if one.__class__ in {dict, list} else one for one in fitting[:4])
    changes = [_REMOVE, *map(_set, dict.fromkeys(texts))]
    element = type_at(root, (*place, Segment.ELEMENT))
    for change in changes:
        for first in (False, True):
            key = ("another", inner, change.key, first)
            yield _Change(key, partial(_with_another, inner, change, element, first))


def _with_another(
    inner: FieldPath, change: _Change, element: Type | None, first: bool, found: object
) -> object:
    """Return a list with one more element, a copy of the first with a change."""
    if not isinstance(found, list) or not 0 < len(found) < _MOST_ELEMENTS:
        return found
    added = _changed(found[0], inner, change, element)
    if added is _ABSENT:
        return found
    added = _renumbered(added, len(found))
    return [added, *found] if first else [*found, added]


def _resize(size: int) -> _Change:
    return _Change(("size", size), partial(_of_size, size))


def _of_size(size: int, found: object) -> object:
    """Return a non-empty list or a string, changed to a size."""
    if isinstance(found, str):
        return ((found or "a") * size)[:size]
    if not isinstance(found, list) or not found:
        return found
    added = (_renumbered(found[0], number) for number in range(len(found), size))
    return [*found[:size], *added]


def _renumbered(element: object, number: int) -> object:
    """Return a copy of an element with a different name."""
    if not isinstance(element, dict) or not isinstance(element.get("name"), str):
        return element
    return {**element, "name": f"{element['name']}{number + 1}"}


def _set(value: object) -> _Change:
    return _Change(("set", json.dumps(value, default=str)), lambda _: value)


_REMOVE = _Change("remove", lambda _: _ABSENT)


def _changed(obj: object, path: FieldPath, change: _Change, root: Type | None) -> object:
    """Return an object with the value at a path changed; missing parents are created."""
    found = _walk(obj, path, change, _Here(root, "", 0))
    return obj if found is _ABSENT else found


class _Here(NamedTuple):
    """The position of a walk: the type of the value, and its field."""

    type: Type | None
    name: str
    depth: int

    def below(self, step: str | Segment, name: str) -> "_Here":
        return _Here(type_at(self.type, (step,)), name, self.depth + 1)


def _walk(value: object, path: FieldPath, change: _Change, here: _Here) -> object:
    if not path:
        return change.apply(value)
    step, rest = path[0], path[1:]
    if step is Segment.ELEMENT:
        return _in_list(value, rest, change, here)
    found = value if isinstance(value, dict) else dict(needed(here.name, here.depth))
    key = next(iter(found), "a") if isinstance(step, Segment) else step
    inner = _walk(found.get(key, _ABSENT), rest, change, here.below(step, key))
    if inner is _ABSENT:
        return {one: kept for one, kept in found.items() if one != key} if key in found else value
    ousted = rivals(here.name, key) if here.type is not None else frozenset()
    return {**{one: kept for one, kept in found.items() if one not in ousted}, key: inner}


def _in_list(value: object, rest: FieldPath, change: _Change, here: _Here) -> object:
    found = value if isinstance(value, list) else []
    first = found[0] if found else new_element(here.name, here.depth, here.type)
    inside = here.below(Segment.ELEMENT, "")
    inner = _walk(first, rest, change, inside._replace(depth=here.depth))
    if inner is _ABSENT:
        return found[1:] if found else value
    return [inner, *found[1:]]
