"""Where a node of a YAML document is in its text: found by its lines, else by libyaml."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kyvsim.yaml.document import Event, YamlError, parse_events
from kyvsim.yaml.lines import BLOCK, SKIPPED, TEXT, Line, read_line, read_plain, text_below
from kyvsim.yaml.scalars import ScalarError, plain_key

# Where a node of a YAML document stands in its text; found by reading the text once more.


_MAP, _LIST, _END, _SCALAR, _ALIAS = range(5)
"""What an event says: that a map or list begins, that one ends, or that there is another node."""
_FINE = 1 << 14
"""Lists and maps of up to so many characters are indexed when something in them is asked for."""

_Path: TypeAlias = tuple[object, ...]


class _Span(NamedTuple):
    """The part of a text that holds one list or map, and where it begins, counted from 0."""

    start: int
    end: int
    line: int
    column: int
    is_flow: bool
    """Whether it stands in brackets: then its first column makes no difference to it."""


class _Place(NamedTuple):
    """Where a node stands: its path, and line and column from 1."""

    path: _Path
    position: tuple[int, int]
    folded: _Span | None = None
    """Of a list or map whose parts are left out of the index: where to find them."""


class _Level:
    """One list or map that is being read."""

    __slots__ = ("index", "is_flow", "is_map", "key", "mark", "path", "place", "wants_key")

    def __init__(self, path: _Path, kind: int, start: Event, place: int) -> None:
        self.path = path
        self.is_map = kind == _MAP
        self.wants_key = self.is_map
        self.index = -1
        self.key: object = None
        self.mark = start.start_mark
        self.is_flow = bool(start.flow_style)
        self.place = place


def _key_of(kind: int, event: Event) -> object:
    if kind != _SCALAR:
        return None
    if event.tag is not None or not event.implicit[0]:
        return event.value
    try:
        return plain_key(event.value)
    except ScalarError:
        return None


def _node_events(text: str) -> Iterator[tuple[int, Event]]:
    """Yield the events that make up the first document, up to the first error."""
    import yaml

    kinds = {
        yaml.MappingStartEvent: _MAP,
        yaml.SequenceStartEvent: _LIST,
        yaml.MappingEndEvent: _END,
        yaml.SequenceEndEvent: _END,
        yaml.ScalarEvent: _SCALAR,
        yaml.AliasEvent: _ALIAS,
    }
    try:
        for event in parse_events(text):
            if event.__class__ is yaml.DocumentEndEvent:
                return
            kind = kinds.get(event.__class__)
            if kind is not None:
                yield kind, event
    except (yaml.YAMLError, YamlError):
        return


def _advance(level: _Level, kind: int, event: Event) -> bool:
    """Take notice of the next node inside a list or map; return whether it is a key."""
    is_key = level.wants_key
    level.wants_key = level.is_map and not is_key
    if is_key:
        level.key = _key_of(kind, event)
    else:
        level.index += 1
    return is_key


def position_by_events(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column of a node as `find_position` does, whatever the text is."""
    wanted = tuple(path)
    place = _nearest(_outline(text), wanted)
    if place.folded is None or len(place.path) == len(wanted):
        return place.position
    inner = _nearest(_details(_cut(text, place.folded)), wanted[len(place.path) :])
    line, column = inner.position
    if place.folded.is_flow and line == 1:
        column += place.folded.column
    return (line + place.folded.line, column) if inner.path else place.position


_Index: TypeAlias = Mapping[_Path, tuple[int, _Place]]
"""Places by path, numbered in the order of the text."""


@lru_cache(maxsize=4)
def _outline(text: str) -> _Index:
    """Return the places of a text by path, without what stands inside of short lists and maps.

    Who asks for one place asks for more. A whole index would take some fifty times the text; this
    one takes a place for each part of the long lists and maps.
    """
    return _by_path(_places(text, _FINE))


@lru_cache(maxsize=16)
def _details(text: str) -> _Index:
    """Return all places of a short text by path."""
    return _by_path(_places(text, -1))


def _by_path(places: Sequence[_Place]) -> _Index:
    return {place.path: (number, place) for number, place in enumerate(places)}


def _cut(text: str, span: _Span) -> str:
    """Return a list or map as a text of its own.

    One without brackets begins in the column in which it stands; before others there may be as much
    on the line as a file has.
    """
    return " " * (0 if span.is_flow else span.column) + text[span.start : span.end]


def _nearest(index: _Index, path: _Path) -> _Place:
    """Return the place of a node, or of its nearest ancestor that exists."""
    best, latest = _Place((), (1, 1)), -1
    for length in range(len(path) + 1):
        number, place = index.get(path[:length], (-1, None))
        # What stands before its parent was in a duplicate of it that does not count.
        if place is None or number < latest:
            break
        best, latest = place, number
    return best


def _places(text: str, fold: int) -> list[_Place]:
    """Return the place of each node that a path can lead to, in order.

    Lists and maps of up to `fold` characters keep their parts to themselves.
    """
    found: list[_Place] = []
    levels: list[_Level] = []
    for kind, event in _node_events(text):
        if kind == _END:
            _close(found, levels.pop(), event, fold)
            continue
        path: _Path = ()
        leads_here = not levels
        if levels:
            level = levels[-1]
            is_key = _advance(level, kind, event)
            path = (*level.path, level.key if level.is_map else level.index)
            leads_here = is_key == level.is_map
        if leads_here:
            mark = event.start_mark
            found.append(_Place(path, (mark.line + 1, mark.column + 1)))
        if kind in {_MAP, _LIST}:
            levels.append(_Level(path, kind, event, len(found) - 1))
    return found


def _close(found: list[_Place], level: _Level, event: Event, fold: int) -> None:
    """Take notice that a list or map ends: the places inside of a short one are dropped."""
    mark, end, inside = level.mark, event.end_mark.index, level.place + 1
    if end - mark.index <= fold and len(found) > inside:
        del found[inside:]
        span = _Span(mark.index, end, mark.line, mark.column, level.is_flow)
        found[-1] = found[-1]._replace(folded=span)


# Where a node of plain block YAML stands: found by its lines, without libyaml.


_LONGEST = 1 << 14
"""Of a longer text an index would take much room."""


class _PlainIndex(NamedTuple):
    """The places of a text."""

    positions: Mapping[_Path, tuple[int, int]]
    """Line and column from 1 of each node."""
    closed: frozenset[_Path]
    """Lists and maps that are written in one line, whose parts are not among the nodes."""


class _PlainLevel(NamedTuple):
    """A list or map that is being read."""

    level: int
    """As that of its lines."""
    path: _Path


def plain_position(text: str, path: _Path) -> tuple[int, int] | None:
    """Return line and column as `find_position` does; None where a text is not plain enough."""
    if len(text) > _LONGEST:
        return None
    index = _plain_index(text)
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
def _plain_index(text: str) -> _PlainIndex | None:
    """Return the places of a text, or None. Who asks for one place asks for more."""
    text = text if text.endswith("\n") else f"{text}\n"
    return None if read_plain(text) is None else _plain_places(text.split("\n"))


def _plain_places(lines: list[str]) -> _PlainIndex:
    """Return the places of what is known to be plain."""
    positions: dict[_Path, tuple[int, int]] = {}
    counts: dict[_Path, int] = {}
    closed: list[_Path] = []
    levels: list[_PlainLevel] = []
    pending: _Path = ()
    for number, (_, level, key, value, inner) in _said(lines):
        while levels and levels[-1].level > level:
            levels.pop()
        if not levels or levels[-1].level < level:
            levels.append(_PlainLevel(level, pending))
        column, pending = level // 2 + 1, levels[-1].path
        positions.setdefault(pending, (number, column))
        if inner:
            column = inner // 2 + 1
            counts[pending] = counts.get(pending, -1) + 1
            pending = (*pending, counts[pending])
            positions[pending] = number, column
            if key is not None:
                levels.append(_PlainLevel(inner, pending))
        if key is not None:
            pending = (*pending, key)
            positions[pending] = number, column
        if value.__class__ is dict or value.__class__ is list:
            closed.append(pending)
    return _PlainIndex(positions, frozenset(closed))


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
