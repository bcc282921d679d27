"""One rule, converted: what policies in CEL are put together of."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.exceptions import Excepted
from kyvsim.migrate.matching import Matching
from kyvsim.migrate.rules import Entry


class Part(NamedTuple):
    """One rule, converted."""

    place: int
    rule: str
    """The name of the rule as it is written."""
    level: str | None
    """Which controllers it was derived for, "" for Pods; None for all of them."""
    kind: str
    """The kind of the policy that it becomes a part of."""
    matching: Matching
    fields: Mapping[str, Json]
    """What the policy says beside its entries on account of the rule."""
    conditions: tuple[tuple[str, str], ...]
    variables: Mapping[str, str]
    entries: tuple[Entry, ...]
    excepted: Excepted = ()
    variant: str = ""
    """What tells it from others of the same rule, by what they do where it fails."""

    @property
    def group(self) -> tuple[object, ...]:
        """What rules must share to stand in one policy."""
        matching, fields = str(self.matching.constraints), str(self.fields)
        return (self.kind, matching, fields, self.conditions, self.excepted, self.variant)
