"""Names in exceptions and values that lead to nothing: what was meant to count does not.

To be asked where every policy could be used: one that was refused is no slip of its name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.compile.remark import warn
from kyvsim.kube.wildcard import matches
from kyvsim.model.diagnostic import Diagnostic, listed
from kyvsim.model.exception import ExceptedRules, PolicyException
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import Path
from kyvsim.model.values import Values


class Names(NamedTuple):
    """What there is to be named."""

    rules: Mapping[str, frozenset[str]]
    """The names of all rules, derived ones too, by the key of their policy."""
    resources: frozenset[str]


def names_of(
    policies: Iterable[Policy],
    resources: Iterable[str],
    derive: Callable[[Policy], Iterable[Rule]],
) -> Names:
    """Return what exceptions and values of a run can name."""
    rules = {
        one.key: frozenset(rule.name for rule in (*one.rules, *derive(one)) if rule.name)
        for one in policies
    }
    return Names(rules, frozenset(resources))


def idle_exceptions(exceptions: Iterable[PolicyException], names: Names) -> Iterator[Diagnostic]:
    """KV071: an exception for an absent policy, KV072: an exception for an absent rule."""
    for exception in exceptions:
        for index, entry in enumerate(exception.exceptions):
            path = ("spec", "exceptions", index)
            rules = names.rules.get(entry.policy)
            if rules is None:
                text = f"the exception is for a policy `{entry.policy}`, which is not given"
                text = _with(text, "given", names.rules)
                yield warn(exception.document, "KV071", text, (*path, "policyName"))
            else:
                yield from _of_no_rule(exception, entry, rules, path)


_WITHOUT_RULES = (
    "a policy in CEL has no rules, and its exceptions are those of `policies.kyverno.io`"
)


def _of_no_rule(
    exception: PolicyException, entry: ExceptedRules, rules: frozenset[str], path: Path
) -> Iterator[Diagnostic]:
    for number, pattern in enumerate(entry.rules):
        # Names of derived rules are listed to be safe, whether or not any is derived.
        if not (pattern.startswith("autogen-") or any(matches(pattern, rule) for rule in rules)):
            text = f"the exception is for a rule `{pattern}`, which `{entry.policy}` does not have"
            text = _with(text, "its rules", rules) if rules else f"{text}: {_WITHOUT_RULES}"
            yield warn(exception.document, "KV072", text, (*path, "ruleNames", number))


def _with(text: str, what: str, names: Iterable[str]) -> str:
    """Return a text with the names that there are."""
    known = listed(names)
    return f"{text} ({what}: {known})" if known else text


def idle_values(values: Values | None, names: Names) -> Iterator[Diagnostic]:
    """KV073: values for an absent policy or rule or resource."""
    if values is None or values.document is None:
        return
    by_name: dict[str, set[str]] = {}
    for key, rules in names.rules.items():
        by_name.setdefault(key.rpartition("/")[2], set()).update(rules)
    for entry in values.entries:
        known, where = _named_by(entry.kind, entry.policy, by_name, names)
        if known is not None and not known(entry.name):
            text = f"the values are for a {entry.kind} `{entry.name}`, which {where}"
            yield warn(values.document, "KV073", text, entry.path)


def _named_by(
    kind: str, policy: str, rules: Mapping[str, set[str]], names: Names
) -> tuple[Callable[[str], bool] | None, str]:
    """Return what tells whether a name of some kind leads somewhere, and what to say if not."""
    if kind == "policy":
        return rules.__contains__, _with("is not given", "given", rules)
    own = rules.get(policy)
    if own is None:
        return None, ""
    if kind == "resource":
        return names.resources.__contains__, "is not among the resources"

    def has_rule(name: str) -> bool:
        return any(prefix + name in own for prefix in ("", "autogen-", "autogen-cronjob-"))

    return has_rule, _with(f"`{policy}` does not have", "its rules", own)
