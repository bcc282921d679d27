"""YAML text as a tree whose scalars keep their text and line, with the types of go-yaml v3.

Version 3 reads `yes` and `on` as strings and dates as timestamps, rejects duplicate keys, and a
map's own keys override merged ones.

Source of the rules: go.yaml.in/yaml/v3 (resolve.go, decode.go).
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from kyvsim.kubernetes.objects import MAX_DEPTH, TOO_DEEP, Json
from kyvsim.yaml.document import (
    Event,
    ScalarError,
    YamlError,
    from_parser_error,
    json_value,
    key_text,
    parse_events,
    resolve,
    tagged_value,
)

_MAX_NODES = 1_000_000
_WORDS_OF_VERSION_1 = frozenset(
    word
    for name in ("y", "n", "yes", "no", "on", "off")
    for word in (name, name.capitalize(), name.upper())
)
_TIME = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt](?P<zoned>\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?)(?P<zone>Z|[-+]\d\d:\d\d))"
    r"| (?P<plain>\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?))?\Z"
)
_MERGE = "<<"
_TAG_PREFIX = "tag:yaml.org,2002:"


class ScalarNode(NamedTuple):
    """A string, number, boolean or null."""

    line: int
    text: str
    value: Json
    merges: bool = False
    """Whether it is the key `<<`, which merges other maps."""
    problem: str = ""
    """Why it has no value; "" where it has one."""


class SequenceNode(NamedTuple):
    """A list."""

    line: int
    items: tuple["Node", ...]


class MappingNode(NamedTuple):
    """A map, its keys in the order of the text."""

    line: int
    entries: tuple[tuple["Node", "Node"], ...]


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


def parse_nodes(text: str) -> Iterator[Node]:
    """Yield the documents of a text that are not empty; raises YamlError."""
    try:
        events = parse_events(text)
        for event in events:
            if event.__class__ is DocumentStartEvent:
                yield _Document(events).read()
    except yaml.YAMLError as error:
        raise from_parser_error(error, text) from error


class _Document:
    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._anchors: dict[str, Node | None] = {}
        self._size = 0
        """Number of nodes, including those of expanded aliases."""
        self._sizes: dict[str, int] = {}
        self._depth = 0

    def read(self) -> Node:
        root = self._node(next(self._events))
        for event in self._events:
            if event.__class__ is DocumentEndEvent or event.__class__ is StreamEndEvent:
                break
        return root

    def _node(self, event: Event) -> Node:
        line, before = event.start_mark.line + 1, self._size
        self._grow(1)
        if event.__class__ is AliasEvent:
            name = str(event.anchor)
            if name not in self._anchors:
                raise YamlError(f"unknown anchor '{name}' referenced", line)
            anchored = self._anchors[name]
            if anchored is None:
                raise YamlError(f"anchor '{name}' value contains itself", line)
            self._grow(self._sizes[name])
            return anchored
        if event.anchor:
            self._anchors[event.anchor] = None
        found: Node
        if event.__class__ is ScalarEvent:
            found = _scalar(event, line)
        elif event.__class__ is SequenceStartEvent:
            found = SequenceNode(line, tuple(self._until_end()))
        else:
            parts = iter(tuple(self._until_end()))
            found = MappingNode(line, tuple(zip(parts, parts, strict=True)))
        if event.anchor:
            self._anchors[event.anchor] = found
            self._sizes[event.anchor] = self._size - before
        return found

    def _until_end(self) -> Iterator[Node]:
        self._depth += 1
        for event in self._events:
            if event.__class__ not in _STARTS:
                self._depth -= 1
                return
            if self._depth > MAX_DEPTH:
                raise YamlError(TOO_DEEP)
            yield self._node(event)

    def _grow(self, nodes: int) -> None:
        self._size += nodes
        if self._size > _MAX_NODES:
            raise YamlError("document contains excessive aliasing")


_STARTS = frozenset({ScalarEvent, AliasEvent, SequenceStartEvent, MappingStartEvent})


def _scalar(event: Event, line: int) -> ScalarNode:
    text: str = event.value
    try:
        if event.tag is not None:
            if event.tag == f"{_TAG_PREFIX}timestamp":
                return ScalarNode(line, text, _time(text) or text)
            value = json_value(tagged_value(event.tag, text))
            return ScalarNode(line, text, value, merges=event.tag == f"{_TAG_PREFIX}merge")
        if not event.implicit[0] or text in _WORDS_OF_VERSION_1:
            return ScalarNode(line, text, text)
        value = _time(text) or json_value(resolve(text))
        return ScalarNode(line, text, value, merges=text == _MERGE)
    except ScalarError as error:
        return ScalarNode(line, text, None, problem=str(error))


def _time(text: str) -> str:
    """Return a date or time as Go's JSON formats it, "" for anything else."""
    found = _TIME.match(text)
    if not found:
        return ""
    day = "-".join(part.zfill(size) for part, size in zip(found.groups(), (4, 2, 2), strict=False))
    clock, _, fraction = (found["zoned"] or found["plain"] or "0:0:0").partition(".")
    time = ":".join(part.zfill(2) for part in clock.split(":"))
    try:
        datetime.fromisoformat(f"{day}T{time}+00:00")
    except ValueError:
        return ""
    fraction = fraction.rstrip("0")[:9]
    zone = (found["zone"] or "Z").replace("+00:00", "Z")
    return f"{day}T{time}{f'.{fraction}' if fraction else ''}{zone}"


def plain_data(node: Node) -> Json:
    """Return a tree as plain data; raises YamlError."""
    if isinstance(node, ScalarNode):
        if node.problem:
            raise YamlError(node.problem, node.line, 1)
        return node.value
    if isinstance(node, SequenceNode):
        return [plain_data(one) for one in node.items]
    return _map(node)


def _map(node: MappingNode) -> dict[str, Json]:
    found: dict[str, Json] = {}
    lines: dict[str, int] = {}
    merged: list[Node] = []
    for key, value in node.entries:
        if isinstance(key, ScalarNode) and key.merges:
            merged.append(value)
            continue
        name = key_of(key)
        if name in lines:
            raise YamlError(
                f'mapping key "{name}" already defined at line {lines[name]}', key.line, 1
            )
        lines[name] = key.line
        found[name] = plain_data(value)
    for value in merged:
        for source in value.items if isinstance(value, SequenceNode) else (value,):
            if not isinstance(source, MappingNode):
                raise YamlError(
                    "map merge requires map or sequence of maps as the value", source.line, 1
                )
            found = {**_map(source), **found}
    return found


def key_of(key: Node) -> str:
    """Return the name of a key; raises YamlError for lists, maps and null."""
    if not isinstance(key, ScalarNode):
        raise YamlError("invalid map key: neither list nor map can be a key", key.line, 1)
    if key.problem:
        raise YamlError(key.problem, key.line, 1)
    try:
        return key_text(key.value)
    except ScalarError as error:
        raise YamlError(str(error), key.line, 1) from error
