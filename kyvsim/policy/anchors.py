"""Anchors of pattern keys: `(key)`, `=(key)`, `X(key)`, `^(key)`, `<(key)` and `+(key)`.

upstream: pkg/engine/anchor/anchor.go and pkg/engine/validate/utils.go.
"""

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from kyvsim.kubernetes.wildcard import SPACE
from kyvsim.policy.tree import PatternEntry, PatternMap, PatternNode

CONDITION: Final = ""
GLOBAL: Final = "<"
NEGATION: Final = "X"
ADDITION: Final = "+"
EQUALITY: Final = "="
EXISTENCE: Final = "^"


class Demand(Enum):
    """The requirement of a pattern's entry on the object's field."""

    FIT = "fit"
    """The value matches that of the entry."""
    ELEMENTS = "elements"
    """For each of the entry's patterns, an element of the list matches."""
    PRESENCE = "presence"
    """The field exists and is not null."""
    ABSENCE = "absence"
    """The field does not exist."""


class Lack(Enum):
    """The effect of a missing field on an entry of a validation pattern."""

    NULL = "null"
    """The entry is checked as if the field were null."""
    FREE = "free"
    """The entry is not checked."""
    SKIP = "skip"
    """The rule does not apply."""


class AnchorKind(NamedTuple):
    """The meaning of an anchor in a validation pattern."""

    name: str
    """The name in messages."""
    demand: Demand = Demand.FIT
    lack: Lack = Lack.FREE
    skips: bool = False
    """Whether a mismatch means that the rule does not apply."""
    first: bool = True
    """Whether it is checked before all keys without an anchor."""
    tracked: bool = False
    """Whether a failure is an error if no checked object had the key."""


PLAIN: Final = AnchorKind("", lack=Lack.NULL, first=False)
"""The meaning of a key without an anchor."""
ANCHORS: Final[Mapping[str, AnchorKind]] = {
    CONDITION: AnchorKind("conditional", lack=Lack.SKIP, skips=True, tracked=True),
    GLOBAL: AnchorKind("global", skips=True, first=False),
    NEGATION: AnchorKind("negation", Demand.ABSENCE),
    EQUALITY: AnchorKind("equality"),
    EXISTENCE: AnchorKind("existence", Demand.ELEMENTS, tracked=True),
    # It is for patches. Validation expects a field with the name `+(key)`.
    ADDITION: PLAIN,
}
"""By the sign before the parentheses."""
IN_VALIDATION: Final = frozenset(sign for sign, kind in ANCHORS.items() if kind is not PLAIN)
"""The signs of the anchors that validation patterns may have."""

_SYNTAX = re.compile(rf"([{re.escape(''.join(ANCHORS))}]?)\((.+)\)")


class Anchor(NamedTuple):
    """An anchored key: the sign before the parentheses ("" for a condition), and the bare key."""

    sign: str
    key: str

    def __str__(self) -> str:
        return f"{self.sign}({self.key})"


@lru_cache(maxsize=1024)
def parse_anchor(text: str) -> Anchor | None:
    """Return the anchor of a pattern's key, or None for a key without anchor."""
    if ")" not in text:
        return None
    found = _SYNTAX.fullmatch(text.strip(SPACE))
    return None if found is None else Anchor(found[1], found[2])


def kind_of(entry: PatternEntry) -> AnchorKind:
    """Return the kind of an entry's anchor in a validation pattern."""
    return PLAIN if entry.anchor is None else ANCHORS[entry.anchor]


def demand_of(entry: PatternEntry) -> Demand:
    """Return the requirement of an entry in a validation pattern."""
    kind = kind_of(entry)
    return Demand.PRESENCE if kind is PLAIN and entry.value.data == "*" else kind.demand


def field_of(entry: PatternEntry) -> str:
    """Return the object's field that an entry of a validation pattern checks."""
    return entry.text if kind_of(entry) is PLAIN else entry.key


def is_tracking(pattern: PatternNode) -> bool:
    """Return whether a pattern has an anchor whose kind is `tracked`."""
    return any(ANCHORS[sign].tracked for sign in pattern.anchors)


def may_skip(entry: PatternEntry) -> bool:
    """Return whether a mismatch of an entry may mean that the rule does not apply."""
    return kind_of(entry).skips or any(ANCHORS[sign].skips for sign in entry.value.anchors)


def checking_order(
    pattern: PatternMap,
) -> tuple[tuple[PatternEntry, ...], tuple[PatternEntry, ...]]:
    """Return the entries of both phases in the order in which they are checked.

    First the anchors, sorted with their signs. Then the others: sorted, but each key that is a
    global anchor or contains anchors precedes all previous keys.
    """
    first: list[PatternEntry] = []
    early: list[PatternEntry] = []
    late: list[PatternEntry] = []
    for entry in sorted(pattern.entries, key=lambda entry: entry.text):
        if kind_of(entry).first:
            first.append(entry)
        elif kind_of(entry) is not PLAIN or not IN_VALIDATION.isdisjoint(entry.value.anchors):
            early.insert(0, entry)
        else:
            late.append(entry)
    return tuple(first), (*early, *late)
