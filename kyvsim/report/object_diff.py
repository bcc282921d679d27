"""Differences between two objects, shown as the YAML of the later one with marks.

Works on the data, not on the text: list items are told apart by their name, and a field that
comes before the first one of an item does not make the whole item look changed.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.report.object_yaml import leaf, scalar, yaml_lines

# Differences between two texts, line by line.


Marked: TypeAlias = tuple[str, str]
"""A mark and a line: "+" added, "-" removed, " " in both, "@" a gap (its line is empty)."""

_CONTEXT = 3


def marked_lines(old: list[str], new: list[str]) -> list[Marked]:
    """Return every line of both texts in order, with its mark."""
    start, end = _common_ends(old, new)
    old_end, new_end = len(old) - end, len(new) - end
    return [
        *((" ", line) for line in new[:start]),
        *_between(old[start:old_end], new[start:new_end]),
        *((" ", line) for line in new[new_end:]),
    ]


def _between(old: list[str], new: list[str]) -> Iterator[Marked]:
    """Yield the lines of two texts that differ in their first line and in their last."""
    if not old or not new or len(old) == len(new) == 1:
        yield from (("-", line) for line in old)
        yield from (("+", line) for line in new)
        return

    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            yield from ((" ", line) for line in new[new_from:new_to])
            continue
        yield from (("-", line) for line in old[old_from:old_to])
        yield from (("+", line) for line in new[new_from:new_to])


def hunks(lines: list[Marked]) -> Iterator[Marked]:
    """Yield the changed lines with a few lines around each, gaps marked "@"."""
    changed = [index for index, (mark, _) in enumerate(lines) if mark != " "]
    wanted = sorted(
        {
            near
            for index in changed
            for near in range(max(0, index - _CONTEXT), min(len(lines), index + _CONTEXT + 1))
        }
    )
    if wanted and wanted[0]:
        yield "@", ""
    for index, following in pairwise([*wanted, len(lines)]):
        yield lines[index]
        if following != index + 1:
            yield "@", ""


def _common_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """Return how many lines are the same at the start and, of the rest, at the end."""
    shorter = min(len(old), len(new))
    start = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - start
    end = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    return start, end


# Differences between two objects, shown as the YAML of the later one with marks.
#
# Works on the data, not on the text: list items are told apart by their name, and a field that
# comes before the first one of an item does not make the whole item look changed.


_ABSENT: Final[Json] = object()
_DEPTH_LIMIT = 200
"""Below this depth a difference is shown as one whole taking the place of another."""


class _Told(NamedTuple):
    """The lines that were found, and whether those of what is in both objects are wanted."""

    lines: list[Marked]
    whole: bool


class _Spot(NamedTuple):
    """Where a value stands: the text before it, its members' column, and its depth."""

    lead: str
    indent: int
    depth: int


def marked_yaml(before: Json, after: Json) -> list[Marked]:
    """Return the lines of `after` and those that only `before` has, each with its mark."""
    return _compared(before, after, whole=True)


def changed_yaml(before: Json, after: Json) -> list[Marked]:
    """Return those lines of `marked_yaml` that only one of both objects has: in less time."""
    return _compared(before, after, whole=False)


def _compared(before: Json, after: Json, *, whole: bool) -> list[Marked]:
    told = _Told([], whole)
    _compare(told, _Spot("", 0, 0), before, after)
    return told.lines


def _compare(told: _Told, spot: _Spot, before: Json, after: Json) -> None:
    lines, whole = told
    if before is after:
        if whole:
            lines += _unchanged(spot.lead, spot.indent, after)
        return
    kind, other = after.__class__, before.__class__
    if before and after and kind is other and spot.depth < _DEPTH_LIMIT:
        if kind is dict:
            _compare_mappings(told, spot, before, after)
            return
        if kind is list:
            _compare_lists(told, spot, before, after)
            return
    if before == after and (kind is bool) == (other is bool):
        if whole:
            lines += _unchanged(spot.lead, spot.indent, after)
        return
    marked = marked_lines(_lines(spot, before), _lines(spot, after))
    lines += marked if whole else [one for one in marked if one[0] != " "]


def _unchanged(lead: str, indent: int, value: Json) -> list[Marked]:
    """Return the lines of what is in both."""
    if not value or (value.__class__ is not dict and value.__class__ is not list):
        text = f"{lead} {leaf(value, indent)}" if lead.endswith(":") else lead + leaf(value, indent)
        return [(" ", line) for line in text.split("\n")] if "\n" in text else [(" ", text)]
    return [(" ", line) for line in yaml_lines(value, lead, indent)]


def _compare_mappings(
    told: _Told, spot: _Spot, before: dict[str, Json], after: dict[str, Json]
) -> None:
    lines, whole = told
    lead, indent, depth = spot
    first = pad = " " * indent
    keys = before.keys() | after.keys() if whole else _differing(before, after)
    first_old = first_new = ""
    if not lead.endswith(":"):
        first, first_old, first_new = lead, min(before), min(after)
    elif whole:
        lines.append((" ", lead))
    for key in sorted(keys):
        old, new = before.get(key, _ABSENT), after.get(key, _ABSENT)
        start = first if key == (first_new if key in after else first_old) else pad
        inner = f"{start}{scalar(key)}:"
        if old is new:
            lines += _unchanged(inner, indent + 2, new)
        elif new is _ABSENT:
            lines += [("-", line) for line in yaml_lines(old, inner, indent + 2)]
        elif old is _ABSENT:
            lines += [("+", line) for line in yaml_lines(new, inner, indent + 2)]
        else:
            _compare(told, _Spot(inner, indent + 2, depth + 1), old, new)


def _differing(before: dict[str, Json], after: dict[str, Json]) -> list[str]:
    """Return the keys whose values are not one and the same."""
    keys = [key for key, new in after.items() if before.get(key, _ABSENT) is not new]
    return keys + [key for key in before if key not in after]


def _compare_lists(told: _Told, spot: _Spot, before: list[Json], after: list[Json]) -> None:
    lines, whole = told
    lead, indent, depth = spot
    column = indent - 2 if lead.endswith(":") else indent
    first = pad = " " * column
    if lead.endswith(":"):
        if whole:
            lines.append((" ", lead))
    else:
        first = lead
    for old, new in _pairs(before, after):
        start = first if (old if new is None else new) == 0 else pad
        inner = _Spot(f"{start}- ", column + 2, depth + 1)
        if new is None:
            lines += [("-", line) for line in _lines(inner, before[old or 0])]
        elif old is None:
            lines += [("+", line) for line in _lines(inner, after[new])]
        else:
            _compare(told, inner, before[old], after[new])


def _pairs(before: list[Json], after: list[Json]) -> Iterator[tuple[int | None, int | None]]:
    """Yield which items belong together, by index; None stands for an item without a partner."""
    olds, news = [_item_key(item) for item in before], [_item_key(item) for item in after]
    if olds == news[: len(olds)]:
        yield from zip_longest(range(len(olds)), range(len(news)))
        return

    matcher = SequenceMatcher(a=olds, b=news, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        old_places, new_places = range(old_from, old_to), range(new_from, new_to)
        unnamed = not any(
            _name(item) for item in (*before[old_from:old_to], *after[new_from:new_to])
        )
        if tag == "equal" or (unnamed and len(old_places) == len(new_places)):
            yield from zip(old_places, new_places, strict=True)
        else:
            yield from ((old, None) for old in old_places)
            yield from ((None, new) for new in new_places)


def _item_key(item: Json) -> str:
    return _name(item) or "\n".join(yaml_lines(item))


def _name(item: Json) -> str:
    name = item.get("name") if item.__class__ is dict else None
    return f"name {name}" if name.__class__ is str else ""


def _lines(spot: _Spot, value: Json) -> list[str]:
    return yaml_lines(value, spot.lead, spot.indent)
