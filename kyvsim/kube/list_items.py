"""A list of objects cut at its items, each a text of its own: what `kubectl get` prints.

It is cut where its items are plain to see, in YAML and in JSON; else it is read as one.
"""

import re
from collections.abc import Iterator

from kyvsim.kube.depth import is_too_deep, may_be_too_deep
from kyvsim.kube.json_plain import is_like_yaml, json_decoder, read_json
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_chunks import Excerpt
from kyvsim.kube.yaml_keys import Keys
from kyvsim.kube.yaml_line import Unusual
from kyvsim.kube.yaml_lines import read_plain
from kyvsim.kube.yaml_text import load_first
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.light.regex import regex
from kyvsim.light.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from kyvsim.kube.list_frame import Frame

_ITEMS = "items:\n"
_FIRST_ITEM = regex(_ITEMS + r"( *)- ")
_AFTER_ITEMS = regex(r"^[^ #\n-]", re.MULTILINE)
_JSON_ITEMS = regex(r'"items": ?\[[ \n]*(?=\{)')
_JSON_NEXT = regex(r"[ \n]*(?:(,)[ \n]*|\])")
_AFTER_ITEM = regex(r"[ \n]*(?:,[ \n]*|\Z)")
_DEEPER = ("\n", "- ", "[", "{")
_DEEPEST = 9_000


class Item(NamedTuple):
    """One item of a list."""

    data: Json
    place: Excerpt
    """What it is written as, in the columns in which it stands."""
    is_plain: bool
    """Whether it is as `read_plain` says."""


class CutList(NamedTuple):
    """A list and its items, which are maps."""

    envelope: dict[str, Json]
    """The list, its `items` empty."""
    items: list[Item]


def cut_list(text: str, *, floats: bool = False) -> CutList | None:
    """Return a text of one document cut at the items of the list that it is, or None."""
    cut = _cut_json if text.lstrip(" \n").startswith("{") else _cut_yaml
    try:
        return cut(text, floats=floats)
    except (ValueError, RecursionError, Unusual):  # YamlError is a ValueError
        return None


def read_text(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map that a text of one document is, by the reader that fits; None for neither."""
    read = read_json if text.lstrip(" \n").startswith("{") else read_plain
    return read(text, floats=floats)


def _cut_yaml(text: str, *, floats: bool) -> CutList | None:
    field = 0 if text.startswith(_ITEMS) else text.find(f"\n{_ITEMS}") + 1
    first = _FIRST_ITEM.match(text, field) if text.startswith(_ITEMS, field) else None
    if first is None:
        return None
    column, start = len(first[1]), first.start(1)
    sign = f"\n{first[1]}- "
    last = text.rfind(sign) + 1
    after = _AFTER_ITEMS.search(text, last + 1)
    end = after.start() if after else len(text)
    envelope = read_plain(f"{text[: first.start()]}items: []\n{text[end:]}", floats=floats)
    if envelope is None or envelope.get("items") != []:
        return None
    line = text.count("\n", 0, start) + 1
    pieces = _pieces(text, start, end, sign)
    return CutList(envelope, list(_yaml_items(text, pieces, (column, line), floats=floats)))


def read_items(text: str, frame: "Frame", *, floats: bool = False) -> Iterator[Item]:
    """Yield the items of a list that a block of its text has; lines are counted from 1 in it.

    Raises ValueError, RecursionError or Unusual where that takes the whole list.
    """
    if frame.is_json:
        yield from _json_items(text, floats=floats)
        return
    pieces = _pieces(text, 0, len(text), frame.sign.decode())
    yield from _yaml_items(text, pieces, (frame.column, 1), floats=floats)


def _yaml_items(
    text: str, pieces: Iterator[tuple[int, int]], place: tuple[int, int], *, floats: bool
) -> Iterator[Item]:
    """Yield the items that pieces of a text are; `place` is their column, and the first line."""
    column, line = place
    for begin, stop in pieces:
        excerpt = Excerpt(text, begin, stop, line, column + 2)
        own = excerpt.text
        data = read_plain(own, floats=floats, column=column + 2)
        is_plain = data is not None
        yield Item(data if is_plain else _odd(own, floats=floats), excerpt, is_plain)
        line += own.count("\n")


def _json_items(text: str, *, floats: bool) -> Iterator[Item]:
    at, counted, line = text.index("{"), 0, 1
    while True:
        line += text.count("\n", counted, at)
        counted = at
        item, at = _json_item(text, at, line, floats=floats)
        yield item
        between = _AFTER_ITEM.match(text, at)
        if between is None:
            raise Unusual
        at = between.end()
        if at == len(text):
            return


def _pieces(text: str, start: int, end: int, sign: str) -> Iterator[tuple[int, int]]:
    while start < end:
        following = text.find(sign, start, end)
        following = end if following < 0 else following + 1
        yield start, following
        start = following


def _odd(text: str, *, floats: bool) -> Json:
    """Return an item as libyaml reads it for itself; raises ValueError.

    Whatever is open at its end, or known from elsewhere, is an error then. What counts in the whole
    document is left to who reads it as one: depth, and how much aliases bring.
    """
    if "&" in text or "*" in text or sum(map(text.count, _DEEPER)) > _DEEPEST:
        raise Unusual
    found = load_first(text, floats=floats, keys=Keys.ONCE)
    if found.ignored_line or found.data.__class__ is not dict:
        raise Unusual
    return found.data


def _cut_json(text: str, *, floats: bool) -> CutList | None:
    first = _JSON_ITEMS.search(text)
    if first is None:
        return None
    items, at, counted, line = [], first.end(), 0, 1
    while True:
        line += text.count("\n", counted, at)
        counted = at
        item, at = _json_item(text, at, line, floats=floats)
        items.append(item)
        between = _JSON_NEXT.match(text, at)
        if between is None:
            return None
        at = between.end()
        if not between[1]:
            break
    envelope = read_json(f'{text[: first.start()]}"items": []{text[at:]}', floats=floats)
    return CutList(envelope, items) if envelope and envelope.get("items") == [] else None


def _json_item(text: str, start: int, line: int, *, floats: bool) -> tuple[Item, int]:
    """Return the item that begins at `start`, and where it ends; raises ValueError and Unusual."""
    margin = start - text.rfind("\n", 0, start) - 1
    try:
        data, end = json_decoder(floats=floats).raw_decode(text, start)
    except Unusual:
        from json import JSONDecoder  # noqa: PLC0415 — loaded by then, and not before

        data, end = None, JSONDecoder().raw_decode(text, start)[1]
    place = Excerpt(text, start - margin, end, line, margin)
    own = place.text
    if may_be_too_deep(own.count("{") + own.count("[")) and is_too_deep(data):
        raise Unusual
    is_plain = data.__class__ is dict and is_like_yaml(own)
    return Item(data if is_plain else _odd(own, floats=floats), place, is_plain), end
