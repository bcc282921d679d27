"""A list of objects cut at its items, each a text of its own: what `kubectl get` prints.

It is cut where its items are plain to see, in YAML and in JSON; else it is read as one.
"""

import re
from collections.abc import Iterator

from kyvsim.kube.json_list_items import cut_json, json_items
from kyvsim.kube.json_plain import read_json
from kyvsim.kube.list_frame import Frame
from kyvsim.kube.list_item import CutList, Item, odd_item
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_chunks import Excerpt
from kyvsim.kube.yaml_line import Unusual
from kyvsim.kube.yaml_lines import read_plain

_ITEMS = "items:\n"
_FIRST_ITEM = re.compile(_ITEMS + r"( *)- ")
_AFTER_ITEMS = re.compile(r"^[^ #\n-]", re.MULTILINE)


def cut_list(text: str, *, floats: bool = False) -> CutList | None:
    """Return a text of one document cut at the items of the list that it is, or None."""
    try:
        if not text.lstrip(" \n").startswith("{"):
            return _cut_yaml(text, floats=floats)
        return cut_json(text, floats=floats)
    except (ValueError, RecursionError, Unusual):  # YamlError is a ValueError
        return None


def read_text(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map that a text of one document is, by the reader that fits; None for neither."""
    if not text.lstrip(" \n").startswith("{"):
        return read_plain(text, floats=floats)
    return read_json(text, floats=floats)


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


def read_items(text: str, frame: Frame, *, floats: bool = False) -> Iterator[Item]:
    """Yield the items of a list that a block of its text has; lines are counted from 1 in it.

    Raises ValueError, RecursionError or Unusual where that takes the whole list.
    """
    if frame.is_json:
        yield from json_items(text, floats=floats)
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
        yield Item(data if is_plain else odd_item(own, floats=floats), excerpt, is_plain)
        line += own.count("\n")


def _pieces(text: str, start: int, end: int, sign: str) -> Iterator[tuple[int, int]]:
    while start < end:
        following = text.find(sign, start, end)
        following = end if following < 0 else following + 1
        yield start, following
        start = following
