"""Exceptions, values and bindings that refer to policies, rules or resources that do not exist.

Call these checks only if all policies loaded: a reference to a rejected policy is not a typo.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.match import kinds_of_block
from kyvsim.kubernetes.objects import Path, contains_text, found_at
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.validation.variables import impossible_calls_in, unreadable_variables
from kyvsim.lint.check import LintInputs
from kyvsim.model.diagnostic import Diagnostic, Severity, listed
from kyvsim.model.policy import Binding, Policy, Rule
from kyvsim.policy.cel_policy import read_binding
from kyvsim.policy.visit import texts_within

if TYPE_CHECKING:
    from kyvsim.model.exceptions import CelException, ExceptedRules, PolicyException
    from kyvsim.model.values import Values
    from kyvsim.policy.cel_policy import MatchConstraints, ResourceRule


class KnownNames(NamedTuple):
    """What there is to be named."""

    rules: Mapping[str, frozenset[str]]
    """The names of all rules, derived ones too, by the key of their policy."""
    resources: frozenset[str]


def names_of(
    policies: Iterable[Policy], resources: Iterable[str], derive: Callable[[Policy], Iterable[Rule]]
) -> KnownNames:
    """Return what exceptions and values of a run can name."""
    rules = {
        one.key: frozenset(rule.name for rule in (*one.rules, *derive(one)) if rule.name)
        for one in policies
    }
    return KnownNames(rules, frozenset(resources))


def unused_exceptions(
    exceptions: Iterable["PolicyException"], names: KnownNames
) -> Iterator[Diagnostic]:
    """KV071: an exception for an absent policy, KV072: an exception for an absent rule."""
    for exception in exceptions:
        for index, entry in enumerate(exception.exceptions):
            path = ("spec", "exceptions", index)
            rules = names.rules.get(entry.policy)
            if rules is None:
                text = f"the exception names the policy `{entry.policy}`, which is not given"
                text = _with(text, "given", names.rules)
                yield warn(exception.document, "KV071", text, (*path, "policyName"))
            else:
                yield from _of_no_rule(exception, entry, rules, path)


_WITHOUT_RULES = (
    "CEL policies have no rules; they are exempted by exceptions of `policies.kyverno.io`"
)


def _of_no_rule(
    exception: "PolicyException", entry: "ExceptedRules", rules: frozenset[str], path: Path
) -> Iterator[Diagnostic]:
    for number, pattern in enumerate(entry.rules):
        # Names of derived rules are listed to be safe, whether or not any is derived.
        if not (pattern.startswith("autogen-") or any(matches(pattern, rule) for rule in rules)):
            text = f"the exception names the rule `{pattern}`, which `{entry.policy}` does not have"
            text = _with(text, "its rules", rules) if rules else f"{text}: {_WITHOUT_RULES}"
            yield warn(exception.document, "KV072", text, (*path, "ruleNames", number))


def _with(text: str, what: str, names: Iterable[str]) -> str:
    known = listed(names)
    return f"{text} ({what}: {known})" if known else text


def unused_values(values: "Values | None", names: KnownNames) -> Iterator[Diagnostic]:
    """KV073: values for an absent policy or rule or resource."""
    if values is None or values.document is None:
        return
    by_name: dict[str, set[str]] = {}
    for key, rules in names.rules.items():
        by_name.setdefault(key.rpartition("/")[2], set()).update(rules)
    for entry in values.entries:
        known, where = _named_by(entry.kind, entry.policy, by_name, names)
        if known is not None and not known(entry.name):
            text = f"the values name the {entry.kind} `{entry.name}`, which {where}"
            yield warn(values.document, "KV073", text, entry.path)


def _named_by(
    kind: str, policy: str, rules: Mapping[str, set[str]], names: KnownNames
) -> tuple[Callable[[str], bool] | None, str]:
    """Return a predicate for names of some kind, and the message for unknown ones."""
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


# Bindings of Kubernetes' admission policies that lead to nothing, and policies that none is for.
#
# Outside of a cluster a policy counts without a binding, in a cluster it does nothing. upstream:
# k8s.io/kubernetes pkg/apis/admissionregistration/validation/validation.go


def unused_bindings(
    bindings: Iterable[Binding], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """KV167: a binding for an absent policy."""
    every = tuple(policies)
    for binding in bindings:
        if any(binding.binds(one.kind, one.name) for one in every):
            continue
        kind = binding.kind.removesuffix("Binding")
        given = (one.name for one in every if one.kind == kind)
        text = f"the binding names the {kind} `{binding.policy}`, which is not given"
        text = _with(text, "given", given)
        yield warn(binding.document, "KV167", text, ("spec", "policyName"))


def binding_problems(
    bindings: Iterable[Binding], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """Yield what `lint` reports about bindings and policies that are given together.

    A file with only bindings or only policies does not show what they refer to.
    """
    given, every = tuple(bindings), tuple(policies)
    kinds = {one.kind for one in every}
    together = [one for one in given if one.kind.removesuffix("Binding") in kinds]
    yield from unused_bindings(together, every)
    bound_kinds = {one.kind for one in given}
    for policy in every:
        is_bound = any(one.binds(policy.kind, policy.name) for one in given)
        if f"{policy.kind}Binding" in bound_kinds and not is_bound:
            text = (
                f"none of the given bindings names the {policy.kind} `{policy.name}`: without "
                "one it has no effect in a cluster"
            )
            yield warn(policy.document, "KV265", text, ("metadata", "name"))
    for one in given:
        node = read_binding(one.spec)
        if {"Deny", "Warn"} <= set(node.validation_actions):
            text = (
                "a cluster refuses `Deny` together with `Warn`: a denial already shows the message"
            )
            yield warn(one.document, "KV266", text, ("spec", "validationActions"))
        for policy in every:
            if one.binds(policy.kind, policy.name):
                yield from _wider(one, node.match_resources, policy)


def _wider(
    binding: Binding, constraints: "MatchConstraints | None", policy: Policy
) -> Iterator[Diagnostic]:
    """KV269: a resource that a binding names and its policy never matches."""
    own = policy.cel.resource_rules
    if not own or constraints is None:
        return
    for rule in constraints.resource_rules:
        for index, name in enumerate(rule.resources):
            if not any(_meet(rule._replace(resources=(name,)), one) for one in own):
                text = (
                    f"`{policy.name}` never matches `{name}` as written here: in a cluster this "
                    "has no effect, while Kyverno's command line only uses the binding"
                )
                path = (*rule.path, "resources", index)
                yield warn(binding.document, "KV269", text, path)


def _meet(rule: "ResourceRule", other: "ResourceRule") -> bool:
    """Return whether some request may fit two resource rules.

    Groups and versions are left out: one rule may be for an equivalent of what the other names.
    """
    return all(
        any(
            ("*" in one or "*" in another or one == another)
            for one in some or ("*",)
            for another in others or ("*",)
        )
        for some, others in (
            (rule.operations, other.operations),
            (rule.resources, other.resources),
        )
    )


# Exceptions for policies in CEL that are not given: they exempt nothing.


def unused_cel_exceptions(
    exceptions: Iterable["CelException"], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """KV071: an exception for an absent policy, or for none."""
    kinds: dict[str, list[str]] = {}
    for policy in policies:
        kinds.setdefault(policy.name, []).append(policy.kind)
    for exception in exceptions:
        if not exception.policies:
            text = "the exception names no policy"
            yield warn(exception.document, "KV071", text, ("spec", "policyRefs"))
        for index, ref in enumerate(exception.policies):
            own = kinds.get(ref.name, [])
            if ref.kind in own:
                continue
            text = f"the exception names the {ref.kind} `{ref.name}`, which is not given"
            if own:
                text = f"{text}: `{ref.name}` is a {own[0]}"
            elif kinds:
                text = f"{text} (given: {listed(kinds)})"
            field = "kind" if own else "name"
            yield warn(exception.document, "KV071", text, ("spec", "policyRefs", index, field))


# Exceptions that never count: rules never look at their objects, or conditions are broken.


def powerless_exceptions(given: LintInputs) -> Iterator[Diagnostic]:
    """KV226: an exception for kinds that its rules never match."""
    if not given.sound:
        return
    by_key = {one.key: one for one in given.policies}
    rules: dict[str, tuple[Rule, ...]] = {}
    for exception in given.exceptions:
        excepted = kinds_of_block(exception.match)
        if not excepted or not all(one.kinds for one in exception.match.effective):
            continue
        for index, entry in enumerate(exception.exceptions):
            policy = by_key.get(entry.policy)
            if policy is None:
                continue
            if entry.policy not in rules:
                rules[entry.policy] = (*policy.rules, *given.derive(policy))
            looked_at = _kinds(entry, rules[entry.policy])
            if looked_at and looked_at.isdisjoint(excepted):
                text = (
                    f"the exception has no effect: it matches {listed(excepted)}, but the rules "
                    f"it names match {listed(looked_at)}"
                )
                yield warn(exception.document, "KV226", text, ("spec", "exceptions", index))


def broken_conditions(exceptions: Iterable["PolicyException"]) -> Iterator[Diagnostic]:
    """KV230: a condition of an exception that can never be evaluated; KV205: a call that fails.

    upstream logs it and goes on as if the exception were not there: pkg/engine/utils/exceptions.go
    """
    for exception in exceptions:
        document = exception.document
        if not exception.conditions:
            continue
        conditions = found_at(document.data, exception.conditions.path)
        for problem, path, note in unreadable_variables(conditions):
            text = f"a condition of the exception can never be evaluated: {problem}"
            place = document.locate(("spec", "conditions", *path))
            excerpt = (note,) if note else ()
            yield Diagnostic("KV230", Severity.ERROR, text, place, excerpt)
        if not contains_text(conditions, "("):
            continue
        for problem, path in impossible_calls_in(texts_within(conditions, ("spec", "conditions"))):
            yield warn(document, "KV205", problem, path)


def _kinds(entry: "ExceptedRules", rules: Iterable[Rule]) -> frozenset[str]:
    found: set[str] = set()
    for rule in rules:
        if not any(matches(name, rule.name) for name in entry.rules):
            continue
        if rule.facts.kinds is None:
            return frozenset()
        found |= rule.facts.kinds
    return frozenset(found)
