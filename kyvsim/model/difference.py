"""What two sets of policies say otherwise of the same resources."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey
from kyvsim.model.source import Location

NO_RESULT = "none"
"""What stands for the status of a rule that has no result for a resource."""


class ComparedResult(NamedTuple):
    """What one set says of a resource by one rule."""

    result: str
    message: str
    note: str
    path: str
    """Where in the object a check failed; "" where that is not known."""
    rule_place: Location
    failed_place: Location | None
    """Where in the manifest it failed, at least where the object is; None where it did not."""


class Direction(StrEnum):
    """Which way a verdict goes from the old set to the new one."""

    STRICTER = "stricter"
    LAXER = "laxer"
    NEITHER = "neither"
    """From one verdict without a fault to another, or from a failure to an error."""


class NoResultReason(StrEnum):
    """Why a set says nothing of a resource by a rule that the other set says something by."""

    POLICY = "policy"
    """It has no such policy."""
    RULE = "rule"
    """Its policy has no such rule."""
    MATCH = "match"
    """The rule is there and had nothing to say of this resource."""


class VerdictDifference(NamedTuple):
    """A rule that says something else of a resource; None where a set says nothing by it."""

    policy: str
    rule: str
    type: str
    """The phase, as reports name it."""
    old: ComparedResult | None
    new: ComparedResult | None
    missing: NoResultReason | None = None
    """Why one of them is None."""

    @property
    def results(self) -> tuple[str, str]:
        """The statuses of both sets, NO_RESULT for none."""
        old = self.old.result if self.old else NO_RESULT
        return old, self.new.result if self.new else NO_RESULT

    @property
    def direction(self) -> Direction:
        """Whether it finds more fault than before, or less."""
        before, after = (_GRAVITY.get(one, 0) for one in self.results)
        if before == after:
            return Direction.NEITHER
        return Direction.STRICTER if after > before else Direction.LAXER


_GRAVITY: Mapping[str, int] = MappingProxyType({"warn": 1, "fail": 2, "error": 2})


class Author(NamedTuple):
    """A rule that changed or created an object, and where it stands."""

    policy: str
    rule: str
    place: Location


class ObjectEffect(StrEnum):
    """What rules did to an object; the value is the name in documents."""

    MUTATED = "mutated"
    GENERATED = "generated"
    PATCHED = "targets"
    """An existing object, changed on behalf of a resource."""


class ComparedObject(NamedTuple):
    """An object as one set leaves it."""

    object: Json
    authors: tuple[Author, ...]
    """Those who made it so; none where no rule of the set changed it."""
    settings: Mapping[str, Json]
    """What the rule says about later changes of a generated object."""


class ObjectDifference(NamedTuple):
    """An object that two sets leave otherwise; None where a set does not make it."""

    effect: ObjectEffect
    key: ObjectKey
    old: ComparedObject | None
    new: ComparedObject | None


class ResourceDifference(NamedTuple):
    """All that two sets say otherwise of a resource."""

    resource: Json
    place: Location | None
    verdicts: tuple[VerdictDifference, ...]
    objects: tuple[ObjectDifference, ...]


class UncomparedRule(NamedTuple):
    """A rule by which neither set had anything to say; None where a set does not have it."""

    policy: str
    rule: str
    old: Location | None
    new: Location | None
