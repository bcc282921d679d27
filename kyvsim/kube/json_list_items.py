"""The items of a list of objects that is written in JSON, each a text of its own."""

from collections.abc import Iterator
from json import JSONDecoder

from kyvsim.kube.depth import is_too_deep, may_be_too_deep
from kyvsim.kube.json_plain import is_like_yaml, json_decoder, read_json
from kyvsim.kube.list_item import CutList, Item, odd_item
from kyvsim.kube.yaml_chunks import Excerpt
from kyvsim.kube.yaml_line import Unusual
from kyvsim.light.regex import regex

_ITEMS = regex(r'"items": ?\[[ \n]*(?=\{)')
_NEXT = regex(r"[ \n]*(?:(,)[ \n]*|\])")
_AFTER_ITEM = regex(r"[ \n]*(?:,[ \n]*|\Z)")
_ANY = JSONDecoder()


def cut_json(text: str, *, floats: bool) -> CutList | None:
    """Return a JSON text cut at the items of the list that it is; raises as `json_items` does."""
    first = _ITEMS.search(text)
    if first is None:
        return None
    items, at, counted, line = [], first.end(), 0, 1
    while True:
        line += text.count("\n", counted, at)
        counted = at
        item, at = _json_item(text, at, line, floats=floats)
        items.append(item)
        between = _NEXT.match(text, at)
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
        data, end = None, _ANY.raw_decode(text, start)[1]
    place = Excerpt(text, start - margin, end, line, margin)
    own = place.text
    if may_be_too_deep(own.count("{") + own.count("[")) and is_too_deep(data):
        raise Unusual
    is_plain = data.__class__ is dict and is_like_yaml(own)
    return Item(data if is_plain else odd_item(own, floats=floats), place, is_plain), end


def json_items(text: str, *, floats: bool) -> Iterator[Item]:
    """Yield the items that a block of a list has; raises ValueError, RecursionError or Unusual."""
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
