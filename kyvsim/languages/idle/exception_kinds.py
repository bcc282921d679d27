"""Exceptions that never count: rules never look at their objects, or conditions are broken."""

from collections.abc import Callable, Iterable, Iterator

from kyvsim.compile.remark import warn
from kyvsim.kube.objects import contains_text
from kyvsim.kube.wildcard import matches
from kyvsim.languages.classic.checks.allowed_variables import unreadable_variables
from kyvsim.languages.classic.checks.variable_text import impossible_calls_in
from kyvsim.match.criteria import kinds_of_block
from kyvsim.model.diagnostic import Diagnostic, Severity, listed
from kyvsim.model.exception import ExceptedRules, PolicyException
from kyvsim.model.policy import Policy, Rule

Derive = Callable[[Policy], Iterable[Rule]]
"""Returns the rules of a policy with those that are derived from them."""


def powerless_exceptions(
    exceptions: Iterable[PolicyException], policies: Iterable[Policy], derive: Derive
) -> Iterator[Diagnostic]:
    """KV226: an exception whose kinds the rules that it names never match."""
    by_key = {one.key: one for one in policies}
    rules: dict[str, tuple[Rule, ...]] = {}
    for exception in exceptions:
        filters = exception.match.get("any") or exception.match.get("all") or (exception.match,)
        excepted = kinds_of_block(exception.match)
        if not excepted or not all((one.get("resources") or {}).get("kinds") for one in filters):
            continue
        for index, entry in enumerate(exception.exceptions):
            policy = by_key.get(entry.policy)
            if policy is None:
                continue
            if entry.policy not in rules:
                rules[entry.policy] = (*policy.rules, *derive(policy))
            looked_at = _kinds(entry, rules[entry.policy])
            if looked_at and looked_at.isdisjoint(excepted):
                text = (
                    f"the exception has no effect: it is for {listed(excepted)}, and the rules "
                    f"that it names match {listed(looked_at)}"
                )
                yield warn(exception.document, "KV226", text, ("spec", "exceptions", index))


def broken_conditions(exceptions: Iterable[PolicyException]) -> Iterator[Diagnostic]:
    """KV230: a condition of an exception that can never be evaluated; KV205: a call that fails.

    upstream logs it and goes on as if the exception were not there: pkg/engine/utils/exceptions.go
    """
    for exception in exceptions:
        conditions, document = exception.conditions, exception.document
        if not conditions:
            continue
        for problem, path, note in unreadable_variables(conditions):
            text = f"a condition of the exception can never be evaluated: {problem}"
            place = document.locate(("spec", "conditions", *path))
            excerpt = (note,) if note else ()
            yield Diagnostic("KV230", Severity.ERROR, text, place, excerpt)
        if not contains_text(conditions, "("):
            continue
        for problem, path in impossible_calls_in(conditions):
            yield warn(document, "KV205", problem, ("spec", "conditions", *path))


def _kinds(entry: ExceptedRules, rules: Iterable[Rule]) -> frozenset[str]:
    """Return the kinds that those rules match that an entry names; none where that is open."""
    found: set[str] = set()
    for rule in rules:
        if not any(matches(name, rule.name) for name in entry.rules):
            continue
        if rule.facts.kinds is None:
            return frozenset()
        found |= rule.facts.kinds
    return frozenset(found)
