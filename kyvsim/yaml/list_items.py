"""Lists of objects cut at their items, and streams cut into blocks of documents or items.

What `kubectl get` prints is cut where its items are plain to see, in YAML and in JSON; else it is
read as one.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from json import JSONDecoder
from typing import NamedTuple, NoReturn, TypeAlias

from kyvsim.kubernetes.objects import MAP_FIELDS, Json, is_too_deep, may_be_too_deep
from kyvsim.yaml.document import Keys
from kyvsim.yaml.lines import ODD, NeedsFullParser, read_fast
from kyvsim.yaml.scalars import plain_float_value, plain_value
from kyvsim.yaml.text import TextRange, is_separator, load_first

_DEEPER = ("\n", "- ", "[", "{")
_DEEPEST = 9_000


class ListItem(NamedTuple):
    """One item of a list."""

    data: Json
    place: TextRange
    """What it is written as, in the columns in which it stands."""
    is_plain: bool
    """Whether it is as `read_fast` says."""


class CutList(NamedTuple):
    """A list and its items, which are maps."""

    envelope: dict[str, Json]
    """The list, its `items` empty."""
    items: list[ListItem]


def item_fallback(text: str, *, floats: bool) -> Json:
    """Return an item as libyaml reads it for itself; raises ValueError.

    Whatever is open at its end, or known from elsewhere, is an error then. What counts in the whole
    document is left to who reads it as one: depth, and how much aliases bring.
    """
    if "&" in text or "*" in text or sum(map(text.count, _DEEPER)) > _DEEPEST:
        raise NeedsFullParser
    found = load_first(text, floats=floats, keys=Keys.ONCE)
    if found.ignored_line or found.data.__class__ is not dict:
        raise NeedsFullParser
    return found.data


# JSON texts read by `json`, where that gives what libyaml gives: it is five times as quick.


_ODD_ESCAPE = r"\\(?:/|u[dD][89a-fA-F])"
_BLANK_BEFORE_COLON = re.compile(r":(?<=[ \n]:)")
"""Begins with the colon, of which a text has fewer than blanks: a fifth of the time."""
_MOST_KEYS = 1_000
"""Characters in the keys of a map: libyaml takes no key of over 1,024."""


def is_like_yaml(text: str) -> bool:
    """Return whether the parts of a JSON text that `json` can read are to libyaml what they are."""
    if "\t" in text or "\r" in text or "\x7f" in text or _BLANK_BEFORE_COLON.search(text):
        return False
    if not text.isascii() and re.search(ODD, text.replace("\n", "")):
        return False
    return "\\" not in text or not re.search(_ODD_ESCAPE, text)


@lru_cache(maxsize=2)
def json_decoder(*, floats: bool) -> "JSONDecoder":
    """Return what decodes texts that are like YAML; it raises ValueError and NeedsFullParser.

    `floats` is as for `load_one`. No key is there twice, and none of MAP_FIELDS is null.
    """
    value_of: Callable[[str], Json] = plain_float_value if floats else plain_value
    return JSONDecoder(
        parse_int=value_of,
        parse_float=value_of,
        parse_constant=_refuse,
        object_pairs_hook=_map,
    )


def _refuse(_constant: str) -> NoReturn:
    raise NeedsFullParser


def _map(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NeedsFullParser
    for field in _map_fields(tuple(found)):
        if found[field] is None:
            raise NeedsFullParser
    return found


@lru_cache(maxsize=1 << 10)
def _map_fields(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of a map that may not be null; raises NeedsFullParser for long ones."""
    if len("".join(keys)) > _MOST_KEYS:
        raise NeedsFullParser
    return tuple(MAP_FIELDS.intersection(keys))


def read_json(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map that a JSON text is, as `load_one` does; None where that is not plain to see.

    If it is, then it is as `read_fast` says.
    """
    if not is_like_yaml(text):
        return None
    try:
        found = json_decoder(floats=floats).decode(text)
    except (ValueError, RecursionError, NeedsFullParser):
        return None
    if may_be_too_deep(text.count("{") + text.count("[")) and is_too_deep(found):
        return None
    return found if found.__class__ is dict else None


# What stands around the items of a large list, found at its two ends without reading the middle.
#
# Only lists as `kubectl get` prints them have a frame: each item begins on a line of its own, in
# one column. Whether all between is items shows when they are read, each to its end.


_YAML_ITEMS = rb"(?m)^items:\n(?=( *)- )"
_JSON_ITEMS = rb'"items": ?\[ *\n(?=( *)\{)'
_AFTER_YAML = rb"(?m)^[^ #\n-]"
_AFTER_JSON = r"[ \n]*\]"
_ANY_JSON = JSONDecoder()


class Frame(NamedTuple):
    """A list without its items."""

    envelope: dict[str, Json]
    """The list, its `items` empty."""
    sign: bytes
    """What stands before each item but the first: the break, and what its line begins with."""
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


def frame_list(head: bytes, tail: Tail, *, floats: bool = False) -> Framed | None:
    """Return where the items of a list are that begins with `head`; None where that is not plain.

    `floats` is as for `load_one`.
    """
    find = _in_json if head.lstrip(b" \n").startswith(b"{") else _in_yaml
    try:
        return find(head, tail, floats=floats)
    except (ValueError, RecursionError, NeedsFullParser):  # bytes that are no text are ValueErrors
        return None


def _in_yaml(head: bytes, tail: Tail, *, floats: bool) -> Framed | None:
    field = re.search(_YAML_ITEMS, head)
    if field is None:
        return None
    margin = field[1]
    sign = b"\n" + margin + b"- "
    place, rest = tail(sign)
    after = re.compile(_AFTER_YAML).search(rest, 1)
    end = after.start() if after else len(rest)
    text = b"".join((head[: field.start()], b"items: []\n", rest[end:]))
    envelope = read_fast(_with_end(text.decode()), floats=floats)
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
    _, end = _ANY_JSON.raw_decode(text, len(margin))
    after = re.compile(_AFTER_JSON).match(text, end)
    if after is None:
        return None
    whole = f'{head[: field.start()].decode()}"items": []{text[after.end() :]}'
    envelope = read_json(whole, floats=floats)
    if envelope is None or envelope.get("items") != []:
        return None
    size = len(text[:end].encode())
    return Framed(field.end(), place + size, Frame(envelope, sign, len(margin), True))


def _with_end(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


# The items of a list of objects that is written in JSON, each a text of its own.


_ITEMS_FIELD = r'"items": ?\[[ \n]*(?=\{)'
_NEXT = r"[ \n]*(?:(,)[ \n]*|\])"
_AFTER_ITEM = r"[ \n]*(?:,[ \n]*|\Z)"


def cut_json(text: str, *, floats: bool) -> CutList | None:
    """Return a JSON text cut at the items of the list that it is; raises as `json_items` does."""
    first = re.search(_ITEMS_FIELD, text)
    if first is None:
        return None
    find_next = re.compile(_NEXT)
    items, at, start = [], first.end(), _LineStart(1, 0, 0)
    while True:
        start = _line_start(text, at, start)
        item, at = _json_item(text, at, start, floats=floats)
        items.append(item)
        between = find_next.match(text, at)
        if between is None:
            return None
        at = between.end()
        if not between[1]:
            break
    envelope = read_json(f'{text[: first.start()]}"items": []{text[at:]}', floats=floats)
    return CutList(envelope, items) if envelope and envelope.get("items") == [] else None


class _LineStart(NamedTuple):
    """The line on which something begins."""

    number: int
    at: int
    """Where the line begins."""
    known: int
    """How much of the text was read for this."""


def _line_start(text: str, at: int, before: _LineStart) -> _LineStart:
    """Return the line of a place, counted from that of an earlier one."""
    breaks = text.count("\n", before.known, at)
    start = text.rfind("\n", before.known, at) + 1 if breaks else before.at
    return _LineStart(before.number + breaks, start, at)


def _json_item(text: str, start: int, line: _LineStart, *, floats: bool) -> tuple[ListItem, int]:
    """Return the item at `start` and its end; raises ValueError and NeedsFullParser."""
    try:
        data, end = json_decoder(floats=floats).raw_decode(text, start)
    except NeedsFullParser:
        data, end = None, _ANY_JSON.raw_decode(text, start)[1]
    place = TextRange(text, start, end, line.number, shift=start - line.at)
    own = place.text
    if may_be_too_deep(own.count("{") + own.count("[")) and is_too_deep(data):
        raise NeedsFullParser
    is_plain = data.__class__ is dict and is_like_yaml(own)
    return ListItem(data if is_plain else item_fallback(own, floats=floats), place, is_plain), end


def json_items(text: str, *, floats: bool) -> Iterator[ListItem]:
    """Yield the items of a block; raises ValueError, RecursionError or NeedsFullParser."""
    find_next = re.compile(_AFTER_ITEM)
    at, start = text.index("{"), _LineStart(1, 0, 0)
    while True:
        start = _line_start(text, at, start)
        item, at = _json_item(text, at, start, floats=floats)
        yield item
        between = find_next.match(text, at)
        if between is None:
            raise NeedsFullParser
        at = between.end()
        if at == len(text):
            return


_ITEMS = "items:\n"
_FIRST_ITEM = _ITEMS + r"( *)- "
_AFTER_ITEMS = r"(?m)^[^ #\n-]"


def cut_list(text: str, *, floats: bool = False) -> CutList | None:
    """Return a text of one document cut at the items of the list that it is, or None."""
    try:
        if text.lstrip(" \n").startswith("{"):
            return cut_json(text, floats=floats)
        field = 0 if text.startswith(_ITEMS) else text.find(f"\n{_ITEMS}") + 1
        first = (
            re.compile(_FIRST_ITEM).match(text, field) if text.startswith(_ITEMS, field) else None
        )
        if first is None:
            return None
        column, start = len(first[1]), first.start(1)
        sign = f"\n{first[1]}- "
        last = text.rfind(sign) + 1
        after = re.compile(_AFTER_ITEMS).search(text, last + 1)
        end = after.start() if after else len(text)
        envelope = read_fast(f"{text[: first.start()]}items: []\n{text[end:]}", floats=floats)
        if envelope is None or envelope.get("items") != []:
            return None
        line = text.count("\n", 0, start) + 1
        pieces = _pieces(text, start, end, sign)
        return CutList(envelope, list(_yaml_items(text, pieces, (column, line), floats=floats)))
    except (ValueError, RecursionError, NeedsFullParser):  # YamlError is a ValueError
        return None


def read_text(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map that a text of one document is, by the reader that fits; None for neither."""
    if not text.lstrip(" \n").startswith("{"):
        return read_fast(text, floats=floats)
    return read_json(text, floats=floats)


def read_items(text: str, frame: Frame, *, floats: bool = False) -> Iterator[ListItem]:
    """Yield the items of a list that a block of its text has; lines are counted from 1 in it.

    Raises ValueError, RecursionError or NeedsFullParser where that takes the whole list.
    """
    if frame.is_json:
        yield from json_items(text, floats=floats)
        return
    pieces = _pieces(text, 0, len(text), frame.sign.decode())
    yield from _yaml_items(text, pieces, (frame.column, 1), floats=floats)


def _yaml_items(
    text: str, pieces: Iterator[tuple[int, int]], place: tuple[int, int], *, floats: bool
) -> Iterator[ListItem]:
    """Yield the items that pieces of a text are; `place` is their column, and the first line."""
    column, line = place
    for begin, stop in pieces:
        excerpt = TextRange(text, begin, stop, line, column + 2)
        own = excerpt.text
        data = read_fast(own, floats=floats, column=column + 2)
        is_plain = data is not None
        yield ListItem(data if is_plain else item_fallback(own, floats=floats), excerpt, is_plain)
        line += own.count("\n")


def _pieces(text: str, start: int, end: int, sign: str) -> Iterator[tuple[int, int]]:
    while start < end:
        following = text.find(sign, start, end)
        following = end if following < 0 else following + 1
        yield start, following
        start = following


# A stream of bytes cut into blocks of whole documents, or of items of a list, without parsing it.
#
# Blocks are read, one after the other, as the stream is as a whole. What is no plain list, or a
# document that is large otherwise, is a block of its own.

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
    for found in re.finditer(_ODD_SEPARATOR, b"\n" + body):
        if not is_separator(found[1].decode("utf-8", "replace").removesuffix("\r")):
            return min(found.end(), len(body))
    return 0
