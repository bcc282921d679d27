"""A list of objects cut at its items, each a text of its own: what `kubectl get` prints.

It is cut where its items are plain to see, in YAML and in JSON; else it is read as one.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kube.json_plain import is_like_yaml, json_decoder, read_json
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_line import Unusual
from kyvsim.kube.yaml_lines import read_plain

_ITEMS = "items:\n"
_FIRST_ITEM = re.compile(_ITEMS + r"( *)- ")
_AFTER_ITEMS = re.compile(r"^[^ #\n-]", re.MULTILINE)
_JSON_ITEMS = re.compile(r'"items": ?\[[ \n]*(?=\{)')
_JSON_NEXT = re.compile(r"[ \n]*(?:(,)[ \n]*|\])")


class Item(NamedTuple):
    """One item of a list."""

    data: Json
    text: str
    """What it is written as, in the columns in which it stands."""
    line: int
    """The line of the list at which the text begins, counted from 1."""


class CutList(NamedTuple):
    """A list and its items, which are maps and as `read_plain` says."""

    envelope: dict[str, Json]
    """The list, its `items` empty."""
    items: list[Item]


def cut_list(text: str, *, floats: bool = False) -> CutList | None:
    """Return a text of one document cut at the items of the list that it is, or None."""
    try:
        if text.lstrip(" \n").startswith("{"):
            return _cut_json(text, floats=floats) if is_like_yaml(text) else None
        return _cut_yaml(text, floats=floats)
    except (ValueError, RecursionError, Unusual):
        return None


def read_text(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map that a text of one document is, by the reader that fits; None for neither."""
    read = read_json if text.lstrip(" \n").startswith("{") else read_plain
    return read(text, floats=floats)


def _cut_yaml(text: str, *, floats: bool) -> CutList | None:
    place = 0 if text.startswith(_ITEMS) else text.find(f"\n{_ITEMS}") + 1
    first = _FIRST_ITEM.match(text, place)
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
    items, line = [], text.count("\n", 0, start) + 1
    for piece in _pieces(text, start, end, sign):
        own = f"{first[1]}  {piece[column + 2 :]}"
        data = read_plain(own, floats=floats, column=column + 2)
        if data is None:
            return None
        items.append(Item(data, own, line))
        line += own.count("\n")
    return CutList(envelope, items)


def _pieces(text: str, start: int, end: int, sign: str) -> Iterator[str]:
    while start < end:
        following = text.find(sign, start, end)
        following = end if following < 0 else following + 1
        yield text[start:following]
        start = following


def _cut_json(text: str, *, floats: bool) -> CutList | None:
    first = _JSON_ITEMS.search(text)
    if first is None:
        return None
    decode = json_decoder(floats=floats).raw_decode
    items, at, counted, line = [], first.end(), 0, 1
    while True:
        data, end = decode(text, at)
        if data.__class__ is not dict:
            return None
        line += text.count("\n", counted, at)
        counted = at
        column = at - text.rfind("\n", 0, at) - 1
        items.append(Item(data, f"{' ' * column}{text[at:end]}", line))
        between = _JSON_NEXT.match(text, end)
        if between is None:
            return None
        at = between.end()
        if not between[1]:
            break
    envelope = read_json(f'{text[: first.start()]}"items": []{text[at:]}', floats=floats)
    return CutList(envelope, items) if envelope and envelope.get("items") == [] else None
