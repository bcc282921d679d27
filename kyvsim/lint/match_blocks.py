"""Checks of match and exclude blocks: rules that never match, and rules that disable autogen."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.languages.classic.autogen import ANNOTATION, autogen_blocker, compute_rules
from kyvsim.languages.classic.validation.match_blocks import check_empty_match
from kyvsim.languages.classic.validation.rule_parts import rules_under_check
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy

# Rules whose match and exclude blocks leave nothing.
#
# Kyverno refuses the plainest cases (KV122); these it takes, and the rule never runs.
#
# Source of the rules: upstream pkg/engine/utils/match.go

_USER = ("subjects", "roles", "clusterRoles")


def never_matches(policy: Policy) -> Iterator[Diagnostic]:
    """KV206: a rule that can match nothing."""
    for subject in rules_under_check(policy):
        match, exclude = subject.data.get("match") or {}, subject.data.get("exclude") or {}
        path = subject.rule.path
        for name, clash in _CLASHES.items():
            if not match.get("any") and clash(match.get("all") or ()):
                text = (
                    f"the rule never matches: the filters of `match.all` have no {name} in common"
                )
                yield warn(policy.document, "KV206", text, (*path, "match", "all"))
        if _excludes_all(match, exclude) and not any(check_empty_match(subject)):
            text = "the rule never matches: its exclude block covers everything that it matches"
            yield warn(policy.document, "KV206", text, (*path, "exclude"))


def _excludes_all(match: Json, exclude: Json) -> bool:
    """Return whether each way to match is covered by one filter that is enough to exclude."""
    some, every = exclude.get("any") or (), exclude.get("all") or ()
    removed = some or (every if len(every) == 1 else ())
    if not some and not every:
        removed = [exclude]
    if match.get("any"):
        return all(any(_covers(out, one) for out in removed) for one in match["any"])
    wanted = match.get("all") or [match]
    return any(_covers(out, one) for out in removed for one in wanted)


def _covers(removed: Json, wanted: Json) -> bool:
    """Return whether all that one filter matches fits another, as far as that is certain."""
    criteria = removed.get("resources") or {}
    own = wanted.get("resources") or {}
    if any(removed.get(name) for name in _USER):
        return False
    given = {name: value for name, value in criteria.items() if value or name in _SELECTORS}
    return bool(given) and all(
        own.get(name) is not None and _NARROWER.get(name, _is_same)(value, own[name])
        for name, value in given.items()
    )


_SELECTORS = frozenset({"selector", "namespaceSelector"})


def _is_same(removed: Json, wanted: Json) -> bool:
    return bool(removed == wanted)


def _all_named(removed: list[str], wanted: list[str]) -> bool:
    return bool(wanted) and all(
        any(_names(pattern, text) for pattern in removed) for text in wanted
    )


def _names(pattern: str, text: str) -> bool:
    return pattern in {text, "*"} or (not has_wildcard(text) and matches(pattern, text))


def _all_kinds(removed: list[str], wanted: list[str]) -> bool:
    return bool(wanted) and all(any(_is_kind(out, one) for out in removed) for one in wanted)


def _is_kind(removed: str, wanted: str) -> bool:
    pairs = zip(parse_kind_selector(removed), parse_kind_selector(wanted), strict=True)
    return all(out in {one, "*"} for out, one in pairs)


def _all_operations(removed: list[str], wanted: list[str]) -> bool:
    return bool(wanted) and set(wanted) <= set(removed)


_NARROWER: Mapping[str, Callable[[Json, Json], bool]] = MappingProxyType(
    {
        "kinds": _all_kinds,
        "names": _all_named,
        "name": lambda removed, wanted: bool(wanted) and _names(removed, wanted),
        "namespaces": _all_named,
        "operations": _all_operations,
    }
)


def _operations_clash(filters: Iterable[Json]) -> bool:
    named = [set((one.get("resources") or {}).get("operations") or ()) for one in filters]
    return any(a.isdisjoint(b) for a, b in combinations(filter(None, named), 2))


def _kinds_clash(filters: Iterable[Json]) -> bool:
    named = [(one.get("resources") or {}).get("kinds") or () for one in filters]
    plain = [
        {parse_kind_selector(text).kind for text in kinds}
        for kinds in named
        if kinds and not any(has_wildcard(text) for text in kinds)
    ]
    return any(a.isdisjoint(b) for a, b in combinations(plain, 2))


_CLASHES: Mapping[str, Callable[[Iterable[Json]], bool]] = MappingProxyType(
    {"operation": _operations_clash, "kind": _kinds_clash}
)

# One rule that keeps the others of its policy from pod controllers.
#
# Rules for controllers are derived for all rules of a policy or for none. The annotation `pod-
# policies.kyverno.io/autogen-controllers: none` says that none are wanted.


def autogen_off(policy: Policy) -> Iterator[Diagnostic]:
    """KV207: a rule that disables autogen for the whole policy."""
    reasons = [(rule, autogen_blocker(rule)) for rule in policy.rules]
    blocking = [(rule, why) for rule, why in reasons if why]
    lost = [
        rule.name
        for rule, why in reasons
        if not why and compute_rules(replace(policy, rules=(rule,))).derived
    ]
    if not blocking or not lost:
        return
    listed = ", ".join(f"`{name}`" for name in lost)
    for rule, why in blocking:
        text = (
            f"rule `{rule.name}` disables autogen for the whole policy, because {why}, so "
            f"{listed} {'is' if len(lost) == 1 else 'are'} not applied to Pod controllers (move "
            f"the rule to a policy of its own, or set `{ANNOTATION}: none` if that is intended)"
        )
        yield warn(policy.document, "KV207", text, rule.path)
