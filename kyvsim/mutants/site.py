"""The words between the walk through a policy and the kinds of change."""

from enum import Enum
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.model.source import Path


class Part(Enum):
    """What a part of a policy is, whatever the kind of policy."""

    REMOVABLE = "removable"
    """A field or an element of a list without which the policy still says something."""
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


class Site(NamedTuple):
    """A part of a policy that can be changed."""

    part: Part
    path: Path
    """The way to it in the policy's document."""
    value: Json
    """What stands there."""
    name: str = ""
    """What an element of a list is called: `condition`, `filter`, …; "" where its value tells."""
