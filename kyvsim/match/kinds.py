"""`kinds` criteria: lists of kind selectors."""

from collections.abc import Callable, Iterable

from kyvsim.kube.gvk import KindSelector, parse_kind_selector
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import compile_wildcard, has_wildcard
from kyvsim.match.facts import MatchFacts

KindIndexEntry = frozenset[str] | None
"""Kinds that a block can match at all; None where a wildcard keeps it open."""


def compile_kinds(selectors: Iterable[str]) -> Callable[[MatchFacts], bool]:
    """Return whether one of the selectors names the request's kind and subresource.

    upstream: pkg/utils/match/kind.go
    """
    checks = tuple(_compile_selector(parse_kind_selector(text)) for text in selectors)
    if len(checks) == 1:
        return checks[0]
    return lambda facts: any(check(facts) for check in checks)


def _compile_selector(selector: KindSelector) -> Callable[[MatchFacts], bool]:
    group = compile_wildcard(selector.group)
    version = compile_wildcard(selector.version)
    kind = compile_wildcard(selector.kind)
    subresource = compile_wildcard(selector.subresource)

    def matches(facts: MatchFacts) -> bool:
        return (
            kind(facts.kind)
            and group(facts.group)
            and version(facts.version)
            and (subresource(facts.subresource) or _is_ephemeral_containers(facts))
        )

    return matches


def _is_ephemeral_containers(facts: MatchFacts) -> bool:
    # A selector of Pods covers this subresource too, for the sake of older policies.
    return facts.subresource == "ephemeralcontainers" and (
        facts.group,
        facts.version,
        facts.kind,
    ) == ("", "v1", "Pod")


def kinds_of_block(block: Json) -> KindIndexEntry:
    """Return the kinds that a match block can match at all, or None if any kind may."""
    filters = block.get("any") or block.get("all") or [block]
    kinds: set[str] = set()
    for one in filters:
        selectors = (one.get("resources") or {}).get("kinds") or ["*"]
        kinds.update(parse_kind_selector(text).kind for text in selectors)
    return None if any(map(has_wildcard, kinds)) else frozenset(kinds)
