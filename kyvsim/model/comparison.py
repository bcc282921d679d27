"""Comparisons of two policy sets, by results and by cases; example objects for rules."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import JsonMap, KubernetesObject, ObjectKey
from kyvsim.model.coverage import Point, Ratio
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Location

# Different results of two policy sets on the same resources.

NO_RESULT = "none"
"""Represents the status of a rule without a result for a resource."""


class SearchBudget(NamedTuple):
    """The limits of a search through cases."""

    cases: int = 10_000
    seconds: float | None = None
    """None for no limit: with one, the answer depends on the machine."""
    first_only: bool = False
    compares: bool = True
    """Whether to look for differences, or only for effects of policies."""
    patience: int | None = None
    """Stop after this many cases without a new kind of result; None for never."""


class ComparedResult(NamedTuple):
    """The result of one set for a resource and a rule."""

    result: str
    message: str
    note: str
    path: str
    """The path of the failed field in the object; "" if unknown."""
    rule_place: Location
    failed_place: Location | None
    """The position of the failure in the manifest, or of the object; None without a failure."""


class Direction(StrEnum):
    """The direction of a difference from the old set to the new one."""

    STRICTER = "stricter"
    LAXER = "laxer"
    NEITHER = "neither"
    """Between two statuses without a failure, or between failure and error."""


class NoResultReason(StrEnum):
    """Why a set has no result for a rule and a resource, while the other set has one."""

    POLICY = "policy"
    RULE = "rule"
    MATCH = "match"
    """The rule exists and does not match this resource."""


class VerdictDifference(NamedTuple):
    """Different results of a rule for a resource; None for a set without a result."""

    policy: str
    rule: str
    type: str
    """The phase, as in reports."""
    old: ComparedResult | None
    new: ComparedResult | None
    missing: NoResultReason | None = None

    @property
    def results(self) -> tuple[str, str]:
        """The statuses of both sets; NO_RESULT if there is none."""
        old = self.old.result if self.old else NO_RESULT
        return old, self.new.result if self.new else NO_RESULT

    @property
    def direction(self) -> Direction:
        """Whether the new set is stricter or less strict."""
        before, after = (_GRAVITY.get(one, 0) for one in self.results)
        if before == after:
            return Direction.NEITHER
        return Direction.STRICTER if after > before else Direction.LAXER


_GRAVITY: Mapping[str, int] = MappingProxyType({"warn": 1, "fail": 2, "error": 2})


class Author(NamedTuple):
    """A rule that changed or created an object, with its position."""

    policy: str
    rule: str
    place: Location


class ObjectEffect(StrEnum):
    """The effect of rules on an object; the value is its name in documents."""

    MUTATED = "mutated"
    GENERATED = "generated"
    PATCHED = "targets"
    """An existing object that was mutated for a resource."""


class ComparedObject(NamedTuple):
    """An object in the final state of one set."""

    object: KubernetesObject
    authors: tuple[Author, ...]
    """The rules that changed it; none if no rule of the set did."""
    settings: JsonMap
    """The settings of the rule for later changes of a generated object."""


class ObjectDifference(NamedTuple):
    """An object that differs between two sets; None for a set that does not create it."""

    effect: ObjectEffect
    key: ObjectKey
    old: ComparedObject | None
    new: ComparedObject | None


class ResourceDifference(NamedTuple):
    """All differences between two sets for a resource."""

    resource: object
    place: Location | None
    verdicts: tuple[VerdictDifference, ...]
    objects: tuple[ObjectDifference, ...]


class UncomparedRule(NamedTuple):
    """A rule without a result in both sets; the position is None for a set without the rule."""

    policy: str
    rule: str
    old: Location | None
    new: Location | None


# Evidence that two policy sets are equivalent, or counterexamples.


class Answer(StrEnum):
    """The conclusion of the evidence."""

    EQUAL = "equal"
    """Equal in all cases, and each rule had all of its outcomes."""
    COUNTEREXAMPLE = "counterexample"
    """Different in a case that is possible in a cluster."""
    NOT_COVERED = "not covered"
    """Equal in all cases, but these do not cover enough."""


class DifferenceKind(StrEnum):
    """The kind of difference between two policy sets."""

    DENIAL_LOST = "denial lost"
    """The old policies deny, the new ones do not."""
    DENIAL_GAINED = "denial gained"
    ENFORCEMENT_LOST = "enforcement lost"
    """Both fail, but the new policies only report it: `Audit`, or an ignored error."""
    ENFORCEMENT_GAINED = "enforcement gained"
    OBJECT = "other object"
    """They mutate the object differently."""
    ORDER = "other order"
    """The mutated objects only differ in the order of lists."""
    GENERATED = "other objects generated"
    """They generate different objects, or mutate different existing ones."""
    DELETION = "deletion"
    """Only one deletes the object."""
    LATER = "other upkeep"
    """It is deleted at other times or in another way, or generated objects are kept differently."""


class Limit(StrEnum):
    """Why a difference is not a counterexample, but limits the equivalence."""

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
        "a precondition fails because a field is missing, for an operation that the new policy "
        "does not match (see condition `requests of other operations`)"
    )
    DELETIONS = (
        "the request is a DELETE, for which the new policy is not evaluated (see condition "
        "`deletions`)"
    )
    READ_AMOUNTS = (
        "a text that is read at run time is neither a number nor a quantity (see condition "
        "`amounts read at run time`)"
    )
    READ_TEXTS = (
        "a text of the object, or one that is read at run time, contains wildcards (see condition "
        "`texts read at run time`)"
    )
    PATTERN_TEXTS = (
        "the object contains the text of a pattern, with its operators, in place of a value: "
        "rules pass a value that equals their pattern"
    )
    ORDER = "only the order of elements in a list differs"
    UNANSWERED = "a policy looks up data that the inputs do not contain"


class CaseResult(NamedTuple):
    """The result of one rule in a case."""

    policy: str
    rule: str
    status: str
    message: str


class Account(NamedTuple):
    """The results and effects of one policy set in a case, with the reason."""

    said: tuple[CaseResult, ...]
    object: KubernetesObject | None
    """The mutated object; None if it is unchanged."""
    generated: tuple[KubernetesObject, ...]
    deleted: bool
    later: tuple[str, ...] = ()
    """Later effects: when and how the object is deleted, how generated objects are kept."""
    decided: str = ""
    place: Location | None = None


class Counterexample(NamedTuple):
    """A minimised case with different results of two policy sets."""

    difference: DifferenceKind
    object: KubernetesObject
    operation: str
    old_object: KubernetesObject | None
    """The object before the update; None if it is created."""
    user: JsonMap | None
    """The user of the request; None for a user without meaning for the policies."""
    namespace_labels: JsonMap | None
    there: tuple[KubernetesObject, ...]
    """Data for lookups by the policies: objects, and image metadata."""
    old: Account
    new: Account
    given: bool
    """Whether the object was given, before it was minimised."""
    limit: Limit | None = None


class SideReached(NamedTuple):
    """The coverage of one policy set by the cases."""

    policies: tuple[str, ...]
    acted: int
    """The number of cases with an effect: denied, mutated, generated, deleted."""
    ratio: Ratio
    unreached: tuple[Point, ...]
    """Points with outcomes that did not occur."""


class Evidence(NamedTuple):
    """The result of comparing two policy sets."""

    answer: Answer
    cases: int
    given: int
    """The number of cases that are given objects without changes."""
    denied: int
    """The number of cases that the old policies denied."""
    counterexamples: tuple[Counterexample, ...]
    limited: tuple[Counterexample, ...]
    """Differences that do not count, one for each reason."""
    reasons: tuple[str, ...]
    """Why the cases do not cover enough."""
    untried: tuple[str, ...]
    """Parts of the policies that no case covers."""
    old: SideReached
    new: SideReached
    identical: bool = False
    """Whether both sides have the same policies."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def unreached(self) -> int:
        """The number of outcomes of both sides that did not occur."""
        points = (*self.old.unreached, *self.new.unreached)
        return sum(not outcome.times for point in points for outcome in point.outcomes)


# Example objects for rules: one that passes, one that fails.


class RuleAction(NamedTuple):
    """An outcome of a rule for an object."""

    policy: str
    rule: str
    """"" for a policy without rules."""
    outcome: str
    """`passed`, `failed`, or `applied` for rules that cannot fail."""
    location: Location


class MissingExample(NamedTuple):
    """An outcome of a rule without an example."""

    doing: RuleAction
    reason: str


class ExampleObject(NamedTuple):
    """An object and the outcomes that it is an example of."""

    object: KubernetesObject
    shows: tuple[RuleAction, ...]
    lookups: tuple[KubernetesObject, ...] = ()
    """Synthesised objects that the policy looks up; without them, it shows something else."""


class Examples(NamedTuple):
    """The examples for some policies."""

    found: tuple[ExampleObject, ...]
    missing: tuple[MissingExample, ...]
    """Outcomes without an example, with the reason."""
    diagnostics: tuple[Diagnostic, ...]
    targets: tuple[KubernetesObject, ...] = ()
    """Synthesised existing objects, for rules that mutate existing objects."""
