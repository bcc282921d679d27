"""Differences between two objects, shown as the YAML of the later one with marks.

Works on the data, not on the text: list items are told apart by their name, and a field that
comes before the first one of an item does not make the whole item look changed.
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
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
    lines: list[Marked] = []
    _compare(lines, _Spot("", 0, 0), before, after)
    return lines


def _compare(lines: list[Marked], spot: _Spot, before: Json, after: Json) -> None:
    if before is after:
        _put(lines, " ", spot, after)
        return
    kind, other = after.__class__, before.__class__
    if before and after and kind is other and spot.depth < _DEPTH_LIMIT:
        if kind is dict:
            _compare_mappings(lines, spot, before, after)
            return
        if kind is list:
            _compare_lists(lines, spot, before, after)
            return
    if before == after and (kind is bool) == (other is bool):
        _put(lines, " ", spot, after)
        return
    lines += marked_lines(_lines(spot, before), _lines(spot, after))


def _compare_mappings(
    lines: list[Marked], spot: _Spot, before: dict[str, Json], after: dict[str, Json]
) -> None:
    pad = " " * spot.indent
    after_key = spot.after_key
    if after_key:
        lines.append((" ", spot.lead))
    first = pad if after_key else spot.lead
    first_old, first_new = min(before), min(after)
    indent, depth = spot.indent + 2, spot.depth + 1
    for key in sorted(before.keys() | after.keys()):
        start = first if key == (first_new if key in after else first_old) else pad
        inner = _Spot(f"{start}{scalar(key)}:", indent, depth)
        if key not in after:
            _put(lines, "-", inner, before[key])
        elif key not in before:
            _put(lines, "+", inner, after[key])
        else:
            _compare(lines, inner, before[key], after[key])


def _compare_lists(lines: list[Marked], spot: _Spot, before: list[Json], after: list[Json]) -> None:
    column = spot.indent - 2 if spot.after_key else spot.indent
    pad = " " * column
    if spot.after_key:
        lines.append((" ", spot.lead))
    first = pad if spot.after_key else spot.lead
    for old, new in _pairs(before, after):
        start = first if (old if new is None else new) == 0 else pad
        inner = _Spot(f"{start}- ", column + 2, spot.depth + 1)
        if new is None:
            _put(lines, "-", inner, before[old or 0])
        elif old is None:
            _put(lines, "+", inner, after[new])
        else:
            _compare(lines, inner, before[old], after[new])


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


def _put(lines: list[Marked], mark: str, spot: _Spot, value: Json) -> None:
    lines += [(mark, line) for line in _lines(spot, value)]


def _lines(spot: _Spot, value: Json) -> list[str]:
    return yaml_lines(value, spot.lead, spot.indent)
