"""What did not match, and where: built only when a check fails.

A place is known when a pattern is compiled but for the list indices in it. So a failing leaf knows
its place, and every list that the failure passes on its way out adds one index in front.

upstream: pkg/engine/validate (PatternError) and pkg/engine/anchor/error.go.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

Place: TypeAlias = tuple[str, ...]
"""Pieces of a path; a list index stands between each two: ("/spec/containers/", "/image/")."""
Indices: TypeAlias = tuple[int, ...]

ROOT: Final[Place] = ("/",)

CONDITIONAL = "conditional anchor mismatch"
GLOBAL = "global anchor mismatch"
NEGATED = "negation anchor matched in resource"
_COMMON = "anchor m"
"""Part of all three phrases: most texts are cleared by looking for it alone."""


class FailureKind(Enum):
    """What a mismatch means for the rule."""

    SKIP = "skip"
    """A conditional or global anchor did not match: the rule does not apply."""
    FAIL = "fail"
    """The object breaks the pattern at `PatternFailure.path`."""
    ERROR = "error"
    """The object breaks the pattern, but an anchor's key never occurred: there is no path."""


class Weight(Enum):
    """How a mismatch acts on the anchors around it."""

    PLAIN = "plain"
    SKIP = "skip"
    NEGATION = "negation"


class Mismatch(NamedTuple):
    """One failed check, on its way out of the pattern."""

    weight: Weight
    place: Place | None
    """None where upstream reports no path."""
    text: Callable[[Indices], str]
    indices: Indices = ()
    collected: bool = False
    """Whether it stands for the mismatches of a whole map or list."""


class PatternFailure(NamedTuple):
    """Why an object does not match a pattern."""

    kind: FailureKind
    path: str
    """Such as `/spec/containers/0/image/`; empty unless `kind` is FAIL."""
    mismatch: Mismatch

    @property
    def message(self) -> str:
        """Upstream's text of the mismatch; made when asked, since few results show it."""
        return self.mismatch.text(self.mismatch.indices)


def weigh(text: str) -> Weight:
    """Return the weight of a plain error's text.

    upstream: an error that lost its type is told by the words in it, even where they come from
    the object or the pattern.
    """
    if _COMMON not in text:
        return Weight.PLAIN
    if CONDITIONAL in text or GLOBAL in text:
        return Weight.SKIP
    return Weight.NEGATION if NEGATED in text else Weight.PLAIN


def below(place: Place, key: str) -> Place:
    """Return the place of `key` in the map at `place`."""
    return (*place[:-1], f"{place[-1]}{key}/")


def inside(place: Place) -> Place:
    """Return the place of the elements of the list at `place`."""
    return (*place, "/")


def path_text(place: Place, indices: Indices) -> str:
    """Return the path of a place, with the list indices filled in."""
    path = place[0]
    for at, index in enumerate(indices, 1):
        path += f"{index}{place[at]}"
    return path


def in_element(mismatch: Mismatch, index: int) -> Mismatch:
    """Return a mismatch of a list's element as one of the list."""
    weight, place, text, indices, collected = mismatch
    return Mismatch(weight, place, text, (index, *indices), collected)


def collect(mismatches: Sequence[Mismatch], place: Place) -> Mismatch:
    """Return one skipping mismatch for several, with their texts joined."""
    found = tuple(mismatches)

    def text(indices: Indices) -> str:
        return "; ".join(each.text(indices + each.indices) for each in found)

    return Mismatch(Weight.SKIP, place, text, (), collected=True)


def skipping(mismatch: Mismatch, prefix: str) -> Mismatch:
    """Return a mismatch under a conditional or global anchor as that anchor's own."""
    inner = mismatch.text
    return Mismatch(
        Weight.SKIP, mismatch.place, lambda indices: f"{prefix}: {inner(indices)}", mismatch.indices
    )
