"""Changes of documents as edits of the text that they were read from.

All that is not changed stays as it is written: comments, quotes, order, empty lines. Where a text
does not say plainly what a change would do to it, there is no edit: with anchors, aliases and tags,
in maps in brackets, where several things stand in one line.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import yaml
from yaml.events import AliasEvent, NodeEvent
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from kyvsim.model.diagnostic import ChangeKind, Edit, TextChange

_STEP = 2
"""By how much lines move to the right that go a level down."""


class NoEditError(Exception):
    """A change that cannot be made by changing a few places of a text."""


class _MapEntry(NamedTuple):
    """An entry of a map, as it is written."""

    key: ScalarNode
    value: Node
    holder: MappingNode


class _Text(NamedTuple):
    """A text, and its entries by line and column from 1."""

    text: str
    entries: Mapping[tuple[int, int, str], _MapEntry]
    roots: Mapping[tuple[int, int], MappingNode]
    shared: tuple[int, ...]
    """Where anchors, aliases and tags stand, in their order."""
    lines: tuple[int, ...]
    """Where lines begin."""
    new_line: str
    """How they end."""


class _Piece(NamedTuple):
    """A part of a text by its offsets, and what takes its place."""

    start: int
    end: int
    new: str


def edits_of(text: str, changes: Iterable[TextChange]) -> tuple[Edit, ...]:
    """Return the edits of a text that make some changes, in its order; they never overlap.

    Raises NoEditError where a change cannot be made so.
    """
    read = _read(text)
    pieces = sorted({one for each in changes for one in _WAYS[each.way](read, each)})
    for one, other in pairwise(pieces):
        if one.end > other.start or one.start == other.start:
            raise NoEditError("two changes overlap")
    return tuple(
        Edit(
            *_position(read, one.start),
            *_position(read, one.end),
            one.new.replace("\n", read.new_line),
        )
        for one in pieces
    )


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits that are in its order."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    parts: list[str] = []
    done = 0
    for one in edits:
        parts += (text[done : starts[one.line - 1] + one.column - 1], one.text)
        done = starts[one.end_line - 1] + one.end_column - 1
    return "".join((*parts, text[done:]))


def _position(read: _Text, offset: int) -> tuple[int, int]:
    line = bisect_right(read.lines, offset)
    return line, offset - read.lines[line - 1] + 1


@lru_cache(maxsize=2)
def _read(text: str) -> _Text:
    try:
        documents = tuple(yaml.compose_all(text, Loader=yaml.CSafeLoader))
        shared = tuple(
            one.start_mark.index
            for one in yaml.parse(text, Loader=yaml.CSafeLoader)
            if isinstance(one, NodeEvent) and one.start_mark and _is_shared(one)
        )
    except (yaml.YAMLError, RecursionError, UnicodeEncodeError) as error:
        raise NoEditError("the file cannot be read") from error
    nodes = tuple(_nodes(documents))
    maps = [one for one in nodes if isinstance(one, MappingNode)]
    entries = {
        (*_mark(key), str(key.value)): _MapEntry(key, value, one)
        for one in maps
        for key, value in one.value
        if isinstance(key, ScalarNode)
    }
    return _Text(
        text,
        entries,
        roots={_mark(one): one for one in maps},
        shared=shared,
        lines=(0, *(found.end() for found in re.finditer("\n", text))),
        new_line="\r\n" if "\r\n" in text else "\n",
    )


def _nodes(documents: Iterable[Node | None]) -> Iterator[Node]:
    """Yield all nodes; goes down without recursion."""
    pending = [one for one in documents if one is not None]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, SequenceNode):
            pending += node.value
        elif isinstance(node, MappingNode):
            pending += (value for _, value in node.value)


def _is_shared(event: NodeEvent) -> bool:
    named = isinstance(event, AliasEvent) or event.anchor is not None
    return named or getattr(event, "tag", None) is not None


def _mark(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _entry(read: _Text, one: TextChange) -> _MapEntry:
    found = read.entries.get((one.place.line, one.place.column, one.key))
    if found is None:
        raise NoEditError("the entry is not written at this position")
    start, end = found.key.start_mark.index, _end(found.value)
    if end < start or bisect_left(read.shared, start) < bisect_left(read.shared, end):
        raise NoEditError("it may be shared with other fields")
    return found


def _block(read: _Text, one: TextChange) -> MappingNode:
    """Return the map to which something is added: the value of an entry, or a root."""
    place = one.place.line, one.place.column
    node = _entry(read, one).value if one.key else read.roots.get(place)
    if not isinstance(node, MappingNode) or node.flow_style or not node.value:
        raise NoEditError("it is not a block map")
    return node


def _end(node: Node) -> int:
    """Return the offset after the last character of a node, without what follows it."""
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, MappingNode) else last
    return int(node.end_mark.index)


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _line_end(text: str, offset: int) -> int:
    """Return the offset of the line after the one in which something ends."""
    if offset and text[offset - 1] == "\n":
        return offset  # a text in several lines ends with its last line
    found = text.find("\n", offset)
    return len(text) if found < 0 else found + 1


# ---------------------------------------------------------------------------- ways


def _scalar(node: Node, text: str, new: str) -> _Piece:
    if not isinstance(node, ScalarNode) or node.style in {"|", ">"} or "\n" in new:
        raise NoEditError("the value is not a plain word")
    start, end = node.start_mark.index, node.end_mark.index
    if text[start : start + 1] in {'"', "'"}:
        start, end = start + 1, end - 1
    if text[start:end] != node.value:
        raise NoEditError("the value differs from its source text")
    return _Piece(start, end, new)


def _new_value(read: _Text, one: TextChange) -> Iterator[_Piece]:
    yield _scalar(_entry(read, one).value, read.text, one.text)


def _new_key(read: _Text, one: TextChange) -> Iterator[_Piece]:
    yield _scalar(_entry(read, one).key, read.text, one.text)


def _new_entry(read: _Text, one: TextChange) -> Iterator[_Piece]:
    found = _entry(read, one)
    if found.holder.flow_style:
        raise NoEditError("the map is in flow style")
    if isinstance(found.value, ScalarNode) and found.value.style in {"|", ">"}:
        raise NoEditError("the value is a multi-line string")
    column = found.key.start_mark.column
    new = one.text.replace("\n", f"\n{' ' * column}")
    yield _Piece(found.key.start_mark.index, _end(found.value), new)


def _without(read: _Text, one: TextChange) -> Iterator[_Piece]:
    found = _entry(read, one)
    if found.holder.flow_style:
        raise NoEditError("the map is in flow style")
    keys = [key for key, _ in found.holder.value]
    if len(keys) == 1:
        raise NoEditError("the map would be empty")
    start, end = found.key.start_mark.index, _line_end(read.text, _end(found.value))
    line = _line_start(read.text, start)
    if not read.text[line:start].strip():
        comment = read.text[_end(found.value) : end].strip()
        yield _Piece(line, end, read.text[line:start] + comment + "\n" if comment else "")
        return
    # It stands behind a `-`: what follows takes its place there.
    after = keys[1].start_mark.index
    if keys[0] is not found.key or read.text[_end(found.value) : after].strip():
        raise NoEditError("comments are in its place")
    yield _Piece(start, after, "")


def _added(read: _Text, one: TextChange) -> Iterator[_Piece]:
    first = _block(read, one).value[0][0].start_mark
    indent = " " * first.column
    text = one.text.replace("\n", f"\n{indent}")
    if one.key and one.place.line <= first.line:
        # In a line of its own, before the comments that are about the first entry.
        at = _line_end(read.text, _entry(read, one).key.start_mark.index)
        yield _Piece(at, at, f"{indent}{text}\n")
    else:
        yield _Piece(first.index, first.index, f"{text}\n{indent}")


def _item(read: _Text, one: TextChange) -> Iterator[_Piece]:
    node = _block(read, one)
    first = node.value[0][0].start_mark
    if read.text[_line_start(read.text, first.index) : first.index].strip():
        raise NoEditError("the map does not begin on its own line")
    indent = " " * first.column
    yield _Piece(first.index, first.index, f"{one.text}:\n{indent}- ")
    at = _line_end(read.text, first.index)
    for line in read.text[at : _line_end(read.text, _end(node))].split("\n"):
        if line.strip():
            yield _Piece(at, at, " " * _STEP)
        at += len(line) + 1


_WAYS: Mapping[ChangeKind, Callable[[_Text, TextChange], Iterator[_Piece]]] = MappingProxyType(
    {
        ChangeKind.VALUE: _new_value,
        ChangeKind.KEY: _new_key,
        ChangeKind.ENTRY: _new_entry,
        ChangeKind.REMOVE: _without,
        ChangeKind.ADD: _added,
        ChangeKind.ITEM: _item,
    }
)
