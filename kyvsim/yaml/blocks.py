"""Streams of bytes cut into blocks of whole documents, or of items of a list, without parsing them.

Blocks are read, one after the other, as the stream is as a whole. What is no plain list, or a
document that is large otherwise, is a block of its own.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.yaml.lines import NeedsFullParser, read_fast
from kyvsim.yaml.text import (
    ANY_JSON,
    LineStart,
    ListItem,
    is_separator,
    json_item,
    line_start,
    pieces_between,
    read_json,
    yaml_items,
)

# The list around the items of a large one, found at its two ends without reading the middle.
#
# Only lists as `kubectl get` prints them have a frame: each item begins on a line of its own, in
# one column. Whether all between is items shows when they are read, each to its end.

_YAML_ITEMS = rb"(?m)^items:\n(?=( *)- )"
_JSON_ITEMS = rb'"items": ?\[ *\n(?=( *)\{)'
_AFTER_YAML = rb"(?m)^[^ #\n-]"
_AFTER_JSON = r"[ \n]*\]"


class Frame(NamedTuple):
    """A list without its items."""

    envelope: dict[str, Json]
    """The list, its `items` empty."""
    sign: bytes
    """What is before each item but the first: the line end, and what its line begins with."""
    column: int
    """Where items begin, counted from 0."""
    is_json: bool


class Framed(NamedTuple):
    """Where the items of a list are."""

    start: int
    """Where the line of the first one begins, counted in the head."""
    end: int
    """Where what follows on the last one begins, counted in the whole."""
    frame: Frame


Tail: TypeAlias = Callable[[bytes], tuple[int, bytes]]
"""Gives the rest of a text from the last place of a sign on, and where in the whole that is."""


def _in_yaml(head: bytes, tail: Tail, *, floats: bool) -> Framed | None:
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
    return Framed(field.end(), place + end, Frame(envelope, sign, len(margin), False))


def _in_json(head: bytes, tail: Tail, *, floats: bool) -> Framed | None:
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
    return Framed(field.end(), place + size, Frame(envelope, sign, len(margin), True))


_AFTER_ITEM = r"[ \n]*(?:,[ \n]*|\Z)"


def read_items(text: str, frame: Frame, *, floats: bool = False) -> Iterator[ListItem]:
    """Yield the items of a list that a block of its text has; lines are counted from 1 in it.

    Raises ValueError, RecursionError or NeedsFullParser where that takes the whole list.
    """
    if not frame.is_json:
        pieces = pieces_between(text, 0, len(text), frame.sign.decode())
        yield from yaml_items(text, pieces, (frame.column, 1), floats=floats)
        return
    find_next = re.compile(_AFTER_ITEM)
    at, start = text.index("{"), LineStart(1, 0, 0)
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
"""Gives so many bytes from a place on; fewer only where the stream ends."""


_SEPARATOR = b"\n---"
# That it begins with plain text makes the search for it eight times as quick.
_ODD_SEPARATOR = rb"\n(---(?![ \t]*\r?\n)[^\n]*)"
_STEP = 1 << 16
"""Bytes that are looked at together where nothing else says how many."""


class Span(NamedTuple):
    """A block of a stream."""

    start: int
    end: int
    line: int
    """Line at which it begins, counted from 1."""
    frame: Frame | None = None
    """The list around its items; None where it has whole documents."""


def cut_bytes(
    read: Reader, length: int, size: int, is_list: Callable[[Frame], bool]
) -> Iterator[Span]:
    """Yield the blocks of a stream of `length` bytes, of about `size` bytes each.

    A document that is larger than two of them is cut at its items, where it is a list by `is_list`
    and written as `kubectl get` writes one. What follows on a bad separator is in no block.
    """
    start, line = 0, 1
    while start < length:
        end = _end_of_block(read, start, length, (size, _SEPARATOR))
        framed = _framed(read, start, end, size) if end - start > 2 * size else None
        if framed is not None and is_list(framed.frame):
            line += read(start, framed.start - start).count(b"\n")
            for span in _cut_items(read, framed, size, line):
                yield span
                line += read(span.start, span.end - span.start).count(b"\n")
            line += read(framed.end, end - framed.end).count(b"\n")
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


def _cut_items(read: Reader, framed: Framed, size: int, line: int) -> Iterator[Span]:
    start = framed.start
    while start < framed.end:
        end = _end_of_block(read, start, framed.end, (size, framed.frame.sign))
        yield Span(start, end, line, framed.frame)
        line += read(start, end - start).count(b"\n")
        start = end


def _end_of_block(read: Reader, start: int, stop: int, cut: tuple[int, bytes]) -> int:
    """Return where a block ends that begins at `start`: at `stop`, or at a sign.

    It is of about the given size, and larger only where one piece between two signs is.
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
    """Return how much of a sign belongs to the line before that at which it cuts."""
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


def _framed(read: Reader, start: int, end: int, size: int) -> Framed | None:
    """Return the list that a large document is, where it is one that can be cut."""
    head = read(start, 2 * size)
    if _bad_separator(head):
        return None
    below = head.find(b"\n") + 1 if head.startswith(b"---") else 0
    start += below

    def tail(sign: bytes) -> tuple[int, bytes]:
        found = _find_back(read, start, end, sign)
        if found < 0:
            raise NeedsFullParser  # there is one item, if it is a list
        place = found + _break_in(sign)
        return place, read(place, end - place)

    # `floats` is as for `load_one`.
    head = head[below:]
    find = _in_json if head.lstrip(b" \n").startswith(b"{") else _in_yaml
    try:
        found = find(head, tail, floats=True)
    except (ValueError, RecursionError, NeedsFullParser):  # bytes that are no text are ValueErrors
        found = None
    return found._replace(start=start + found.start) if found else None


def _bad_separator(body: bytes) -> int:
    """Return where the line ends that ends a stream early, 0 where there is none."""
    for found in re.finditer(_ODD_SEPARATOR, b"\n" + body):
        if not is_separator(found[1].decode("utf-8", "replace").removesuffix("\r")):
            return min(found.end(), len(body))
    return 0
