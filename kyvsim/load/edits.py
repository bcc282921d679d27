"""Changes of documents as edits of their text.

Comments, quotes, order and empty lines are preserved. A change is refused if its effect is
uncertain: with anchors, aliases and tags, in flow maps, and for several entries on one line.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple, TypeAlias

import yaml
from yaml.events import AliasEvent, NodeEvent
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from kyvsim.model.diagnostic import ChangeKind, Edit, TextChange

_STEP = 2


class NoEditError(Exception):
    """A change cannot be made by text edits."""


_Place: TypeAlias = tuple[int, int]
"""Line and column, from 1."""


class _MapEntry(NamedTuple):
    """An entry of a map."""

    key: ScalarNode
    value: Node
    holder: MappingNode


class _Text(NamedTuple):
    """A text, and the nodes of its documents."""

    text: str
    documents: tuple[Node, ...]
    shared: tuple[int, ...]
    """Offsets of anchors, aliases and tags, sorted."""
    lines: tuple[int, ...]
    new_line: str


_SHARED = r"(?m)(?:^|[-:?\[{,])\s*(?:[&*][\w-]|!)"
"""What begins a node with an anchor or a tag, or an alias; other texts may have it, too."""


class _Piece(NamedTuple):
    """A replacement of a part of a text."""

    start: int
    end: int
    new: str


def edits_of(text: str, changes: Iterable[TextChange]) -> tuple[Edit, ...]:
    """Return the edits for some changes, sorted and without overlaps; raises NoEditError."""
    read = _read(text)
    pieces = sorted({piece for change in changes for piece in _EDITORS[change.way](read, change)})
    for piece, other in pairwise(pieces):
        if piece.end > other.start or piece.start == other.start:
            raise NoEditError("two changes overlap")
    return tuple(
        Edit(
            *_position(read, piece.start),
            *_position(read, piece.end),
            piece.new.replace("\n", read.new_line),
        )
        for piece in pieces
    )


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with sorted edits."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += (text[done : starts[edit.line - 1] + edit.column - 1], edit.text)
        done = starts[edit.end_line - 1] + edit.end_column - 1
    return "".join((*parts, text[done:]))


def _position(read: _Text, offset: int) -> tuple[int, int]:
    line = bisect_right(read.lines, offset)
    return line, offset - read.lines[line - 1] + 1


@lru_cache(maxsize=2)
def _read(text: str) -> _Text:
    try:
        documents = tuple(yaml.compose_all(text, Loader=yaml.CSafeLoader))
        # Composed nodes do not show anchors and aliases; most texts cannot have any.
        events = yaml.parse(text, Loader=yaml.CSafeLoader) if re.search(_SHARED, text) else ()
        shared = tuple(
            event.start_mark.index
            for event in events
            if isinstance(event, NodeEvent)
            and event.start_mark
            and (isinstance(event, AliasEvent) or event.anchor or getattr(event, "tag", None))
        )
    except (yaml.YAMLError, RecursionError, UnicodeEncodeError) as error:
        raise NoEditError("the file cannot be read") from error
    return _Text(
        text,
        tuple(one for one in documents if one is not None),
        shared=shared,
        lines=(0, *(found.end() for found in re.finditer("\n", text))),
        new_line="\r\n" if "\r\n" in text else "\n",
    )


def _nodes_at(read: _Text, place: _Place) -> Iterator[Node]:
    """Yield the nodes whose text contains a position, from the outside.

    Beside aliases, which are not where the text of their nodes is, some may not be found.
    """
    level: Sequence[Node] = read.documents
    before = (0, 0)
    while level:
        at = bisect_right(level, place, key=_start) - 1
        node = level[max(at, 0)]
        # An alias may be inside the node that it means.
        if not before < _start(node) <= place <= _mark(node.end_mark):
            return
        yield node
        before = _start(node)
        level = ()
        if isinstance(node, SequenceNode):
            level = node.value
        elif isinstance(node, MappingNode):
            level = [value for _, value in node.value]


def _maps_at(read: _Text, place: _Place) -> Iterator[MappingNode]:
    return (one for one in _nodes_at(read, place) if isinstance(one, MappingNode))


def _mark(mark: yaml.Mark) -> _Place:
    return mark.line + 1, mark.column + 1


def _start(node: Node) -> _Place:
    return _mark(node.start_mark)


def _place(change: TextChange) -> _Place:
    return change.place.line, change.place.column


def _entry(read: _Text, change: TextChange) -> _MapEntry:
    place = _place(change)
    for node in _maps_at(read, place):
        for key, value in node.value:
            is_named = isinstance(key, ScalarNode) and key.value == change.key
            if is_named and _start(key) == place:
                _refuse_shared(read, key.start_mark.index, _end(value))
                return _MapEntry(key, value, node)
    raise NoEditError("the entry is not written at this position")


def _value(read: _Text, change: TextChange) -> Node:
    """Return the value of an entry, or a scalar in a list."""
    place = _place(change)
    holder: Node | None = None
    for node in _nodes_at(read, place):
        is_item = isinstance(holder, SequenceNode) and isinstance(node, ScalarNode)
        if is_item and _start(node) == place:
            _refuse_shared(read, node.start_mark.index, _end(node))
            return node
        holder = node
    return _entry(read, change).value


def _refuse_shared(read: _Text, start: int, end: int) -> None:
    if end < start or bisect_left(read.shared, start) < bisect_left(read.shared, end):
        raise NoEditError("it may be shared with other fields")


def _block(read: _Text, change: TextChange) -> MappingNode:
    """Return the block map of a change: the value of an entry, or a root."""
    place = _place(change)
    maps = (one for one in _maps_at(read, place) if _start(one) == place)
    node = _entry(read, change).value if change.key else next(maps, None)
    if not isinstance(node, MappingNode) or node.flow_style or not node.value:
        raise NoEditError("it is not a block map")
    return node


def _end(node: Node) -> int:
    """Return the offset after the last character of a node."""
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, MappingNode) else last
    return int(node.end_mark.index)


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _line_end(text: str, offset: int) -> int:
    """Return the offset of the line after a node."""
    if offset and text[offset - 1] == "\n":
        return offset  # a block scalar ends with its last line
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1


def _scalar(read: _Text, node: Node, change: TextChange) -> Iterator[_Piece]:
    """Replace a scalar, or the part of it that differs if it is not written as it is read."""
    if not isinstance(node, ScalarNode):
        raise NoEditError("the value is not a scalar")
    start, end = node.start_mark.index, node.end_mark.index
    source, old, new = read.text[start:end], node.value, change.text
    escaped = _ESCAPERS.get(node.style or "", str)
    if node.style in _ESCAPERS:
        start, end, source = start + 1, end - 1, source[1:-1]
    if source == old and "\n" not in new:
        written = new if node.style or _is_plain(new, old) else _in_quotes(new)
        yield _Piece(start, end, escaped(new) if node.style else written)
        return
    if not node.style:
        raise NoEditError("the value has several lines without quotes")
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    # Whole words occur less often than parts of them.
    while head and (tail + head == len(old) or _is_in_word(old[head - 1])):
        head -= 1
    while tail and _is_in_word(old[len(old) - tail]):
        tail -= 1
    part, other = old[head : len(old) - tail], new[head : len(new) - tail]
    body = source.find("\n") + 1 if node.style in {"|", ">"} else 0
    found = [one.start() for one in re.finditer(re.escape(escaped(part)), source[body:])]
    in_value = [one.start() for one in re.finditer(re.escape(part), old)]
    if "\n" in part + other or len(found) != len(in_value) or head not in in_value:
        raise NoEditError("the value differs from its source text")
    at = start + body + found[in_value.index(head)]
    yield _Piece(at, at + len(escaped(part)), escaped(other))


_ESCAPERS: Mapping[str, Callable[[str], str]] = {
    "'": lambda text: text.replace("'", "''"),
    '"': lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
}


def _common(one: str, other: str) -> int:
    """Return the length of the start that two texts have in common."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _is_in_word(character: str) -> bool:
    return character.isalnum() or character in "_.-"


def _is_plain(text: str, like: str) -> bool:
    """Return whether a text needs no quotes where `like` has none."""
    form = "[{}]" if _reads_as(like, "[{}]") else "- {}"
    return _reads_as(text, form)


def _reads_as(text: str, form: str) -> bool:
    try:
        node = yaml.compose(form.format(text), Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return False
    items = node.value if isinstance(node, SequenceNode) else ()
    return [getattr(one, "value", None) for one in items] == [text]


def _in_quotes(text: str) -> str:
    is_single = '"' in text and "'" not in text
    return f"'{text}'" if is_single else json.dumps(text, ensure_ascii=False)


def _quoted(read: _Text, node: Node) -> Iterator[_Piece]:
    if not isinstance(node, ScalarNode) or node.style or not node.value:
        raise NoEditError("the value is not a plain word")
    start, end = node.start_mark.index, node.end_mark.index
    yield _Piece(start, end, json.dumps(read.text[start:end], ensure_ascii=False))


def _unquoted(node: Node) -> Iterator[_Piece]:
    if not isinstance(node, ScalarNode) or node.style not in _ESCAPERS:
        raise NoEditError("the value is not in quotes")
    yield _Piece(node.start_mark.index, node.end_mark.index, node.value)


def _new_entry(read: _Text, change: TextChange) -> Iterator[_Piece]:
    entry = _entry(read, change)
    if entry.holder.flow_style:
        raise NoEditError("the map is in flow style")
    if isinstance(entry.value, ScalarNode) and entry.value.style in {"|", ">"}:
        raise NoEditError("the value is a multi-line string")
    if re.search(r"\s#", read.text[entry.key.start_mark.index : _end(entry.value)]):
        raise NoEditError("comments are in its place")
    column = entry.key.start_mark.column
    new = change.text.replace("\n", f"\n{' ' * column}")
    yield _Piece(entry.key.start_mark.index, _end(entry.value), new)


def _removal(read: _Text, change: TextChange) -> Iterator[_Piece]:
    entry = _entry(read, change)
    if entry.holder.flow_style:
        raise NoEditError("the map is in flow style")
    keys = [key for key, _ in entry.holder.value]
    if len(keys) == 1:
        raise NoEditError("the map would be empty")
    start, end = entry.key.start_mark.index, _line_end(read.text, _end(entry.value))
    line = _line_start(read.text, start)
    if not read.text[line:start].strip():
        comment = read.text[_end(entry.value) : end].strip()
        yield _Piece(line, end, read.text[line:start] + comment + "\n" if comment else "")
        return
    # It is after a `-`: the next entry takes its place.
    after = keys[1].start_mark.index
    if keys[0] is not entry.key or read.text[_end(entry.value) : after].strip():
        raise NoEditError("comments are in its place")
    yield _Piece(start, after, "")


def _addition(read: _Text, change: TextChange) -> Iterator[_Piece]:
    first = _block(read, change).value[0][0].start_mark
    indent = " " * first.column
    text = change.text.replace("\n", f"\n{indent}")
    if change.key and change.place.line <= first.line:
        # On a separate line, before the comments of the first entry.
        at = _line_end(read.text, _entry(read, change).key.start_mark.index)
        yield _Piece(at, at, f"{indent}{text}\n")
    else:
        yield _Piece(first.index, first.index, f"{text}\n{indent}")


def _item(read: _Text, change: TextChange) -> Iterator[_Piece]:
    node = _block(read, change)
    first = node.value[0][0].start_mark
    if read.text[_line_start(read.text, first.index) : first.index].strip():
        raise NoEditError("the map does not begin on its own line")
    indent = " " * first.column
    yield _Piece(first.index, first.index, f"{change.text}:\n{indent}- ")
    at = _line_end(read.text, first.index)
    for line in read.text[at : _line_end(read.text, _end(node))].split("\n"):
        if line.strip():
            yield _Piece(at, at, " " * _STEP)
        at += len(line) + 1


_EDITORS: Mapping[ChangeKind, Callable[[_Text, TextChange], Iterator[_Piece]]] = {
    ChangeKind.VALUE: lambda read, change: _scalar(read, _value(read, change), change),
    ChangeKind.QUOTE: lambda read, change: _quoted(read, _value(read, change)),
    ChangeKind.UNQUOTE: lambda read, change: _unquoted(_value(read, change)),
    ChangeKind.KEY: lambda read, change: _scalar(read, _entry(read, change).key, change),
    ChangeKind.ENTRY: _new_entry,
    ChangeKind.REMOVE: _removal,
    ChangeKind.ADD: _addition,
    ChangeKind.ITEM: _item,
}
