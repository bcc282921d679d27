"""A change of a policy, a kind of changes, and where in a policy they can be made."""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.source import Path

# The words between the walk through a policy and the kinds of change.


class PartKind(Enum):
    """What a part of a policy is, whatever the kind of policy."""

    REMOVABLE = "removable"
    """A field or an element of a list that can be removed."""
    CHOICE = "choice"
    """The field `any` or `all` around several filters or conditions."""
    CONDITION = "condition"
    """A condition with an operator."""
    FIELD = "field"
    """A field of a pattern or patch, which may be written as an anchor."""
    PATTERN = "pattern"
    """A value of a pattern: an operator, alternatives, wildcards, a constant."""
    CONSTANT = "constant"
    """A value that is held against others, or written into objects."""
    LEVEL = "level"
    """A level of the Pod Security Standards."""
    EXPRESSION = "expression"
    """The text of a CEL expression."""


class MutationPoint(NamedTuple):
    """A part of a policy that can be changed."""

    part: PartKind
    path: Path
    """The way to it in the policy's document."""
    value: Json
    """The value there."""
    name: str = ""
    """The name of an element of a list: `condition`, `filter`, …; "" to show its value."""


# A change of a policy, and a kind of changes.


class PolicyChange(NamedTuple):
    """A policy's document with one place changed."""

    path: Path
    """Where it is changed."""
    was: str
    """What stood there, in words."""
    now: str
    """The new value, in words; "" if it is removed."""
    data: Json
    """The document as it is then."""
    offset: int = -1
    """Which character of the text at the path it begins with; -1 for the whole."""


class MutationKind(NamedTuple):
    """A kind of changes."""

    name: str
    """What is changed, in words: `operator of a condition`."""
    parts: frozenset[PartKind]
    """Which parts of policies it changes."""
    changes: Callable[[MutationPoint, Json], Iterator[PolicyChange]]
    """Yields the changes at a part of a document."""
