"""Comparisons of two policy sets, by results and by cases; objects that show what rules do."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import JsonMap, KubernetesObject, ObjectKey
from kyvsim.model.coverage import Point, Ratio
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Location

# What two sets of policies say otherwise of the same resources.

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
    RULE = "rule"
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

    object: KubernetesObject
    authors: tuple[Author, ...]
    """Those who made it so; none where no rule of the set changed it."""
    settings: JsonMap
    """What the rule says about later changes of a generated object."""


class ObjectDifference(NamedTuple):
    """An object that two sets leave otherwise; None where a set does not make it."""

    effect: ObjectEffect
    key: ObjectKey
    old: ComparedObject | None
    new: ComparedObject | None


class ResourceDifference(NamedTuple):
    """All that two sets say otherwise of a resource."""

    resource: object
    place: Location | None
    verdicts: tuple[VerdictDifference, ...]
    objects: tuple[ObjectDifference, ...]


class UncomparedRule(NamedTuple):
    """A rule by which neither set had anything to say; None where a set does not have it."""

    policy: str
    rule: str
    old: Location | None
    new: Location | None


# What shows that two sets of policies do the same, or where they do not.


class Answer(StrEnum):
    """What the evidence comes to."""

    EQUAL = "equal"
    """They do the same in every case, and each rule had something to do."""
    COUNTEREXAMPLE = "counterexample"
    """They do not do the same in a case that a cluster can come to."""
    NOT_COVERED = "not covered"
    """They do the same in every case, but the cases are not enough to say so."""


class DifferenceKind(StrEnum):
    """What it is that two sets of policies do otherwise."""

    DENIAL_LOST = "denial lost"
    """The old policies deny, the new ones do not."""
    DENIAL_GAINED = "denial gained"
    ENFORCEMENT_LOST = "enforcement lost"
    """Both refuse, but the new policies only report it: `Audit`, or an error that is ignored."""
    ENFORCEMENT_GAINED = "enforcement gained"
    OBJECT = "other object"
    """They change the object in different ways."""
    ORDER = "other order"
    """The changed objects differ in the order of their lists only."""
    GENERATED = "other objects generated"
    """They create other objects, or change other ones."""
    DELETION = "deletion"
    """One would delete the object."""
    LATER = "other upkeep"
    """The same goes at other times or in another way, or what is made is kept otherwise."""


class Limit(StrEnum):
    """Why a difference is not a counterexample, but limits how far two sets are equal."""

    NOT_ACCEPTED = "an API server rejects such an object before policies are evaluated"
    UNTYPED = (
        "the field types of this kind are unknown, and no policy expects a value of this type there"
    )
    DEFAULTS = "both do the same after an API server has set default values"
    EXISTING = (
        "the object was in violation before the update: policies with rules allow that unless "
        "`allowExistingViolations` is false, those in CEL have no such setting"
    )
    REPLICATION_CONTROLLERS = (
        "policies in CEL have no autogen rules for ReplicationControllers, unlike rules"
    )
    OTHER_OPERATIONS = (
        "preconditions end in an error, since something is missing, for an operation that the new "
        "policy is not about: the condition `requests of other operations`"
    )
    DELETIONS = (
        "it is a deletion, for which the new policy is not evaluated: the condition `deletions`"
    )
    READ_AMOUNTS = (
        "a text that is read at run time is no number and no quantity: the condition `amounts read "
        "at run time`"
    )
    READ_TEXTS = (
        "a text of the object, or one that is read at run time, holds wildcards: the condition "
        "`texts read at run time`"
    )
    PATTERN_TEXTS = (
        "the object holds the text of a pattern, operators and all, where a value is meant: rules "
        "let pass what equals their pattern"
    )
    ORDER = "only the order of elements in a list differs"
    UNANSWERED = "a policy looks up data that the inputs do not contain"


class CaseResult(NamedTuple):
    """What one rule said in a case."""

    policy: str
    rule: str
    status: str
    message: str


class Account(NamedTuple):
    """What one set of policies did in a case, and why."""

    said: tuple[CaseResult, ...]
    object: KubernetesObject | None
    """The object as it was changed; None where it stays as it is."""
    generated: tuple[KubernetesObject, ...]
    deleted: bool
    later: tuple[str, ...] = ()
    """What is to come: when and how the object goes, how what was made is kept."""
    decided: str = ""
    place: Location | None = None


class Counterexample(NamedTuple):
    """A case in which two sets of policies do not do the same, made small."""

    difference: DifferenceKind
    object: KubernetesObject
    operation: str
    old_object: KubernetesObject | None
    """The object as it was; None where it is created."""
    user: JsonMap | None
    """Who sends the request; None for somebody of whom no policy speaks."""
    namespace_labels: JsonMap | None
    there: tuple[KubernetesObject, ...]
    """What else there is for the policies to look up: objects, and data of images."""
    old: Account
    new: Account
    given: bool
    """Whether the object is one that was given, before it was made small."""
    limit: Limit | None = None


class SideReached(NamedTuple):
    """What the cases reached of one set of policies."""

    policies: tuple[str, ...]
    acted: int
    """In how many cases it did anything: denied, changed, created, deleted."""
    ratio: Ratio
    unreached: tuple[Point, ...]
    """Points of which not every outcome came up."""


class Evidence(NamedTuple):
    """What came of comparing two sets of policies."""

    answer: Answer
    cases: int
    given: int
    """How many of them are objects that were given, as they are."""
    denied: int
    """In how many the old policies denied."""
    counterexamples: tuple[Counterexample, ...]
    limited: tuple[Counterexample, ...]
    """Differences that do not count, one for each reason."""
    reasons: tuple[str, ...]
    """Why the cases are not enough."""
    untried: tuple[str, ...]
    """What no case looks at."""
    old: SideReached
    new: SideReached
    identical: bool = False
    """Whether both sides consist of the same policies."""
    diagnostics: tuple[Diagnostic, ...] = ()


# Objects that show what rules do: one that passes, one that fails.


class RuleAction(NamedTuple):
    """What a rule does to an object."""

    policy: str
    rule: str
    """"" for a policy without rules of its own."""
    outcome: str
    """`passed`, `failed`, or `applied` for rules that cannot fail."""
    location: Location


class MissingExample(NamedTuple):
    """What a rule does and no object was found for."""

    doing: RuleAction
    reason: str


class ExampleObject(NamedTuple):
    """An object, and what it is an example of."""

    object: KubernetesObject
    shows: tuple[RuleAction, ...]


class Examples(NamedTuple):
    """What was found for some policies."""

    found: tuple[ExampleObject, ...]
    missing: tuple[MissingExample, ...]
    """What no object was found to show, and why."""
    diagnostics: tuple[Diagnostic, ...]
    targets: tuple[KubernetesObject, ...] = ()
    """Objects that were made to be there, for rules that change existing ones."""
