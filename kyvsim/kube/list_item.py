"""One item of a list of objects, and a list cut into such."""

from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_chunks import Excerpt
from kyvsim.kube.yaml_keys import Keys
from kyvsim.kube.yaml_line import Unusual
from kyvsim.kube.yaml_text import load_first

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


def odd_item(text: str, *, floats: bool) -> Json:
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
