"""Which keys and texts of a strategic merge patch are anchors.

upstream: `pkg/engine/anchor`; in the text of a list's element only conditions count.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.patch.nodes import is_named

_ANCHOR = re.compile(r"([+<=X^])?\((.+)\)")
GLOBAL = frozenset({"<"})
CONDITION = frozenset({""})
CONDITIONS = GLOBAL | CONDITION
ADDITION = frozenset({"+"})
DECIDING = CONDITIONS | ADDITION
"""Those that decide what is left of a patch; other anchors are keys like others."""


class _Anchor(NamedTuple):
    modifier: str
    key: str


@lru_cache(maxsize=4096)
def _parse(key: str) -> _Anchor | None:
    found = _ANCHOR.fullmatch(key.strip())
    return _Anchor(found[1] or "", found[2]) if found else None


def modifier(key: str) -> str | None:
    """Return what stands before the bracket of an anchor; None for a key that is none."""
    anchor = _parse(key) if key.endswith((")", " ", "\t", "\n")) else None
    return anchor.modifier if anchor else None


def anchors_of(fields: Mapping[str, object], kinds: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the written and the bare key of a map's anchors of some kinds."""
    for written in fields:
        anchor = _parse(written)
        if anchor and anchor.modifier in kinds:
            yield written, anchor.key


def has_anchors(patch: Json, kinds: frozenset[str] = DECIDING) -> bool:
    """Tell whether a key below is an anchor of the kinds, or a text looks like a condition."""
    if patch.__class__ is dict:
        return any(
            modifier(key) in kinds or (is_named(value) and has_anchors(value, kinds))
            for key, value in patch.items()
        )
    if patch.__class__ is list:
        return any(has_anchors(item, kinds) for item in patch)
    return patch.__class__ is str and modifier(patch) in CONDITIONS
