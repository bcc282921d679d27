"""A list of objects cut at its items, each a text of its own: what `kubectl get` prints.

It is cut where its items are plain to see, in YAML and in JSON; else it is read as one.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from json import JSONDecoder
from typing import NamedTuple, NoReturn, TypeAlias

from kyvsim.kubernetes.objects import MAP_FIELDS, Json, is_too_deep, may_be_too_deep
from kyvsim.yaml.document import Keys
from kyvsim.yaml.lines import ODD, NeedsFullParser, read_fast
from kyvsim.yaml.scalars import plain_float_value, plain_value
from kyvsim.yaml.text import TextRange, load_first

# One item of a list of objects, and a list cut into such.


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


_ODD_ESCAPE = re.compile(r"\\(?:/|u[dD][89a-fA-F])")
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
    return "\\" not in text or not _ODD_ESCAPE.search(text)


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
_AFTER_YAML = re.compile(rb"^[^ #\n-]", re.MULTILINE)
_AFTER_JSON = re.compile(r"[ \n]*\]")
_ANY_JSON = json.JSONDecoder()


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
    except (
        ValueError,
        RecursionError,
        NeedsFullParser,
    ):  # bytes that are no text are a ValueError, too
        return None


def _in_yaml(head: bytes, tail: Tail, *, floats: bool) -> Framed | None:
    field = re.search(_YAML_ITEMS, head)
    if field is None:
        return None
    margin = field[1]
    sign = b"\n" + margin + b"- "
    place, rest = tail(sign)
    after = _AFTER_YAML.search(rest, 1)
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
    after = _AFTER_JSON.match(text, end)
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
_NEXT = re.compile(r"[ \n]*(?:(,)[ \n]*|\])")
_AFTER_ITEM = re.compile(r"[ \n]*(?:,[ \n]*|\Z)")
_ANY = JSONDecoder()


def cut_json(text: str, *, floats: bool) -> CutList | None:
    """Return a JSON text cut at the items of the list that it is; raises as `json_items` does."""
    first = re.search(_ITEMS_FIELD, text)
    if first is None:
        return None
    items, at, start = [], first.end(), _LineStart(1, 0, 0)
    while True:
        start = _line_start(text, at, start)
        item, at = _json_item(text, at, start, floats=floats)
        items.append(item)
        between = _NEXT.match(text, at)
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
        data, end = None, _ANY.raw_decode(text, start)[1]
    place = TextRange(text, start, end, line.number, shift=start - line.at)
    own = place.text
    if may_be_too_deep(own.count("{") + own.count("[")) and is_too_deep(data):
        raise NeedsFullParser
    is_plain = data.__class__ is dict and is_like_yaml(own)
    return ListItem(data if is_plain else item_fallback(own, floats=floats), place, is_plain), end


def json_items(text: str, *, floats: bool) -> Iterator[ListItem]:
    """Yield the items of a block; raises ValueError, RecursionError or NeedsFullParser."""
    at, start = text.index("{"), _LineStart(1, 0, 0)
    while True:
        start = _line_start(text, at, start)
        item, at = _json_item(text, at, start, floats=floats)
        yield item
        between = _AFTER_ITEM.match(text, at)
        if between is None:
            raise NeedsFullParser
        at = between.end()
        if at == len(text):
            return


_ITEMS = "items:\n"
_FIRST_ITEM = re.compile(_ITEMS + r"( *)- ")
_AFTER_ITEMS = re.compile(r"^[^ #\n-]", re.MULTILINE)


def cut_list(text: str, *, floats: bool = False) -> CutList | None:
    """Return a text of one document cut at the items of the list that it is, or None."""
    try:
        if text.lstrip(" \n").startswith("{"):
            return cut_json(text, floats=floats)
        field = 0 if text.startswith(_ITEMS) else text.find(f"\n{_ITEMS}") + 1
        first = _FIRST_ITEM.match(text, field) if text.startswith(_ITEMS, field) else None
        if first is None:
            return None
        column, start = len(first[1]), first.start(1)
        sign = f"\n{first[1]}- "
        last = text.rfind(sign) + 1
        after = _AFTER_ITEMS.search(text, last + 1)
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
