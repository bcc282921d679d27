"""Chooses, among the cases of a search, the smallest objects that show what each rule does."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.evidence.acceptance import is_accepted
from kyvsim.evidence.case import Case
from kyvsim.evidence.pair import Pair
from kyvsim.evidence.shrink import shrunk
from kyvsim.evidence.side import Effect
from kyvsim.kube.objects import Json, metadata, object_key
from kyvsim.model.coverage import Point, PointKind
from kyvsim.model.examples import Doing, Example

_STATUSES: Mapping[str, str] = MappingProxyType(
    {"passed": "pass", "failed": "fail", "applied": "pass"}
)
_REFUSING = frozenset({"fail", "error"})
_PROBES = 2000
"""How often an object is asked for while it is made small."""
_LONGEST_NAME = 63


def doings(points: Iterable[Point]) -> Iterator[Doing]:
    """Yield all that the rules of some policies can do."""
    for point in points:
        for outcome in point.outcomes if point.kind is PointKind.RULE else ():
            yield Doing(point.policy, point.rule, outcome.name, point.location)


def examples(
    wanted: Sequence[Doing], cases: Iterable[Case], pair: Pair
) -> tuple[tuple[Example, ...], tuple[Doing, ...]]:
    """Return an object for each thing that rules do, made small, and what none was found for.

    The policies are the old ones of the pair. One object may show several things.
    """
    usable = [one for one in cases if one.is_plain and is_accepted(one.object, pair.find)]
    told = [(case, pair.ask(case).old) for case in usable]
    found: dict[str, tuple[Json, list[Doing]]] = {}
    missing: list[Doing] = []
    for one in wanted:
        fitting = [(case, effect) for case, effect in told if _shows(one, effect)]
        if not fitting:
            missing.append(one)
            continue
        case, effect = min(fitting, key=_size)
        small = _small(one, case, effect, pair)
        found.setdefault(json.dumps(small, sort_keys=True), (small, []))[1].append(one)
    return tuple(_named(found.values(), pair)), tuple(missing)


def _shows(one: Doing, effect: Effect) -> bool:
    status = _STATUSES[one.outcome]
    told = ((one.policy, one.rule, status) == said[:3] for said in effect.said)
    acts = effect.changed or bool(effect.generated) or effect.deleted
    return any(told) and (one.outcome != "applied" or acts)


def _refusals(effect: Effect) -> frozenset[tuple[str, str]]:
    return frozenset((one.policy, one.rule) for one in effect.said if one.status in _REFUSING)


def _size(one: tuple[Case, Effect]) -> tuple[int, int]:
    """Put cases first in which few rules refuse, of them the small ones."""
    case, effect = one
    return len(_refusals(effect)), len(json.dumps(case.object))


def _small(one: Doing, case: Case, effect: Effect, pair: Pair) -> Json:
    before = _refusals(effect)

    def shows(smaller: Case) -> bool:
        if not is_accepted(smaller.object, pair.find):
            return False
        found = pair.ask(smaller).old
        return _shows(one, found) and _refusals(found) <= before

    return shrunk(case, shows, _PROBES).object


def _named(found: Iterable[tuple[Json, list[Doing]]], pair: Pair) -> Iterator[Example]:
    """Yield objects with names that tell what they show, where the name makes no difference."""
    taken: set[tuple[str, ...]] = set()
    for obj, shown in found:
        named = {**obj, "metadata": {**metadata(obj), "name": _name(shown)}}
        is_free = tuple(object_key(named)) not in taken
        effect = pair.ask(Case(named)).old
        kept = named if is_free and all(_shows(one, effect) for one in shown) else obj
        taken.add(tuple(object_key(kept)))
        yield Example(kept, tuple(shown))


def _name(shown: Sequence[Doing]) -> str:
    first = shown[0]
    words = (first.rule or first.policy.rpartition("/")[2], first.outcome)
    plain = re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")
    return plain[-_LONGEST_NAME:].strip("-")
