"""Byte streams split into blocks of whole documents or list items, without parsing them.

Reading the blocks in order gives the same result as reading the whole stream. Any other large
document is one block.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.yaml.lines import NeedsFullParser, read_fast
from kyvsim.yaml.text import (
    ANY_JSON,
    FIRST_LINE,
    ListItem,
    is_separator,
    json_item,
    line_start,
    pieces_between,
    read_json,
    yaml_items,
)

# The list around the items of a large document, found at its two ends without reading the middle.
# Only lists as `kubectl get` prints them have a frame: each item starts on a new line, all in one
# column. Reading each item to its end shows whether there is anything but items.

_YAML_ITEMS = rb"(?m)^items:\n(?=( *)- )"
_JSON_ITEMS = rb'"items": ?\[ *\n(?=( *)\{)'
_AFTER_YAML = rb"(?m)^[^ #\n-]"
_AFTER_JSON = r"[ \n]*\]"


class Frame(NamedTuple):
    """A list without its items."""

    envelope: dict[str, Json]
    """The list object with empty `items`."""
    sign: bytes
    """The text before each item but the first: the line end, and the start of the item's line."""
    column: int
    """Column where items start, counted from 0."""
    is_json: bool


_Framed: TypeAlias = tuple[int, int, Frame]
"""A list with the position of its items: the start of the line of the first one, and the start of
what follows the last one. The first is an offset in the head until `_framed` makes it one in the
stream, like the second."""

Tail: TypeAlias = Callable[[bytes], tuple[int, bytes]]
"""Returns a text from the last occurrence of a sign on, and its offset in the stream."""


def _in_yaml(head: bytes, tail: Tail, *, floats: bool) -> _Framed | None:
    field = re.search(_YAML_ITEMS, head)
    if field is None:
        return None
    margin = field[1]
    sign = b"\n" + margin + b"- "
    place, rest = tail(sign)
    after = re.compile(_AFTER_YAML).search(rest, 1)
    end = after.start() if after else len(rest)
    text = b"".join((head[: field.start()], b"items: []\n", rest[end:])).decode()
    envelope = read_fast(text if text.endswith("\n") else f"{text}\n", floats=floats)
    if envelope is None or envelope.get("items") != []:
        return None
    return field.end(), place + end, Frame(envelope, sign, len(margin), False)


def _in_json(head: bytes, tail: Tail, *, floats: bool) -> _Framed | None:
    field = re.search(_JSON_ITEMS, head)
    if field is None:
        return None
    margin = field[1]
    sign = b",\n" + margin + b"{"
    place, rest = tail(sign)
    text = rest.decode()
    _, end = ANY_JSON.raw_decode(text, len(margin))
    after = re.compile(_AFTER_JSON).match(text, end)
    if after is None:
        return None
    whole = f'{head[: field.start()].decode()}"items": []{text[after.end() :]}'
    envelope = read_json(whole, floats=floats)
    if envelope is None or envelope.get("items") != []:
        return None
    size = len(text[:end].encode())
    return field.end(), place + size, Frame(envelope, sign, len(margin), True)


_AFTER_ITEM = r"[ \n]*(?:,[ \n]*|\Z)"


def read_items(text: str, frame: Frame, *, floats: bool = False) -> Iterator[ListItem]:
    """Yield the items in one block of a list's text; lines are counted from 1 in the block.

    Raises ValueError, RecursionError or NeedsFullParser where the whole list must be read.
    """
    if not frame.is_json:
        pieces = pieces_between(text, 0, len(text), frame.sign.decode())
        yield from yaml_items(text, pieces, (frame.column, 1), floats=floats)
        return
    find_next = re.compile(_AFTER_ITEM)
    at, start = text.index("{"), FIRST_LINE
    while True:
        start = line_start(text, at, start)
        item, at = json_item(text, at, start, floats=floats)
        yield item
        between = find_next.match(text, at)
        if between is None:
            raise NeedsFullParser
        at = between.end()
        if at == len(text):
            return


Reader: TypeAlias = Callable[[int, int], bytes]
"""Returns a number of bytes from an offset on; fewer only at the end of the stream."""

_SEPARATOR = b"\n---"
# With a literal prefix, the search is eight times as fast.
_ODD_SEPARATOR = rb"\n(---(?![ \t]*\r?\n)[^\n]*)"
_STEP = 1 << 16
"""Bytes that are searched at a time where nothing else gives a size."""


class Span(NamedTuple):
    """A block of a stream."""

    start: int
    end: int
    line: int
    """Line on which it starts, counted from 1."""
    frame: Frame | None = None
    """The list around its items; None where it has whole documents."""


def cut_bytes(
    read: Reader, length: int, size: int, is_list: Callable[[Frame], bool]
) -> Iterator[Span]:
    """Yield the blocks of a stream of `length` bytes, of about `size` bytes each.

    A document larger than two blocks is split at its items if it is a list by `is_list` and
    formatted as by `kubectl get`. Text after a bad separator is in no block.
    """
    start, line = 0, 1
    while start < length:
        end = _end_of_block(read, start, length, (size, _SEPARATOR))
        framed = _framed(read, start, end, size) if end - start > 2 * size else None
        if framed is not None and is_list(framed[2]):
            first, last, frame = framed
            line += read(start, first - start).count(b"\n")
            while first < last:
                after = _end_of_block(read, first, last, (size, frame.sign))
                yield Span(first, after, line, frame)
                line += read(first, after - first).count(b"\n")
                first = after
            line += read(last, end - last).count(b"\n")
            start = end
            continue
        body = read(start, end - start)
        bad = _bad_separator(body)
        if bad:
            yield Span(start, start + bad, line)
            return
        yield Span(start, end, line)
        line += body.count(b"\n")
        start = end


def _end_of_block(read: Reader, start: int, stop: int, cut: tuple[int, bytes]) -> int:
    """Return the end of a block that starts at `start`: `stop`, or a sign.

    The block has about the given size, and is larger only where one piece between two signs is.
    """
    size, sign = cut
    behind = _break_in(sign)
    window = read(start, min(2 * size, stop - start))
    found = window.find(sign, size)
    if found < 0:
        if start + len(window) >= stop:
            return stop
        found = window.rfind(sign, 0, size + len(sign))
    if found >= 0:
        return start + found + behind
    found = _find_forward(read, start + max(len(window) - len(sign), 0), stop, sign)
    return stop if found < 0 else found + behind


def _break_in(sign: bytes) -> int:
    """Return the length of the part of a sign that belongs to the line before the split."""
    return sign.index(b"\n") + 1


def _find_forward(read: Reader, start: int, stop: int, sign: bytes) -> int:
    while start < stop:
        found = read(start, min(_STEP + len(sign) - 1, stop - start)).find(sign)
        if found >= 0:
            return start + found
        start += _STEP
    return -1


def _find_back(read: Reader, start: int, stop: int, sign: bytes) -> int:
    while stop > start:
        begin = max(start, stop - _STEP)
        found = read(begin, stop - begin).rfind(sign)
        if found >= 0:
            return begin + found
        stop = begin + len(sign) - 1 if begin > start else begin
    return -1


def _framed(read: Reader, start: int, end: int, size: int) -> _Framed | None:
    """Return the list in a large document, if it can be split."""
    head = read(start, 2 * size)
    if _bad_separator(head):
        return None
    below = head.find(b"\n") + 1 if head.startswith(b"---") else 0
    start += below

    def tail(sign: bytes) -> tuple[int, bytes]:
        found = _find_back(read, start, end, sign)
        if found < 0:
            raise NeedsFullParser  # there is only one item, if it is a list
        place = found + _break_in(sign)
        return place, read(place, end - place)

    # `floats` is as for `load_one`.
    head = head[below:]
    find = _in_json if head.lstrip(b" \n").startswith(b"{") else _in_yaml
    try:
        found = find(head, tail, floats=True)
    except (ValueError, RecursionError, NeedsFullParser):  # undecodable bytes raise a ValueError
        found = None
    return (start + found[0], *found[1:]) if found else None


def _bad_separator(body: bytes) -> int:
    """Return the end of the line that ends a stream early, 0 where there is none."""
    for found in re.finditer(_ODD_SEPARATOR, b"\n" + body):
        if not is_separator(found[1].decode("utf-8", "replace").removesuffix("\r")):
            return min(found.end(), len(body))
    return 0
