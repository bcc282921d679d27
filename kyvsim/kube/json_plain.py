"""JSON texts read by `json`, where that gives what libyaml gives: it is five times as quick."""

import re
from collections.abc import Callable
from functools import lru_cache
from json import JSONDecoder
from typing import NoReturn

from kyvsim.kube.depth import is_too_deep, may_be_too_deep
from kyvsim.kube.objects import MAP_FIELDS, Json
from kyvsim.kube.yaml_line import ODD, Unusual
from kyvsim.kube.yaml_scalars import plain_float_value, plain_value

_ODD_ESCAPE = re.compile(r"\\(?:/|u[dD][89a-fA-F])")
_BLANK_BEFORE_COLON = re.compile(r":(?<=[ \n]:)")
"""Begins with the colon, of which a text has fewer than blanks: a fifth of the time."""
_MOST_KEYS = 1_000
"""Characters in the keys of a map: libyaml takes no key of over 1,024."""


def is_like_yaml(text: str) -> bool:
    """Return whether the parts of a JSON text that `json` can read are to libyaml what they are."""
    if "\t" in text or "\r" in text or "\x7f" in text or _BLANK_BEFORE_COLON.search(text):
        return False
    if not text.isascii() and ODD.search(text.replace("\n", "")):
        return False
    return "\\" not in text or not _ODD_ESCAPE.search(text)


@lru_cache(maxsize=2)
def json_decoder(*, floats: bool) -> "JSONDecoder":
    """Return what decodes texts that are like YAML; it raises ValueError and Unusual.

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
    raise Unusual


def _map(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unusual
    for field in _map_fields(tuple(found)):
        if found[field] is None:
            raise Unusual
    return found


@lru_cache(maxsize=1 << 10)
def _map_fields(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the keys of a map that may not be null; raises Unusual for long ones."""
    if len("".join(keys)) > _MOST_KEYS:
        raise Unusual
    return tuple(MAP_FIELDS.intersection(keys))


def read_json(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map that a JSON text is, as `load_one` does; None where that is not plain to see.

    If it is, then it is as `read_plain` says.
    """
    if not is_like_yaml(text):
        return None
    try:
        found = json_decoder(floats=floats).decode(text)
    except (ValueError, RecursionError, Unusual):
        return None
    if may_be_too_deep(text.count("{") + text.count("[")) and is_too_deep(found):
        return None
    return found if found.__class__ is dict else None
