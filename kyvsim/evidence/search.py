"""Goes through the cases that a space holds, led by what they reach in the policies.

A case that makes a part of a policy answer as it never did is kept, and all changes are tried on
it, too. So the search comes behind conditions that have to hold together. First come cases in which
a part was asked for the first time, then, on the others, the changes that mattered elsewhere: with
many cases that is enough. What is left is tried as long as the budget lasts, and told where it does
not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import IntEnum
from heapq import heappop, heappush

from kyvsim.evidence.acceptance import is_accepted
from kyvsim.evidence.answers import Answers
from kyvsim.evidence.case import Case
from kyvsim.evidence.edits import Edit, edits
from kyvsim.evidence.pair import Finding, Pair, Verdicts
from kyvsim.evidence.seeds import CONTROLLERS, POD, smallest, wrapped
from kyvsim.evidence.side import Effect
from kyvsim.evidence.space import Space
from kyvsim.evidence.types import keys_meant, leads_somewhere, of_one_shape, type_of
from kyvsim.kube.discovery import KindTable
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, object_key
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.model.request import Operation

_SORTS = frozenset({"Deployment", "CronJob"})
"""What is derived for controllers is derived for these two: all others are like the first."""


class Budget(NamedTuple):
    """When to stop, finished or not."""

    cases: int
    seconds: float
    clock: Callable[[], float]
    """Tells seconds that pass."""
    first_only: bool = False
    """Whether one difference that counts is enough."""


class Disagreement(NamedTuple):
    """A case in which the two sides do not do the same."""

    case: Case
    finding: Finding


class Tried(NamedTuple):
    """What came of a search."""

    cases: tuple[Case, ...]
    """Those that reached something new."""
    total: int
    given: int
    """How many of all were given as they are."""
    denied: int
    """How often the old policies denied."""
    acted: tuple[int, int]
    """How often either side did anything."""
    let_pass: tuple[bool, bool]
    """Whether either side let an object be created that an API server would take."""
    answered: tuple[bool, bool]
    """Whether all that either side looks up was ever there."""
    disagreements: tuple[Disagreement, ...]
    """One of each sort."""
    finished: bool
    """Whether the budget was enough for an answer."""
    ended: bool
    """Whether it was enough for all that there was to be tried."""


_MANY = 5000
"""After so many cases those that are like others need not all be tried for an answer."""


class _Turn(IntEnum):
    """When a case is changed further."""

    OPENING = 0
    """A part of the policies was asked that never was before: all changes are tried at once."""
    MATTERING = 1
    """Only changes that mattered on other cases are tried."""
    REST = 2
    """All others are."""


class _Rank(NamedTuple):
    """The order in which cases are changed: the least first."""

    turn: _Turn
    gain: int
    """How many new answers there were, below 0."""
    place: int
    """Where it stands among those that are kept."""


class Search:
    """One search."""

    def __init__(self, pair: Pair, space: Space, kinds: KindTable, budget: Budget) -> None:
        self._pair = pair
        self._space = space
        self._kinds = kinds
        self._budget = budget
        self._ends = budget.clock() + budget.seconds
        self._answers = Answers(space, kinds, pair.find)
        self._known: set[str] = set()
        self._signatures: set[tuple[object, ...]] = set()
        self._kept: list[Case] = []
        self._waiting: list[_Rank] = []
        """Those of them that are still to be changed."""
        self._mattering: set[int] = set()
        """The changes, by their ids, of which something that was kept came."""
        self._leading: list[Case] = []
        """Those of them that are the first in what both sides say."""
        self._changes: dict[tuple[str, str], tuple[list[Edit], list[Edit]]] = {}
        self._harmless: dict[str, Json] = {}
        """By kind an object that both sides let pass."""
        self._found: dict[tuple[object, ...], Disagreement] = {}
        self._finished = False
        """Whether enough was tried of what a cluster can come to."""
        self._ended = False
        self._denied = 0
        self._acted = [0, 0]
        self._let_pass = [False, False]
        self._answered = [False, False]

    def run(self, given: Sequence[Json]) -> Tried:
        """Return what comes of trying the given objects and those that can be made."""
        with suppress(_SpentError):
            with suppress(_EnoughError):
                self._go(given)
            self._ended = True
        return Tried(
            cases=tuple(self._kept),
            total=len(self._known),
            given=len(given),
            denied=self._denied,
            acted=(self._acted[0], self._acted[1]),
            let_pass=(self._let_pass[0], self._let_pass[1]),
            answered=(self._answered[0], self._answered[1]),
            disagreements=tuple(self._found.values()),
            finished=self._ended or (self._finished and len(self._known) >= _MANY),
            ended=self._ended,
        )

    def _go(self, given: Sequence[Json]) -> None:
        for obj in given:
            self._try(Case(obj, user=self._space.user, given=True))
        for kind in self._space.kinds:
            self._try(Case(smallest(kind, self._kinds), user=self._space.user))
        first = self._kept[:]
        for case, turn in self._growing():
            self._finished |= turn is _Turn.REST
            if turn is not _Turn.REST:
                for one in (*self._controllers(case), *self._requests(case)):
                    self._try(one)
            chosen = self._edits(case.object)[0]
            if turn is _Turn.MATTERING:
                chosen = [one for one in chosen if id(one) in self._mattering]
            self._change(case, chosen)
            self._change_answers(case, turn)
        # What suits no type comes last, and on the first objects only: clusters do not see it.
        self._finished = True
        for case in first:
            self._change(case._replace(odd=True), self._edits(case.object)[1])

    def _growing(self) -> Iterator[tuple[Case, _Turn]]:
        """Yield the creations that are kept, and other requests that open something.

        Those too that are kept meanwhile.
        Of those whose turn it is the first is the one that reached most: it met what others lack.
        """
        while self._waiting:
            rank = heappop(self._waiting)
            if rank.turn is _Turn.MATTERING:
                heappush(self._waiting, rank._replace(turn=_Turn.REST))
            yield self._kept[rank.place], rank.turn

    def _change(self, case: Case, changes: Iterable[Edit]) -> None:
        for edit in changes:
            changed = edit(case.object)
            if changed is case.object or changed.__class__ is not dict:
                continue
            if self._try(case._replace(object=changed, given=False)):
                self._mattering.add(id(edit))

    def _change_answers(self, case: Case, turn: _Turn) -> None:
        """Try a case with other answers to what is looked up in it."""
        for edit, changed in self._answers.changed(case):
            is_due = turn is not _Turn.MATTERING or edit is None or id(edit) in self._mattering
            if is_due and self._try(changed) and edit is not None:
                self._mattering.add(id(edit))

    def _edits(self, obj: Json) -> tuple[list[Edit], list[Edit]]:
        """Return the changes that can be made to objects of a kind, odd ones apart."""
        key = object_key(obj)
        kind = (key.api_version, key.kind)
        if kind not in self._changes:
            root = type_of(obj, self._pair.find)
            places = self._space.places
            ways = list(of_one_shape(places)) if root is None else [*places]
            sizes = self._space.sizes
            both = [
                edits(root, way, places[way], sizes.get(way, ()))
                for way in ways
                if leads_somewhere(root, way)
            ]
            both += [edits(root, way, ()) for way in keys_meant(root, places) if way not in places]
            self._changes[kind] = (
                [edit for plain, _ in both for edit in plain],
                [edit for _, odd in both for edit in odd],
            )
        return self._changes[kind]

    def _controllers(self, case: Case) -> Iterator[Case]:
        """Yield controllers of the Pod that a case is about.

        These are of every kind where the Pod is the first that both sides answer in their way.
        """
        key = object_key(case.object)
        is_pod = (split_api_version(key.api_version)[0], key.kind) == POD
        if not is_pod or case.operation is not Operation.CREATE:
            return
        every = case in self._leading
        for kind in self._space.kinds:
            is_wanted = every or kind.kind in _SORTS or kind.kind not in self._space.derived
            if is_wanted and (kind.group, kind.kind) in CONTROLLERS:
                yield case._replace(object=wrapped(case.object, kind), given=False)

    def _requests(self, case: Case) -> Iterator[Case]:
        """Yield other requests for the object of a case, unless it is one for all controllers."""
        is_derived = object_key(case.object).kind in self._space.derived
        if is_derived or case.operation is not Operation.CREATE:
            return
        for user in self._space.users:
            yield case._replace(user=user, given=False)
        for labels in self._space.namespace_labels:
            yield case._replace(namespace_labels=labels, given=False)
        harmless = self._harmless.get(object_key(case.object).kind)
        for old in (case.object, *((harmless,) if harmless else ())):
            yield case._replace(operation=Operation.UPDATE, old=old, given=False)
        yield case._replace(operation=Operation.DELETE, given=False)

    def _try(self, case: Case) -> bool:
        """Ask both sides; return whether the case is kept, having reached something new."""
        identity = case.identity
        if identity in self._known:
            return False
        if len(self._known) >= self._budget.cases or self._budget.clock() > self._ends:
            raise _SpentError
        self._known.add(identity)
        reached, opened = self._pair.reached, self._pair.opened
        verdicts = self._pair.ask(case)
        self._count(case, verdicts)
        said = tuple(_statuses(effect) for effect in verdicts)
        signature = (object_key(case.object).kind, case.operation, said)
        is_new = signature not in self._signatures
        self._signatures.add(signature)
        gain = self._pair.reached - reached
        if is_new or gain:
            opens = self._pair.opened > opened
            self._keep(case, verdicts, gain, opens=opens, is_new=is_new)
            self._leading += (case,) if is_new else ()
        if is_new or gain or case.there:
            asked = dict.fromkeys(key for effect in verdicts for key in effect.open)
            for answered in self._answers.answered(case, asked):
                self._try(answered)
        return bool(is_new or gain)

    def _keep(
        self, case: Case, verdicts: Verdicts, gain: int, *, opens: bool, is_new: bool
    ) -> None:
        is_creation = case.operation is Operation.CREATE
        if is_creation or opens:
            comes_first = opens or (is_new and is_creation)
            is_sound = case.given or is_accepted(case.object, self._pair.find)
            turn = _Turn.OPENING if comes_first and is_sound else _Turn.MATTERING
            heappush(self._waiting, _Rank(turn, -gain, len(self._kept)))
        self._kept.append(case)
        if is_creation and not any(one.denied for one in verdicts):
            self._harmless.setdefault(object_key(case.object).kind, case.object)

    def _count(self, case: Case, verdicts: Verdicts) -> None:
        self._denied += verdicts.old.denied
        for number, effect in enumerate(verdicts):
            self._acted[number] += effect.acts
            self._answered[number] |= effect.answered
            is_first = case.operation is Operation.CREATE and not self._let_pass[number]
            if is_first and not effect.denied:
                self._let_pass[number] = is_accepted(case.object, self._pair.find)
        finding = self._pair.finding(case, verdicts)
        if finding is not None:
            rules = tuple(_refusals(effect) for effect in verdicts)
            sort = (finding, rules, case.operation)
            self._found.setdefault(sort, Disagreement(case, finding))
            if self._budget.first_only and finding.limit is None:
                raise _EnoughError


class _SpentError(Exception):
    """The budget has come to its end."""


class _EnoughError(Exception):
    """What is looked for is found."""


def _statuses(effect: Effect) -> tuple[tuple[str, str, str], ...]:
    return tuple((one.policy, one.rule, one.status) for one in effect.said)


def _refusals(effect: Effect) -> tuple[tuple[str, str, str], ...]:
    return tuple(one for one in _statuses(effect) if one[2] not in {"pass", "skip"})
