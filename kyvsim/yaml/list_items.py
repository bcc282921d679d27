"""Lists of objects cut at their items.

What `kubectl get` prints is cut where its items are plain to see, in YAML and in JSON; else it is
read as one.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from json import JSONDecoder
from typing import NamedTuple, NoReturn

from kyvsim.kubernetes.objects import MAP_FIELDS, Json, is_too_deep, may_be_too_deep
from kyvsim.yaml.document import Keys, read_first
from kyvsim.yaml.lines import ODD, NeedsFullParser, read_fast
from kyvsim.yaml.scalars import plain_float_value, plain_value
from kyvsim.yaml.text import TextRange

_DEEPER = ("\n", "- ", "[", "{")
_DEEPEST = 9_000


class ListItem(NamedTuple):
    """One item of a list."""

    data: Json
    place: TextRange
    """What it is written as, in its columns."""
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
    document is left to its reader: depth, and how much aliases bring.
    """
    if "&" in text or "*" in text or sum(map(text.count, _DEEPER)) > _DEEPEST:
        raise NeedsFullParser
    found = read_first(text, floats=floats, keys=Keys.ONCE)
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

    def refuse(_constant: str) -> NoReturn:
        raise NeedsFullParser

    return JSONDecoder(
        parse_int=value_of, parse_float=value_of, parse_constant=refuse, object_pairs_hook=_map
    )


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


# The items of a list of objects that is written in JSON, each a text of its own.

ANY_JSON = JSONDecoder()
"""Finds where an item ends, whatever it holds."""
_ITEMS_FIELD = r'"items": ?\[[ \n]*(?=\{)'
_NEXT = r"[ \n]*(?:(,)[ \n]*|\])"


def cut_json(text: str, *, floats: bool) -> CutList | None:
    """Return a JSON text cut at the items of the list that it is; raises as `json_item` does."""
    first = re.search(_ITEMS_FIELD, text)
    if first is None:
        return None
    find_next = re.compile(_NEXT)
    items, at, start = [], first.end(), LineStart(1, 0, 0)
    while True:
        start = line_start(text, at, start)
        item, at = json_item(text, at, start, floats=floats)
        items.append(item)
        between = find_next.match(text, at)
        if between is None:
            return None
        at = between.end()
        if not between[1]:
            break
    envelope = read_json(f'{text[: first.start()]}"items": []{text[at:]}', floats=floats)
    return CutList(envelope, items) if envelope and envelope.get("items") == [] else None


class LineStart(NamedTuple):
    """The line on which something begins."""

    number: int
    at: int
    """Where the line begins."""
    known: int
    """How much of the text was read for this."""


def line_start(text: str, at: int, before: LineStart) -> LineStart:
    """Return the line of a place, counted from that of an earlier one."""
    breaks = text.count("\n", before.known, at)
    start = text.rfind("\n", before.known, at) + 1 if breaks else before.at
    return LineStart(before.number + breaks, start, at)


def json_item(text: str, start: int, line: LineStart, *, floats: bool) -> tuple[ListItem, int]:
    """Return the item at `start` and its end; raises ValueError and NeedsFullParser."""
    try:
        data, end = json_decoder(floats=floats).raw_decode(text, start)
    except NeedsFullParser:
        data, end = None, ANY_JSON.raw_decode(text, start)[1]
    place = TextRange(text, start, end, line.number, shift=start - line.at)
    own = place.text
    if may_be_too_deep(own.count("{") + own.count("[")) and is_too_deep(data):
        raise NeedsFullParser
    is_plain = data.__class__ is dict and is_like_yaml(own)
    return ListItem(data if is_plain else item_fallback(own, floats=floats), place, is_plain), end


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
        pieces = pieces_between(text, start, end, sign)
        return CutList(envelope, list(yaml_items(text, pieces, (column, line), floats=floats)))
    except (ValueError, RecursionError, NeedsFullParser):  # YamlError is a ValueError
        return None


def read_text(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map that a text of one document is, by the reader that fits; None for neither."""
    if not text.lstrip(" \n").startswith("{"):
        return read_fast(text, floats=floats)
    return read_json(text, floats=floats)


def yaml_items(
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


def pieces_between(text: str, start: int, end: int, sign: str) -> Iterator[tuple[int, int]]:
    """Yield where the pieces of a text begin and end that is cut before each sign."""
    while start < end:
        following = text.find(sign, start, end)
        following = end if following < 0 else following + 1
        yield start, following
        start = following
