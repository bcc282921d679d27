"""The items of a list of objects that is written in JSON, each a text of its own."""

import re
from collections.abc import Iterator
from json import JSONDecoder
from typing import NamedTuple

from kyvsim.kube.depth import is_too_deep, may_be_too_deep
from kyvsim.kube.json_plain import is_like_yaml, json_decoder, read_json
from kyvsim.kube.list_item import CutList, Item, odd_item
from kyvsim.kube.yaml_chunks import Excerpt
from kyvsim.kube.yaml_line import Unusual

_ITEMS = re.compile(r'"items": ?\[[ \n]*(?=\{)')
_NEXT = re.compile(r"[ \n]*(?:(,)[ \n]*|\])")
_AFTER_ITEM = re.compile(r"[ \n]*(?:,[ \n]*|\Z)")
_ANY = JSONDecoder()


def cut_json(text: str, *, floats: bool) -> CutList | None:
    """Return a JSON text cut at the items of the list that it is; raises as `json_items` does."""
    first = _ITEMS.search(text)
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


def _json_item(text: str, start: int, line: _LineStart, *, floats: bool) -> tuple[Item, int]:
    """Return the item that begins at `start`, and where it ends; raises ValueError and Unusual."""
    try:
        data, end = json_decoder(floats=floats).raw_decode(text, start)
    except Unusual:
        data, end = None, _ANY.raw_decode(text, start)[1]
    place = Excerpt(text, start, end, line.number, shift=start - line.at)
    own = place.text
    if may_be_too_deep(own.count("{") + own.count("[")) and is_too_deep(data):
        raise Unusual
    is_plain = data.__class__ is dict and is_like_yaml(own)
    return Item(data if is_plain else odd_item(own, floats=floats), place, is_plain), end


def json_items(text: str, *, floats: bool) -> Iterator[Item]:
    """Yield the items that a block of a list has; raises ValueError, RecursionError or Unusual."""
    at, start = text.index("{"), _LineStart(1, 0, 0)
    while True:
        start = _line_start(text, at, start)
        item, at = _json_item(text, at, start, floats=floats)
        yield item
        between = _AFTER_ITEM.match(text, at)
        if between is None:
            raise Unusual
        at = between.end()
        if at == len(text):
            return
