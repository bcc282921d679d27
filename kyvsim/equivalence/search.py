"""A search through the cases of a space, guided by coverage of the policies.

A case is kept if a part of a policy has a new result in it, and all changes are tried on it, too.
In this way, the search satisfies one condition after the other. Cases in which a part was
evaluated for the first time are changed first; then the changes that had an effect elsewhere are
tried on the others, which is enough with many cases. The rest is tried within the budget.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heappop, heappush
from itertools import combinations, product
from math import inf
from typing import NamedTuple

from kyvsim.equivalence.cases import Case, Space, smallest_requests
from kyvsim.equivalence.edits import (
    Edit,
    distinct,
    edit_to,
    edits,
    fits,
    keys_meant,
    samples,
    value_at,
)
from kyvsim.equivalence.field_rules import (
    is_accepted,
    leads_somewhere,
    of_one_shape,
    type_at,
    type_of,
)
from kyvsim.equivalence.lookups import LookupAnswers
from kyvsim.equivalence.objects import CONTROLLERS, POD, KindName, smallest, wrapped
from kyvsim.equivalence.policy_runner import (
    UNDERIVED,
    CaseDifference,
    CaseEffect,
    PolicyPair,
    Verdicts,
)
from kyvsim.kubernetes.discovery import KindTable, split_api_version
from kyvsim.kubernetes.objects import KubernetesObject, object_key
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.model.comparison import SearchBudget
from kyvsim.model.field_reference import FieldPath, Segment
from kyvsim.model.request import Operation

_SORTS = frozenset({"Deployment", "CronJob"})
"""Autogen rules are the same for all controllers except CronJobs: these two are enough."""


class Disagreement(NamedTuple):
    """A case in which the two sides have different effects."""

    case: Case
    finding: CaseDifference


@dataclass
class SearchResult:
    """The result of a search."""

    cases: tuple[Case, ...] = ()
    """The cases with new results."""
    total: int = 0
    given: int = 0
    """How many of the cases were given."""
    denied: int = 0
    acted: list[int] = field(default_factory=lambda: [0, 0])
    """How often either side had any effect."""
    let_pass: list[bool] = field(default_factory=lambda: [False, False])
    """For each side: whether it admitted the creation of a valid object."""
    answered: list[bool] = field(default_factory=lambda: [False, False])
    """For each side: whether all lookups succeeded in at least one case."""
    disagreements: tuple[Disagreement, ...] = ()
    """One of each kind."""
    finished: bool = False
    """Whether the budget was enough for an answer."""
    one_sided: tuple[str, ...] = ()
    """Kinds for which only one side has effects, although no relevant difference was found."""
    ended: bool = False
    """Whether the budget was enough for all cases."""
    stalled: bool = False
    """Whether it stopped because many cases in a row had no new results."""


_MOST_IN_PAIRS = 16
"""How many changes at a path are tried as old and new values of an update."""
_MOST_EQUAL = 4
"""How many places may have the same value for each two of them to be changed together."""
_SCALARS = frozenset({str, int, float, bool})
_CASES_A_LOOK = 16
_MANY = 5000
"""After this many cases, an answer does not require all cases that are similar to others."""


class _Priority(IntEnum):
    """When a case is changed further."""

    OPENING = 0
    """A part of the policies was evaluated for the first time: all changes are tried at once."""
    MATTERING = 1
    """Only changes that had an effect on other cases are tried."""
    REST = 2
    """All other changes are tried."""


class Search:
    """One search."""

    def __init__(
        self,
        pair: PolicyPair,
        space: Space,
        kinds: KindTable,
        budget: SearchBudget,
        clock: Callable[[], float],
    ) -> None:
        self._pair = pair
        self._space = space
        self._kinds = kinds
        self._budget = budget
        self._clock = clock
        self._ends = inf if budget.seconds is None else clock() + budget.seconds
        self._answers = LookupAnswers(space, kinds, pair.find)
        self._known: set[str] = set()
        self._signatures: dict[tuple[object, ...], bool] = {}
        """The kinds of results, and whether a case of each has an object that is accepted."""
        self._kept: list[Case] = []
        self._waiting: list[tuple[_Priority, int, int]] = []
        """Indexes of kept cases that are still to be changed, as a heap: by priority, the negated
        number of new results, and index.
        """
        self._mattering: set[Edit] = set()
        """The changes that led to kept cases."""
        self._leading: list[Case] = []
        """The kept cases with the first results of their kind on both sides."""
        self._changes: dict[tuple[str, str], tuple[list[Edit], list[Edit]]] = {}
        self._checked: tuple[KubernetesObject, bool] | None = None
        """The last object that was checked, and whether a cluster accepts it: other requests for
        the same object follow.
        """
        self._harmless: dict[str, KubernetesObject] = {}
        """By kind, an object that both sides admit."""
        self._found: dict[tuple[object, ...], Disagreement] = {}
        self._kind_effects: defaultdict[str, _KindEffects] = defaultdict(_KindEffects)
        self._last_first = 0
        """The number of cases when the last new kind of result was found."""
        self._finished = False
        """Whether enough cases were tried that can occur in a cluster."""
        self._result = SearchResult()

    def run(self, given: Sequence[KubernetesObject]) -> SearchResult:
        """Try the given objects and generated ones, and return the result."""
        with suppress(_SpentError):
            with suppress(_EnoughError):
                self._search(given)
            self._result.ended = True
        result = self._result
        result.cases, result.total, result.given = tuple(self._kept), len(self._known), len(given)
        result.disagreements = tuple(self._found.values())
        result.finished = result.ended or (self._finished and len(self._known) >= _MANY)
        result.one_sided = tuple(one.kind for one in self._one_sided())
        return result

    def _search(self, given: Sequence[KubernetesObject]) -> None:
        for case in self._openings(given):
            self._try(case._replace(user=self._space.user))
        first = self._kept[:]
        self._grow_waiting(first)
        if not all(self._result.let_pass):
            # If several fields are required, no first change shows which others are missing.
            for kind in self._space.kinds:
                whole = self._filled(smallest(kind, self._kinds), everywhere=True)
                self._try(Case(whole, user=self._space.user))
            self._grow_waiting(first)
        self._round_off()
        # Values of wrong types are last, and only for the first objects: clusters reject them.
        for case in first:
            self._change(case._replace(unusual=True), self._edits(case.object)[1])

    def _grow_waiting(self, first: Sequence[Case]) -> None:
        # Includes creations, and requests with new parts, that are kept in the meantime: first the
        # one with most new results, which met the conditions that others did not.
        while self._waiting:
            priority, gain, place = heappop(self._waiting)
            case = self._kept[place]
            if priority is _Priority.MATTERING:
                heappush(self._waiting, (_Priority.REST, gain, place))
            if priority is _Priority.REST:
                self._round_off()
            self._grow(case, priority, in_pairs=case in first)

    def _grow(self, case: Case, priority: _Priority, *, in_pairs: bool) -> None:
        """Try a case with other requests, and with its changes of this priority."""
        if priority is not _Priority.REST:
            for one in (*self._controllers(case), *self._requests(case)):
                self._try(one)
        chosen = self._edits(case.object)[0]
        if priority is _Priority.MATTERING:
            chosen = [one for one in chosen if one in self._mattering]
        self._change(case, chosen)
        for edit, changed in self._answers.changed(case):
            is_due = priority is not _Priority.MATTERING or edit is None or edit in self._mattering
            if is_due and self._try(changed) and edit is not None:
                self._mattering.add(edit)
        if priority is not _Priority.REST:
            self._change_together(case)
        if priority is _Priority.OPENING:
            self._change_updates(case, in_pairs=in_pairs)

    def _round_off(self) -> None:
        """Try, once, the other cases that are necessary for an answer.

        All later cases are changes that had no effect elsewhere.
        """
        if self._finished:
            return
        self._update_leading()
        if self._budget.compares:
            self._seek_one_sided()
        self._finished = True

    def _openings(self, given: Sequence[KubernetesObject]) -> Iterator[Case]:
        """Yield the first cases: the given objects, and the smallest of each kind."""
        yield from (Case(obj, given=True) for obj in given)
        small = [smallest(kind, self._kinds) for kind in self._space.kinds]
        yield from (Case(one) for one in small)
        # A single change cannot satisfy several conditions on the elements of a list.
        yield from (Case(self._filled(one)) for one in small)
        for part in self._space.parts:
            yield from smallest_requests(part, self._kinds)

    def _filled(self, obj: KubernetesObject, *, everywhere: bool = False) -> KubernetesObject:
        """Return an object with values in all fields of list elements that policies read.

        With `everywhere`, also in all fields outside of lists, and without empty strings.
        """
        root = type_of(obj, self._pair.find)
        fields = (path for path in self._space.places if path and isinstance(path[-1], str))
        for path in sorted(fields, key=len):  # lists before fields of their elements
            is_left_out = not everywhere and Segment.ELEMENT not in path
            if is_left_out or not leads_somewhere(root, path):
                continue
            # Strings with wildcards first, long ones before others: they are whole values.
            values = [one for one in self._space.places[path] if not everywhere or one != ""]
            texts = ((one if isinstance(one, str) else "", one) for one in values)
            ordered = sorted(texts, key=lambda both: (not has_wildcard(both[0]), -len(both[0])))
            plain, _ = edits(root, path, [one for _, one in ordered])
            changed = plain[0](obj) if plain else obj
            obj = changed if changed.__class__ is dict else obj
        return obj

    def _change(self, case: Case, changes: Iterable[Edit]) -> None:
        for edit in changes:
            changed = edit(case.object)
            if changed is case.object or changed.__class__ is not dict:
                continue
            if self._try(case._replace(object=changed, given=False)):
                self._mattering.add(edit)

    def _change_together(self, case: Case) -> None:
        """Set places that have the same value to other values at once: all, and each two of them.

        If a policy compares them with each other, no single change reaches another value for
        which the comparison is true.
        """
        there = [self._answers.places(one) for one in case.there]
        request = {"username": case.user.username, "labels": dict(case.namespace_labels)}
        objects = [case.object, *((case.old,) if case.old else ()), *case.there, request]
        own = len(objects) - len(there) - 1
        root = type_of(case.object, self._pair.find)
        types = [*[root] * own, *map(self._answers.root, case.there), None]
        places = [*[self._space.places] * own, *there, self._request_places()]
        groups: defaultdict[tuple[type, object], list[tuple[int, FieldPath]]] = defaultdict(list)
        for number, obj in enumerate(objects):
            for path in places[number]:
                found = value_at(obj, path)
                if found.__class__ in _SCALARS:
                    groups[found.__class__, found].append((number, path))
        for (kind, now), group in groups.items():
            written = (value for number, path in group for value in places[number][path])
            alike = (one for one in samples(written) if one.__class__ is kind and one != now)
            values = tuple(dict.fromkeys(alike)) if len(group) > 1 else ()
            # In a large group hardly any two places are compared with each other.
            pairs = combinations(group, 2) if 2 < len(group) <= _MOST_EQUAL else ()
            for some, value in product((group, *pairs), values):
                changed = [*objects]
                for number, path in some:
                    if fits(type_at(types[number], path), path, value):
                        changed[number] = edit_to(types[number], path, value)(changed[number])
                self._try(
                    case._replace(
                        object=changed[0],
                        old=changed[1] if case.old else None,
                        there=tuple(changed[own:-1]),
                        user=case.user._replace(username=changed[-1]["username"]),
                        namespace_labels=changed[-1]["labels"],
                        given=False,
                    )
                )

    def _request_places(self) -> Mapping[FieldPath, tuple[object, ...]]:
        """Return the places of requests besides objects, with the values for them."""
        found: defaultdict[FieldPath, tuple[object, ...]] = defaultdict(tuple)
        found["username",] = tuple(one.username for one in self._space.users)
        for labels in self._space.namespace_labels:
            for name, value in labels.items():
                found["labels", name] += (value,)
        return found

    def _change_updates(self, case: Case, *, in_pairs: bool) -> None:
        """Try updates that change only the fields that policies compare with their old values.

        With `in_pairs`, try each pair of old and new value.
        """
        if case.part or case.operation is Operation.DELETE or not self._space.updates:
            return
        update = case._replace(operation=Operation.UPDATE, given=False)
        root = type_of(case.object, self._pair.find)
        for path in self._space.updates:
            if not leads_somewhere(root, path):
                continue
            some = edits(root, path, self._space.places.get(path, ()))[0][:_MOST_IN_PAIRS]
            made = [one for one in (edit(case.object) for edit in some) if one.__class__ is dict]
            states = [case.object, *(one for one in made if one is not case.object)]
            for place, old in enumerate(states):
                for now in states if in_pairs or not place else states[:1]:
                    self._try(update._replace(object=now, old=old))

    def _update_leading(self) -> None:
        """Try all other requests for the objects with the first results of their kind.

        By now there is a harmless object, if there is any, for updates from and to it.
        """
        for case in self._leading[:]:
            if case.operation is not Operation.CREATE or case.part:
                continue
            for one in self._requests(case):
                self._try(one)
            harmless = self._harmless.get(object_key(case.object).kind)
            if harmless is not None:
                update = case._replace(operation=Operation.UPDATE, object=harmless, given=False)
                self._try(update._replace(old=case.object))

    def _seek_one_sided(self) -> None:
        """Try more controllers for which only one side has had results.

        A first object may show no difference, or one that defaults explain. Differences of
        ReplicationControllers do not count, however many are tried.
        """
        for kind in self._one_sided():
            if (kind.group, kind.kind) not in CONTROLLERS or kind.kind == UNDERIVED:
                continue
            pods = [one for one in self._kept if _is_new_pod(one)]
            changed = (
                case._replace(object=made)
                for case in pods
                for made in (edit(case.object) for edit in self._edits(case.object)[0])
                if made is not case.object and made.__class__ is dict and "spec" in made
            )
            for case in (*pods, *changed):
                if self._kind_effects[kind.kind].differs:
                    break
                self._try(case._replace(object=wrapped(case.object, kind), given=False))

    def _one_sided(self) -> list[KindName]:
        """Return the kinds for which one side has effects, and the other has no results.

        Kinds with a known relevant difference are omitted.
        """
        found = []
        for kind in self._space.kinds:
            one = self._kind_effects[kind.kind]
            if one.acts and not one.differs and one.has_results.count(True) == 1:
                found.append(kind)
        return found

    def _edits(self, obj: KubernetesObject) -> tuple[list[Edit], list[Edit]]:
        """Return the changes for objects of a kind, and those that violate its type."""
        key = object_key(obj)
        kind = (key.api_version, key.kind)
        if kind not in self._changes:
            root = type_of(obj, self._pair.find)
            places = self._space.places
            paths = list(of_one_shape(places)) if root is None else [*places]
            sizes = self._space.sizes
            both = [
                edits(root, path, places[path], sizes.get(path, ()))
                for path in paths
                if leads_somewhere(root, path)
            ]
            both += [
                edits(root, path, ()) for path in keys_meant(root, places) if path not in places
            ]
            self._changes[kind] = (
                distinct(edit for plain, _ in both for edit in plain),
                distinct(edit for _, unusual in both for edit in unusual),
            )
        return self._changes[kind]

    def _controllers(self, case: Case) -> Iterator[Case]:
        """Yield controllers of the Pod of a case.

        They are of every kind if the results for the Pod are the first of their kind on both sides.
        """
        if not _is_new_pod(case):
            return
        every = case in self._leading
        for kind in self._space.kinds:
            is_tried = every or kind.kind in _SORTS or kind.kind not in self._space.derived
            if is_tried and (kind.group, kind.kind) in CONTROLLERS:
                yield case._replace(object=wrapped(case.object, kind), given=False)

    def _requests(self, case: Case) -> Iterator[Case]:
        """Yield other requests for the object of a case, except for derived controllers."""
        is_derived = object_key(case.object).kind in self._space.derived
        if is_derived or not (case.operation is Operation.CREATE or case.part):
            return
        for user in self._space.users:
            yield case._replace(user=user, given=False)
        for labels in self._space.namespace_labels:
            yield case._replace(namespace_labels=labels, given=False)
        if case.part:
            return
        harmless = self._harmless.get(object_key(case.object).kind)
        for old in (case.object, *((harmless,) if harmless else ())):
            yield case._replace(operation=Operation.UPDATE, old=old, given=False)
        yield case._replace(operation=Operation.DELETE, given=False)

    def _try(self, case: Case) -> bool:
        """Evaluate both sides; return whether the case has new results and is kept."""
        identity = self._pair.case_world.identity(case)
        if identity in self._known:
            return False
        self._spend()
        self._known.add(identity)
        answers, parts = self._pair.reached()
        verdicts = self._pair.run(case)
        self._count(case, verdicts)
        statuses = tuple(_statuses(effect) for effect in verdicts)
        signature = (object_key(case.object).kind, case.operation, statuses)
        is_new = signature not in self._signatures
        if not self._signatures.get(signature):
            # The first case that a cluster accepts is kept although others had the same results.
            is_sound = case.given or self._is_accepted(case.object)
            is_new = is_new or is_sound
            self._signatures[signature] = is_sound
        more_answers, more_parts = self._pair.reached()
        gain = more_answers - answers
        if is_new or gain:
            opens = more_parts > parts
            self._last_first = len(self._known) if opens or is_new else self._last_first
            self._keep(case, verdicts, gain, opens=opens, is_new=is_new)
            self._leading += (case,) if is_new else ()
        if is_new or gain or case.there:
            lookups = dict.fromkeys(key for effect in verdicts for key in effect.open)
            for answered in self._answers.answered(case, lookups):
                self._try(answered)
        return bool(is_new or gain)

    def _is_accepted(self, obj: KubernetesObject) -> bool:
        if self._checked is None or self._checked[0] is not obj:
            self._checked = (obj, is_accepted(obj, self._pair.find))
        return self._checked[1]

    def _spend(self) -> None:
        """Raise an error if the budget is spent; reading a clock for each case would be slow."""
        count = len(self._known)
        is_late = count % _CASES_A_LOOK == 0 and self._clock() > self._ends
        patience = self._budget.patience
        is_stalled = patience is not None and count - self._last_first > patience
        self._result.stalled = is_stalled
        if count >= self._budget.cases or is_late or is_stalled:
            raise _SpentError

    def _keep(
        self, case: Case, verdicts: Verdicts, gain: int, *, opens: bool, is_new: bool
    ) -> None:
        # The body of a subresource request never exists before.
        is_creation = case.operation is Operation.CREATE or bool(case.part)
        if is_creation or opens:
            comes_first = opens or (is_new and is_creation)
            is_sound = case.given or self._is_accepted(case.object)
            priority = _Priority.OPENING if comes_first and is_sound else _Priority.MATTERING
            heappush(self._waiting, (priority, -gain, len(self._kept)))
        self._kept.append(case)
        if is_creation and not any(one.denied for one in verdicts):
            self._harmless.setdefault(object_key(case.object).kind, case.object)

    def _count(self, case: Case, verdicts: Verdicts) -> None:
        self._result.denied += verdicts.old.denied
        effects = self._kind_effects[object_key(case.object).kind]
        for number, effect in enumerate(verdicts):
            effects.has_results[number] |= bool(effect.results)
            effects.acts |= effect.acts
            self._result.acted[number] += effect.acts
            self._result.answered[number] |= effect.answered
            is_first = not self._result.let_pass[number]
            is_first &= case.operation is Operation.CREATE or bool(case.part)
            if is_first and not effect.denied:
                self._result.let_pass[number] = self._is_accepted(case.object)
        finding = self._pair.finding(case, verdicts) if self._budget.compares else None
        if finding is not None:
            effects.differs |= finding.limit is None
            rules = tuple(
                tuple(one for one in _statuses(effect) if one[2] not in {"pass", "skip"})
                for effect in verdicts
            )
            sort = (finding, rules, case.operation)
            self._found.setdefault(sort, Disagreement(case, finding))
            if self._budget.first_only and finding.limit is None:
                raise _EnoughError


@dataclass
class _KindEffects:
    """The effects of both sides on objects of one kind."""

    has_results: list[bool] = field(default_factory=lambda: [False, False])
    acts: bool = False
    differs: bool = False
    """Whether there is a relevant difference."""


def _is_new_pod(case: Case) -> bool:
    key = object_key(case.object)
    is_pod = (split_api_version(key.api_version)[0], key.kind) == POD
    return is_pod and case.operation is Operation.CREATE and not case.part


class _SpentError(Exception):
    """The budget is spent."""


class _EnoughError(Exception):
    """A relevant difference was found."""


def _statuses(effect: CaseEffect) -> tuple[tuple[str, str, str], ...]:
    """Return the distinct results of rules: image rules have one for each image."""
    return tuple(sorted({(one.policy, one.rule, one.status) for one in effect.results}))
