"""Where a node of a YAML document stands in its text; found by reading the text once more."""

import re
from collections.abc import Iterator, Sequence

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


class _Level:
    """One list or map that is being read."""

    __slots__ = ("index", "is_map", "key", "on_path", "wants_key")

    def __init__(self, *, is_map: bool, on_path: bool) -> None:
        self.is_map = is_map
        self.on_path = on_path
        """Whether the path leads to or through this node."""
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


def _is_next_step(level: _Level, step: str | int) -> bool:
    found = level.key if level.is_map else level.index
    return found.__class__ is step.__class__ and found == step


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
    best = (1, 1)
    levels: list[_Level] = []
    text = text.removeprefix("\ufeff")
    if not path and (first := _PLAIN_START.match(text)):
        return text.count("\n", 0, first.start(1)) + 1, len(first[1]) + 1
    for event in _node_events(text):
        if event.__class__ in _ENDS:
            levels.pop()
            continue
        is_key, on_path, shows_place = False, not levels, not levels
        if levels:
            level = levels[-1]
            is_key = _advance(level, event)
            reached = level.on_path and len(levels) <= len(path)
            on_path = reached and _is_next_step(level, path[len(levels) - 1])
            shows_place = on_path and is_key == level.is_map
        if shows_place:
            best = (event.start_mark.line + 1, event.start_mark.column + 1)
            if not path:
                return best
        if event.__class__ in _STARTS:
            is_map = event.__class__ is MappingStartEvent
            levels.append(_Level(is_map=is_map, on_path=on_path and not is_key))
    return best
