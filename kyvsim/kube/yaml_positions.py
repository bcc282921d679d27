"""Where a node of a YAML document stands in its text; found by reading the text once more."""

from collections.abc import Iterator, Sequence

import yaml
from yaml.cyaml import CParser
from yaml.events import (
    DocumentEndEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from kyvsim.kube.yaml_scalars import ScalarError, plain_key


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
    if not isinstance(event, ScalarEvent):
        return None
    if event.tag is not None or not event.implicit[0]:
        return event.value
    try:
        return plain_key(event.value)
    except ScalarError:
        return None


def _node_events(text: str) -> Iterator[Event]:
    """Yield the events of the first document, up to the first error."""
    try:
        for event in iter(CParser(text).get_event, None):
            if isinstance(event, DocumentEndEvent):
                return
            yield event
    except (yaml.YAMLError, UnicodeEncodeError):
        return


def _is_next_step(level: _Level, step: str | int) -> bool:
    found = level.key if level.is_map else level.index
    return found.__class__ is step.__class__ and found == step


def find_position(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column, counted from 1, of the node at `path` in the first document.

    For the entry of a map that is where its key stands. A node that does not exist stands where its
    nearest existing ancestor does; of duplicate keys the last one counts.
    """
    best = (1, 1)
    levels: list[_Level] = []
    for event in _node_events(text.removeprefix("\ufeff")):
        if isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            levels.pop()
            continue
        if not isinstance(event, NodeEvent):
            continue
        here = (event.start_mark.line + 1, event.start_mark.column + 1)
        depth = len(levels)
        on_path = not levels
        if levels:
            level = levels[-1]
            is_key = level.wants_key
            level.wants_key = level.is_map and not level.wants_key
            if is_key:
                level.key = _key_of(event)
            else:
                level.index += 1
            on_path = level.on_path and depth <= len(path) and _is_next_step(level, path[depth - 1])
            if on_path and is_key == level.is_map:
                best = here
            on_path = on_path and not is_key
        else:
            best = here
        if isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            is_map = isinstance(event, MappingStartEvent)
            levels.append(_Level(is_map=is_map, on_path=on_path))
    return best
