"""Where a node of a YAML document stands in its text; found by reading the text once more."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from kyvsim.kube.yaml_document import Event, parse_events
from kyvsim.kube.yaml_errors import YamlError
from kyvsim.kube.yaml_scalars import ScalarError, plain_key

_STARTS = frozenset({MappingStartEvent, SequenceStartEvent})
_ENDS = frozenset({MappingEndEvent, SequenceEndEvent})
_NODES = _STARTS | _ENDS | {ScalarEvent, AliasEvent}
_KEPT = 1 << 20
"""Texts of up to so many characters are read once for all places; longer ones for each."""

_Path: TypeAlias = tuple[object, ...]


class _Place(NamedTuple):
    """Where a node stands: its path, and line and column from 1."""

    path: _Path
    position: tuple[int, int]


class _Level:
    """One list or map that is being read."""

    __slots__ = ("index", "is_map", "key", "path", "wants_key")

    def __init__(self, path: _Path, *, is_map: bool) -> None:
        self.path = path
        self.is_map = is_map
        self.wants_key = is_map
        self.index = -1
        self.key: object = None


def _key_of(event: Event) -> object:
    if event.__class__ is not ScalarEvent:
        return None
    if event.tag is not None or not event.implicit[0]:
        return event.value
    try:
        return plain_key(event.value)
    except ScalarError:
        return None


def _node_events(text: str) -> Iterator[Event]:
    """Yield the events that make up the first document, up to the first error."""
    try:
        for event in parse_events(text):
            if event.__class__ is DocumentEndEvent:
                return
            if event.__class__ in _NODES:
                yield event
    except (yaml.YAMLError, YamlError):
        return


def _advance(level: _Level, event: Event) -> bool:
    """Take notice of the next node inside a list or map; return whether it is a key."""
    is_key = level.wants_key
    level.wants_key = level.is_map and not is_key
    if is_key:
        level.key = _key_of(event)
    else:
        level.index += 1
    return is_key


# What most documents begin with: comments, then a word. There is no need to parse for its place.
_PLAIN_START = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*( *)[A-Za-z]")


def find_position(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column, counted from 1, of the node at `path` in the first document.

    For the entry of a map that is where its key stands. A node that does not exist stands where its
    nearest existing ancestor does; of duplicate keys the last one counts.
    """
    text = text.removeprefix("\ufeff")
    if not path and (first := _PLAIN_START.match(text)):
        return text.count("\n", 0, first.start(1)) + 1, len(first[1]) + 1
    if len(text) <= _KEPT:
        return _nearest(_index(text), tuple(path))
    best = (1, 1)
    for place in _places(text):
        if place.path == tuple(path[: len(place.path)]):
            best = place.position
    return best


@lru_cache(maxsize=4)
def _index(text: str) -> Mapping[_Path, tuple[int, _Place]]:
    """Return the places of all nodes by path, numbered: who asks for one place asks for more."""
    return {place.path: (number, place) for number, place in enumerate(_places(text))}


def _nearest(index: Mapping[_Path, tuple[int, _Place]], path: _Path) -> tuple[int, int]:
    """Return the place of a node, or of its nearest ancestor that exists."""
    best, latest = (1, 1), -1
    for length in range(len(path) + 1):
        number, place = index.get(path[:length], (-1, None))
        # What stands before its parent was in a duplicate of it that does not count.
        if place is None or number < latest:
            break
        best, latest = place.position, number
    return best


def _places(text: str) -> Iterator[_Place]:
    """Yield the path and the place of each node that a path can lead to, in order."""
    levels: list[_Level] = []
    for event in _node_events(text):
        if event.__class__ in _ENDS:
            levels.pop()
            continue
        path: _Path = ()
        leads_here = not levels
        if levels:
            level = levels[-1]
            is_key = _advance(level, event)
            path = (*level.path, level.key if level.is_map else level.index)
            leads_here = is_key == level.is_map
        if leads_here:
            mark = event.start_mark
            yield _Place(path, (mark.line + 1, mark.column + 1))
        if event.__class__ in _STARTS:
            levels.append(_Level(path, is_map=event.__class__ is MappingStartEvent))
