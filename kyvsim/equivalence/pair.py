"""Two policy sets evaluated on the same case, and why a difference may not count."""

import json
from collections.abc import Callable
from typing import NamedTuple

from kyvsim.equivalence.cases import Case
from kyvsim.equivalence.field_rules import is_accepted, type_of, with_spec
from kyvsim.equivalence.lookups import is_image
from kyvsim.equivalence.objects import unwrapped, with_template_metadata
from kyvsim.equivalence.policy_runner import CaseEffect, CaseWorld, PolicyRunner
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.kubernetes.validation import problems_of
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.model.comparison import DifferenceKind, Limit
from kyvsim.model.request import Operation
from kyvsim.patch.merge_types import FindType
from kyvsim.simulator.api_server.defaults import with_defaults

# How the results of two policy sets in one case differ.


def difference(old: CaseEffect, new: CaseEffect) -> DifferenceKind | None:
    """Return what differs most between two effects, None where nothing does."""
    if old.denied != new.denied:
        return DifferenceKind.DENIAL_LOST if old.denied else DifferenceKind.DENIAL_GAINED
    if old.deleted != new.deleted:
        return DifferenceKind.DELETION
    if old.blocked != new.blocked:
        return DifferenceKind.ENFORCEMENT_LOST if old.blocked else DifferenceKind.ENFORCEMENT_GAINED
    if old.blocked:
        return None  # what is denied is not stored; what is only reported is
    if old.object != new.object:
        same = _unordered(old.object) == _unordered(new.object)
        return DifferenceKind.ORDER if same else DifferenceKind.OBJECT
    if old.generated != new.generated:
        same = _unordered([*old.generated]) == _unordered([*new.generated])
        return DifferenceKind.ORDER if same else DifferenceKind.GENERATED
    return None if old.later == new.later else DifferenceKind.LATER


def _unordered(value: Json) -> Json:
    """Return a value whose lists are in an order of their own."""
    if value.__class__ is dict:
        return {name: _unordered(one) for name, one in value.items()}
    if value.__class__ is list:
        return sorted(map(_unordered, value), key=lambda one: json.dumps(one, sort_keys=True))
    return value


UNDERIVED = "ReplicationController"
"""The controller for which nothing is derived from policies in CEL."""
_SIGNS = frozenset("*?|&!<>=- ")
"""What makes a pattern of a text."""
_AS_REFUSED = frozenset({None, DifferenceKind.ENFORCEMENT_LOST, DifferenceKind.ENFORCEMENT_GAINED})
"""What differs at most where both sides refuse the same."""


class Verdicts(NamedTuple):
    """What both sides do in a case."""

    old: CaseEffect
    new: CaseEffect

    @property
    def difference(self) -> DifferenceKind | None:
        """What differs most, None where nothing does."""
        return difference(self.old, self.new)


class CaseDifference(NamedTuple):
    """A difference in a case, and its assessment."""

    difference: DifferenceKind
    accepted: bool
    """Whether an API server would hand the object to policies as it is."""
    limit: Limit | None
    """Why it does not count."""
    refusals: tuple[frozenset[str], ...]
    """The failing statuses of either side, whatever its rules are called."""


class PolicyPair:
    """Two sides, and what knows the types of objects."""

    def __init__(
        self,
        old: PolicyRunner,
        new: PolicyRunner,
        case_world: CaseWorld,
        find: FindType,
        conditions: frozenset[Limit] = frozenset(),
        patterns: frozenset[str] = frozenset(),
    ) -> None:
        """Take `find`, which tells the types of objects, and `conditions`, which are known to hold.

        These were named when one side was converted to the other: what differs where they do not
        hold is no counterexample. `patterns` are the texts with operators that either side writes.
        """
        self.old = old
        self.new = new
        self.find = find
        self._case_world = case_world
        self._conditions = conditions
        self._patterns = patterns

    @property
    def reached(self) -> int:
        """How many different answers the parts of both gave so far."""
        return self.old.reached + self.new.reached

    @property
    def opened(self) -> int:
        """How many parts of both were evaluated so far."""
        return self.old.opened + self.new.opened

    def run(self, case: Case) -> Verdicts:
        """Return what either does in a case."""
        request = self._case_world.request(case)
        return Verdicts(self.old.effect(request, case), self.new.effect(request, case))

    def finding(self, case: Case, verdicts: Verdicts) -> CaseDifference | None:
        """Return the difference in a case; None if both results are equal."""
        found = verdicts.difference
        if found is None:
            return None
        accepted = self._is_accepted(case)
        refusals = tuple(
            frozenset(one.status for one in effect.said) - {"pass", "skip"} for effect in verdicts
        )
        limit = self._limit(case, verdicts, found)
        if limit is None and not accepted:
            limit = Limit.NOT_ACCEPTED
        if limit is None:
            limit = self._limit_of_texts(case)
        if limit is None and case.unusual and type_of(case.object, self.find) is None:
            limit = Limit.UNTYPED
        if limit is None and self._agrees_on_defaults(case):
            limit = Limit.DEFAULTS
        return CaseDifference(found, accepted, limit, refusals)

    def _is_accepted(self, case: Case) -> bool:
        """Return whether an API server would take all objects of a case, and the change of one."""
        there = (one for one in case.there if not is_image(one))
        old = () if case.old is None else (case.old,)
        if not all(is_accepted(one, self.find) for one in (case.object, *old, *there)):
            return False
        return not (old and any(problems_of(case.object, case.old)))

    def _limit(self, case: Case, verdicts: Verdicts, found: DifferenceKind) -> Limit | None:
        if any(effect.unanswered for effect in verdicts):
            return Limit.UNANSWERED
        if found is DifferenceKind.ORDER:
            return Limit.ORDER
        if self._tolerates(case):
            return Limit.EXISTING
        if Limit.OTHER_OPERATIONS in self._conditions and _is_of_other_operation(case, verdicts):
            return Limit.OTHER_OPERATIONS
        is_deletion = case.operation is Operation.DELETE and not verdicts.new.said
        if Limit.DELETIONS in self._conditions and is_deletion:
            return Limit.DELETIONS
        if Limit.READ_AMOUNTS in self._conditions and _ends_in_errors(verdicts):
            return Limit.READ_AMOUNTS
        return Limit.REPLICATION_CONTROLLERS if self._derives_less(case, verdicts) else None

    def _agrees_on_defaults(self, case: Case) -> bool:
        """Return whether both do the same where an API server has filled in defaults.

        Objects that were inputs count as they are.
        """
        if case.given:
            return False
        whole = self._completed(case.object)
        old = None if case.old is None else self._completed(case.old)
        there = tuple(one if is_image(one) else self._completed(one) for one in case.there)
        if whole == case.object and old == case.old and there == case.there:
            return False
        return self.run(case._replace(object=whole, old=old, there=there)).difference is None

    def _completed(self, obj: Json) -> Json:
        """Return an object as an API server hands it on, with its defaults."""
        kind = type_of(obj, self.find)
        return with_template_metadata(with_spec(with_defaults(obj), kind))

    def _tolerates(self, case: Case) -> bool:
        """Return whether it is that one side lets old violations pass on an update."""
        if case.operation is not Operation.UPDATE or not self._has_tolerant_rules():
            return False
        created = (
            case._replace(object=one, operation=Operation.CREATE, old=None)
            for one in (case.object, case.old)
        )
        return all(effect.denied for one in created for effect in self.run(one))

    def _has_tolerant_rules(self) -> bool:
        return any(
            rule.tolerates_violations
            for side in (self.old, self.new)
            for policy in side.policies.policies
            for rule in policy.rules
        )

    def _limit_of_texts(self, case: Case) -> Limit | None:
        """Return whether only the reading of strings differs: wildcards, whole patterns."""
        if Limit.READ_TEXTS in self._conditions and self._depends_on(case, has_wildcard):
            return Limit.READ_TEXTS
        if self._patterns and self._depends_on(case, self._patterns.__contains__):
            return Limit.PATTERN_TEXTS
        return None

    def _depends_on(self, case: Case, meant: Callable[[str], bool]) -> bool:
        """Return whether both do the same once plain texts stand for some."""
        plain = case._replace(
            object=_with_plain_texts(case.object, meant),
            old=_with_plain_texts(case.old, meant),
            there=tuple(_with_plain_texts(one, meant) for one in case.there),
        )
        return plain != case and self.run(plain).difference is None

    def _derives_less(self, case: Case, verdicts: Verdicts) -> bool:
        """Return whether it is that one side has nothing for a ReplicationController."""
        if text_field(case.object, "kind") != UNDERIVED:
            return False
        pod = unwrapped(case.object)
        silent = [effect for effect in verdicts if not effect.said]
        return (
            len(silent) == 1
            and pod is not None
            and self.run(case._replace(object=pod)).difference in _AS_REFUSED
        )


def _is_of_other_operation(case: Case, verdicts: Verdicts) -> bool:
    """Return whether the new side is not about an operation for which the old one ends in errors.

    Errors are all that the old side refuses with.
    """
    refused = {one.status for one in verdicts.old.said} - {"pass", "skip"}
    return case.operation is not Operation.CREATE and refused == {"error"} and not verdicts.new.said


def _ends_in_errors(verdicts: Verdicts) -> bool:
    """Return whether only the new side refuses, and with nothing but errors of reading texts."""
    refused = [one for one in verdicts.new.said if one.status not in {"pass", "skip"}]
    return not verdicts.old.denied and all(
        one.status == "error" and ("conversion error" in one.message or "quantit" in one.message)
        for one in refused
    )


def _with_plain_texts(value: Json, meant: Callable[[str], bool]) -> Json:
    """Return a value with letters in place of all but letters and digits in some of its texts."""
    if value.__class__ is dict:
        return {name: _with_plain_texts(one, meant) for name, one in value.items()}
    if value.__class__ is list:
        return [_with_plain_texts(one, meant) for one in value]
    if value.__class__ is not str or not meant(value):
        return value
    return "".join("x" if one in _SIGNS else one for one in value)
