"""Chooses, among the cases of a search, the smallest objects that show what each rule does."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.equivalence.cases import Case
from kyvsim.equivalence.field_rules import is_accepted
from kyvsim.equivalence.policy_runner import CaseEffect, PolicyPair
from kyvsim.equivalence.search import SearchResult
from kyvsim.equivalence.verdict import shrunk
from kyvsim.kubernetes.objects import Json, metadata, object_key
from kyvsim.model.comparison import ExampleObject, MissingExample, RuleAction
from kyvsim.model.request import Operation
from kyvsim.model.tracing import Point, PointKind

_STATUSES: Mapping[str, str] = MappingProxyType(
    {"passed": "pass", "failed": "fail", "applied": "pass"}
)
_REFUSING = frozenset({"fail", "error"})
_PROBES = 2000
"""How many evaluations may be spent on making an object small."""
_LONGEST_NAME = 63


def actions(points: Iterable[Point]) -> Iterator[RuleAction]:
    """Yield all that the rules of some policies can do."""
    for point in points:
        for outcome in point.outcomes if point.kind is PointKind.RULE else ():
            yield RuleAction(point.policy, point.rule, outcome.name, point.location)


def examples(
    requested: Sequence[RuleAction], tried: SearchResult, pair: PolicyPair
) -> tuple[tuple[ExampleObject, ...], tuple[MissingExample, ...]]:
    """Return an object for each thing that rules do, made small, and what none was found for.

    The policies are the old ones of the pair. One object may show several things.
    """
    results = [(case, pair.run(case).old) for case in tried.cases]
    usable = [
        (case, effect)
        for case, effect in results
        if case.is_plain and is_accepted(case.object, pair.find)
    ]
    found: dict[str, tuple[Json, list[RuleAction]]] = {}
    missing: list[MissingExample] = []
    for one in requested:
        fitting = [(case, effect) for case, effect in usable if _shows(one, effect)]
        if not fitting:
            shown = [case for case, effect in results if _shows(one, effect)]
            effects = [effect for _, effect in results]
            reason = _needs(shown) if shown else _seen(one, effects, tried.total)
            if not tried.finished and not tried.stalled:
                reason += "; the limit on time or cases was reached, so not all were tried"
            missing.append(MissingExample(one, reason))
            continue
        # Cases in which few rules refuse come first, of them the small ones.
        case, effect = min(
            fitting, key=lambda both: (len(_refusals(both[1])), len(json.dumps(both[0].object)))
        )
        small = _small(one, case, effect, pair)
        found.setdefault(json.dumps(small, sort_keys=True), (small, []))[1].append(one)
    return tuple(_named(found.values(), pair)), tuple(missing)


def _needs(shown: Sequence[Case]) -> str:
    """Return what it takes besides an object, of cases that show what a rule does."""
    case = next((one for one in shown if not one.is_plain), shown[0])
    if any(one.is_plain for one in shown):
        return "every object that shows it is invalid for an API server"
    if case.part:
        return f"it requires a request to the subresource {case.part}"
    operations = dict.fromkeys(one.operation for one in shown)
    if Operation.CREATE not in operations:
        return f"it requires a request with the operation {' or '.join(operations)}"
    if case.there:
        return "it requires other objects or images that the policy looks up (--resource)"
    if case.namespace_labels:
        return "it requires a namespace with certain labels"
    return "it requires a request of a certain user"


def _seen(one: RuleAction, effects: Sequence[CaseEffect], total: int) -> str:
    """Return what a rule did in all cases, where none shows the requested action."""
    said = [
        (said.status, said.message)
        for effect in effects
        for said in effect.said
        if (said.policy, said.rule) == (one.policy, one.rule)
    ]
    cases = "1 case" if total == 1 else f"{total} cases"
    if not said:
        return f"the rule matched no object in {cases}"
    if any(effect.unanswered for effect in effects):
        return f"none of {cases} shows it, and the policy looks up data that was not given"
    statuses = dict.fromkeys(status for status, _ in said)
    errors = [message for status, message in said if status == "error"]
    if errors:
        return f"none of {cases} shows it, and the rule ended in an error in some: {errors[0]}"
    if one.outcome == "applied" and "pass" in statuses:
        return f"the rule changed nothing in {cases}"
    return f"the rule only ended with {', '.join(statuses)} in {cases}"


def _shows(one: RuleAction, effect: CaseEffect) -> bool:
    status = _STATUSES[one.outcome]
    results = ((one.policy, one.rule, status) == said[:3] for said in effect.said)
    acts = effect.changed or bool(effect.generated) or effect.deleted
    return any(results) and (one.outcome != "applied" or acts)


def _refusals(effect: CaseEffect) -> frozenset[tuple[str, str]]:
    return frozenset((one.policy, one.rule) for one in effect.said if one.status in _REFUSING)


def _small(one: RuleAction, case: Case, effect: CaseEffect, pair: PolicyPair) -> Json:
    before = _refusals(effect)

    def shows(smaller: Case) -> bool:
        if not is_accepted(smaller.object, pair.find):
            return False
        found = pair.run(smaller).old
        return _shows(one, found) and _refusals(found) <= before

    return shrunk(case, shows, _PROBES).object


def _named(
    found: Iterable[tuple[Json, list[RuleAction]]], pair: PolicyPair
) -> Iterator[ExampleObject]:
    """Yield objects, named by what they show if the name does not change the result."""
    taken: set[tuple[str, ...]] = set()
    for obj, shown in found:
        first = shown[0]
        words = f"{first.rule or first.policy.rpartition('/')[2]}-{first.outcome}"
        name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[-_LONGEST_NAME:].strip("-")
        named = {**obj, "metadata": {**metadata(obj), "name": name}}
        is_free = tuple(object_key(named)) not in taken
        effect = pair.run(Case(named)).old
        kept = named if is_free and all(_shows(one, effect) for one in shown) else obj
        taken.add(tuple(object_key(kept)))
        yield ExampleObject(kept, tuple(shown))
