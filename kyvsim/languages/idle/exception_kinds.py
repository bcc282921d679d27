"""Exceptions for objects that none of the rules they name ever looks at."""

from collections.abc import Callable, Iterable, Iterator

from kyvsim.compile.remark import warn
from kyvsim.kube.wildcard import matches
from kyvsim.match.kinds import kinds_of_block
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.exception import ExceptedRules, PolicyException
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.wording import listed

Derive = Callable[[Policy], Iterable[Rule]]
"""Returns the rules of a policy with those that are derived from them."""


def powerless_exceptions(
    exceptions: Iterable[PolicyException], policies: Iterable[Policy], derive: Derive
) -> Iterator[Diagnostic]:
    """KV226: an exception whose kinds the rules that it names never match."""
    by_key = {one.key: one for one in policies}
    for exception in exceptions:
        filters = exception.match.get("any") or exception.match.get("all") or (exception.match,)
        excepted = kinds_of_block(exception.match)
        if not excepted or not all((one.get("resources") or {}).get("kinds") for one in filters):
            continue
        for index, entry in enumerate(exception.exceptions):
            looked_at = _kinds(entry, by_key.get(entry.policy), derive)
            if looked_at and looked_at.isdisjoint(excepted):
                text = (
                    f"the exception has no effect: it is for {listed(excepted)}, and the rules "
                    f"that it names match {listed(looked_at)}"
                )
                yield warn(exception.document, "KV226", text, ("spec", "exceptions", index))


def _kinds(entry: ExceptedRules, policy: Policy | None, derive: Derive) -> frozenset[str]:
    """Return the kinds that the named rules of a policy match; none where that is open."""
    if policy is None:
        return frozenset()
    rules = (
        rule
        for rule in (*policy.rules, *derive(policy))
        if any(matches(name, rule.name) for name in entry.rules)
    )
    found: set[str] = set()
    for rule in rules:
        if rule.facts.kinds is None:
            return frozenset()
        found |= rule.facts.kinds
    return frozenset(found)
