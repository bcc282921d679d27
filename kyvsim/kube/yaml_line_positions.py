"""Where a node of plain block YAML stands: found by its lines, without libyaml."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kyvsim.kube.yaml_line import BLOCK, SKIPPED, TEXT, Line, text_below
from kyvsim.kube.yaml_lines import read_line, read_plain

_LONGEST = 1 << 14
"""Of a longer text an index would take much room."""

_Path: TypeAlias = tuple[object, ...]


class _Index(NamedTuple):
    """The places of a text."""

    positions: Mapping[_Path, tuple[int, int]]
    """Line and column from 1 of each node."""
    closed: frozenset[_Path]
    """Lists and maps that are written in one line, whose parts are not among the nodes."""


class _Level(NamedTuple):
    """A list or map that is being read."""

    level: int
    """As that of its lines."""
    path: _Path


def plain_position(text: str, path: _Path) -> tuple[int, int] | None:
    """Return line and column as `find_position` does; None where a text is not plain enough."""
    if len(text) > _LONGEST:
        return None
    index = _index(text)
    if index is None:
        return None
    exact = index.positions.get(path)
    if exact is not None:
        return exact
    found = next(
        path[:length] for length in range(len(path) - 1, -1, -1) if path[:length] in index.positions
    )
    if found in index.closed and len(found) < len(path):
        return None
    return index.positions[found]


@lru_cache(maxsize=16)
def _index(text: str) -> _Index | None:
    """Return the places of a text, or None. Who asks for one place asks for more."""
    text = text if text.endswith("\n") else f"{text}\n"
    return None if read_plain(text) is None else _places(text.split("\n"))


def _places(lines: list[str]) -> _Index:
    """Return the places of what is known to be plain."""
    positions: dict[_Path, tuple[int, int]] = {}
    counts: dict[_Path, int] = {}
    closed: list[_Path] = []
    levels: list[_Level] = []
    pending: _Path = ()
    for number, (_, level, key, value, inner) in _said(lines):
        while levels and levels[-1].level > level:
            levels.pop()
        if not levels or levels[-1].level < level:
            levels.append(_Level(level, pending))
        column, pending = level // 2 + 1, levels[-1].path
        positions.setdefault(pending, (number, column))
        if inner:
            column = inner // 2 + 1
            counts[pending] = counts.get(pending, -1) + 1
            pending = (*pending, counts[pending])
            positions[pending] = number, column
            if key is not None:
                levels.append(_Level(inner, pending))
        if key is not None:
            pending = (*pending, key)
            positions[pending] = number, column
        if value.__class__ is dict or value.__class__ is list:
            closed.append(pending)
    return _Index(positions, frozenset(closed))


def _said(lines: list[str]) -> Iterator[tuple[int, Line]]:
    """Yield the lines that say something, numbered from 1; texts below others are left out."""
    text_end = 0
    for number, text in enumerate(lines, 1):
        said = SKIPPED if number <= text_end else read_line(text)
        if said is SKIPPED or said[0] == TEXT:
            continue
        if said[0] >= BLOCK:
            text_end = number + text_below(lines, number, said)[1]
        yield number, said
