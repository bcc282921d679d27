"""What stands around the items of a large list, found at its two ends without reading the middle.

Only lists as `kubectl get` prints them have a frame: each item begins on a line of its own, in one
column. Whether all between is items shows when they are read, each to its end.
"""

import json
import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kyvsim.kube.json_plain import read_json
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_line import Unusual
from kyvsim.kube.yaml_lines import read_plain

_YAML_ITEMS = re.compile(rb"^items:\n(?=( *)- )", re.MULTILINE)
_JSON_ITEMS = re.compile(rb'"items": ?\[ *\n(?=( *)\{)')
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
    except (ValueError, RecursionError, Unusual):  # bytes that are no text are a ValueError, too
        return None


def _in_yaml(head: bytes, tail: Tail, *, floats: bool) -> Framed | None:
    field = _YAML_ITEMS.search(head)
    if field is None:
        return None
    margin = field[1]
    sign = b"\n" + margin + b"- "
    place, rest = tail(sign)
    after = _AFTER_YAML.search(rest, 1)
    end = after.start() if after else len(rest)
    text = b"".join((head[: field.start()], b"items: []\n", rest[end:]))
    envelope = read_plain(_with_end(text.decode()), floats=floats)
    if envelope is None or envelope.get("items") != []:
        return None
    return Framed(field.end(), place + end, Frame(envelope, sign, len(margin), False))


def _in_json(head: bytes, tail: Tail, *, floats: bool) -> Framed | None:
    field = _JSON_ITEMS.search(head)
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
