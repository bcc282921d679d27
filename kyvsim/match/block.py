"""Whole match and exclude blocks: `any`, `all` and the old single filter."""

from collections.abc import Callable, Iterable
from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.match.facts import MatchFacts
from kyvsim.match.resources import resource_criteria
from kyvsim.match.subjects import user_criteria
from kyvsim.model.coverage import PointKind
from kyvsim.model.probe import NO_PROBE, Probe

Predicate = Callable[[MatchFacts], bool]

_OF_KIND: Final = frozenset({"kinds", "operations"})


def compile_rule_match(
    match: Json, exclude: Json, policy_namespace: str, probe: Probe = NO_PROBE
) -> Predicate:
    """Return whether a rule with these blocks applies to a request.

    `policy_namespace` is "" for a ClusterPolicy; a namespaced policy sees its own namespace only.
    upstream: pkg/engine/utils/match.go, MatchesResourceDescription
    """
    matches = compile_match(match or {}, probe.at("match"))
    left_out = probe.at("exclude")
    excludes = _compile_block(exclude, _probed_exclude_filter, left_out) if exclude else None

    def applies(facts: MatchFacts) -> bool:
        if policy_namespace and policy_namespace != facts.namespace:
            return False
        return matches(facts) and not (excludes and excludes(facts))

    return applies


def matches_by_kind(match: Json) -> bool:
    """Return whether a match block looks at nothing but kind and operation.

    What it says of one object it says of all of the kind, for every user and where none is known.
    """
    block = match or {}
    filters = block.get("any") or block.get("all") or [block]
    return all(map(_asks_kind, filters))


def _asks_kind(block: Json) -> bool:
    resources = block.get("resources") or {}
    criteria = {name for name, value in resources.items() if value is not None}
    return bool(resources.get("kinds")) and criteria <= _OF_KIND and not user_criteria(block)


def compile_match(block: Json, probe: Probe = NO_PROBE) -> Predicate:
    """Return whether a match block applies to a request."""
    return _compile_block(block, _probed_match_filter, probe)


def compile_exception_match(block: Json) -> Predicate:
    """Return whether the match block of a policy exception covers a request.

    Unlike a rule's it knows no operations, and asks for the user also where none is given.
    upstream: pkg/engine/utils/exceptions.go
    """
    return _compile_block(block, lambda one, _: _exception_filter(one), NO_PROBE)


def _compile_block(
    block: Json, compile_filter: Callable[[Json, Probe], Predicate], probe: Probe
) -> Predicate:
    if some := block.get("any"):
        return _any_of(compile_filter(one, probe.at("any", n)) for n, one in enumerate(some))
    if every := block.get("all"):
        return _all_of(compile_filter(one, probe.at("all", n)) for n, one in enumerate(every))
    return compile_filter(block, probe)


def _probed_match_filter(block: Json, probe: Probe) -> Predicate:
    return probe.branch(PointKind.MATCH, "matched", _match_filter(block))


def _probed_exclude_filter(block: Json, probe: Probe) -> Predicate:
    return probe.branch(PointKind.EXCLUDE, "excluded", _exclude_filter(block))


def _match_filter(block: Json) -> Predicate:
    resources = resource_criteria(block.get("resources") or {})
    user = user_criteria(block)
    if not resources and not user:
        return lambda _: False
    holds_for_object, holds_for_user = _all_of(resources), _all_of(user)

    def matches(facts: MatchFacts) -> bool:
        # Without admission info the criteria on users count as absent, and a filter without any
        # criterion matches nothing.
        if facts.user is None:
            return bool(resources) and holds_for_object(facts)
        return holds_for_object(facts) and holds_for_user(facts)

    return matches


def _exclude_filter(block: Json) -> Predicate:
    criteria = resource_criteria(block.get("resources") or {}) + user_criteria(block)
    return _all_of(criteria) if criteria else lambda _: False


def _exception_filter(block: Json) -> Predicate:
    resources = {
        name: value
        for name, value in (block.get("resources") or {}).items()
        if name != "operations"
    }
    return _exclude_filter({**block, "resources": resources})


def _any_of(checks: Iterable[Predicate]) -> Predicate:
    alternatives = tuple(checks)
    if len(alternatives) == 1:
        return alternatives[0]
    return lambda facts: any(check(facts) for check in alternatives)


def _all_of(checks: Iterable[Predicate]) -> Predicate:
    conjuncts = tuple(checks)
    if len(conjuncts) == 1:
        return conjuncts[0]
    return lambda facts: all(check(facts) for check in conjuncts)
