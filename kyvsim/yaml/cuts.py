"""A stream of bytes cut into blocks of whole documents, or of items of a list, without parsing it.

Blocks are read, one after the other, as the stream is as a whole. What is no plain list, or a
document that is large otherwise, is a block of its own.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from kyvsim.yaml.lines import NeedsFullParser
from kyvsim.yaml.list_items import Frame, Framed, frame_list
from kyvsim.yaml.text import is_separator

Reader: TypeAlias = Callable[[int, int], bytes]
"""Gives so many bytes from a place on; fewer only where the stream ends."""

_SEPARATOR = b"\n---"
# That it begins with plain text makes the search for it eight times as quick.
_ODD_SEPARATOR = re.compile(rb"\n(---(?![ \t]*\r?\n)[^\n]*)")
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


def _end_of_block(read: Reader, start: int, stop: int, how: tuple[int, bytes]) -> int:
    """Return where a block ends that begins at `start`: at `stop`, or where a sign stands.

    It is of about the wanted size, and larger only where one piece between two signs is.
    """
    size, sign = how
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
    """Return how much of a sign stands on the line before that at which it cuts."""
    return sign.index(b"\n") + 1


def _find_forward(read: Reader, start: int, stop: int, sign: bytes) -> int:
    """Return where a sign first stands between two places, -1 where it does not."""
    while start < stop:
        found = read(start, min(_STEP + len(sign) - 1, stop - start)).find(sign)
        if found >= 0:
            return start + found
        start += _STEP
    return -1


def _find_back(read: Reader, start: int, stop: int, sign: bytes) -> int:
    """Return where a sign last stands between two places, -1 where it does not."""
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

    found = frame_list(head[below:], tail, floats=True)  # a list of resources
    return found._replace(start=start + found.start) if found else None


def _bad_separator(body: bytes) -> int:
    """Return where the line ends that ends a stream early, 0 where there is none."""
    for found in _ODD_SEPARATOR.finditer(b"\n" + body):
        if not is_separator(found[1].decode("utf-8", "replace").removesuffix("\r")):
            return min(found.end(), len(body))
    return 0
