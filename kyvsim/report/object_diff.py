"""Differences between two objects, shown as the YAML of the later one with marks.

Works on the data, not on the text: list items are told apart by their name, and a field that
comes before the first one of an item does not make the whole item look changed.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.report.diff import Marked, marked_lines
from kyvsim.report.object_yaml import scalar, yaml_lines

_DEPTH_LIMIT = 200
"""Below this depth a difference is shown as one whole taking the place of another."""


class _Spot(NamedTuple):
    """Where a value stands: the text before it, its members' column, and its depth."""

    lead: str
    indent: int
    depth: int

    @property
    def after_key(self) -> bool:
        return self.lead.endswith(":")


def marked_yaml(before: Json, after: Json) -> list[Marked]:
    """Return the lines of `after` and those that only `before` has, each with its mark."""
    return list(_compare(_Spot("", 0, 0), before, after))


def _compare(spot: _Spot, before: Json, after: Json) -> Iterator[Marked]:
    if before is after:
        yield from _all(" ", spot, after)
        return
    both = before.__class__, after.__class__
    if before and after and spot.depth < _DEPTH_LIMIT:
        if both == (dict, dict):
            yield from _compare_mappings(spot, before, after)
            return
        if both == (list, list):
            yield from _compare_lists(spot, before, after)
            return
    if before == after and (bool in both) == (both == (bool, bool)):
        yield from _all(" ", spot, after)
        return
    yield from marked_lines(_lines(spot, before), _lines(spot, after))


def _compare_mappings(
    spot: _Spot, before: dict[str, Json], after: dict[str, Json]
) -> Iterator[Marked]:
    pad = " " * spot.indent
    if spot.after_key:
        yield " ", spot.lead
    first = pad if spot.after_key else spot.lead
    first_old, first_new = min(before), min(after)
    for key in sorted(before.keys() | after.keys()):
        start = first if key == (first_new if key in after else first_old) else pad
        inner = _Spot(f"{start}{scalar(key)}:", spot.indent + 2, spot.depth + 1)
        if key not in after:
            yield from _all("-", inner, before[key])
        elif key not in before:
            yield from _all("+", inner, after[key])
        else:
            yield from _compare(inner, before[key], after[key])


def _compare_lists(spot: _Spot, before: list[Json], after: list[Json]) -> Iterator[Marked]:
    column = spot.indent - 2 if spot.after_key else spot.indent
    pad = " " * column
    if spot.after_key:
        yield " ", spot.lead
    first = pad if spot.after_key else spot.lead
    for old, new in _pairs(before, after):
        start = first if (old if new is None else new) == 0 else pad
        inner = _Spot(f"{start}- ", column + 2, spot.depth + 1)
        if new is None:
            yield from _all("-", inner, before[old or 0])
        elif old is None:
            yield from _all("+", inner, after[new])
        else:
            yield from _compare(inner, before[old], after[new])


def _pairs(before: list[Json], after: list[Json]) -> Iterator[tuple[int | None, int | None]]:
    """Yield which items belong together, by index; None stands for an item without a partner."""
    from difflib import SequenceMatcher  # noqa: PLC0415 — slow to import, for changes only

    matcher = SequenceMatcher(
        a=[_item_key(item) for item in before],
        b=[_item_key(item) for item in after],
        autojunk=False,
    )
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        olds, news = range(old_from, old_to), range(new_from, new_to)
        unnamed = not any(
            _name(item) for item in (*before[old_from:old_to], *after[new_from:new_to])
        )
        if tag == "equal" or (unnamed and len(olds) == len(news)):
            yield from zip(olds, news, strict=True)
        else:
            yield from ((old, None) for old in olds)
            yield from ((None, new) for new in news)


def _item_key(item: Json) -> str:
    return _name(item) or "\n".join(yaml_lines(item))


def _name(item: Json) -> str:
    name = item.get("name") if item.__class__ is dict else None
    return f"name {name}" if name.__class__ is str else ""


def _all(mark: str, spot: _Spot, value: Json) -> Iterator[Marked]:
    return ((mark, line) for line in _lines(spot, value))


def _lines(spot: _Spot, value: Json) -> list[str]:
    return yaml_lines(value, spot.lead, spot.indent)
