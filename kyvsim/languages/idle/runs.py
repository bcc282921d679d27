"""What is to be said of a run besides its verdicts: where it may be green without a look.

Part of it concerns policies beside what is given, and `lint` tells it too; the rest needs a run.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json, metadata, text_field
from kyvsim.languages.classic.autogen import ANNOTATION, POD_CONTROLLERS
from kyvsim.languages.idle.kinds import known_kinds, unknown_kinds
from kyvsim.languages.idle.names import (
    broken_conditions,
    idle_bindings,
    idle_cel_exceptions,
    idle_exceptions,
    idle_values,
    names_of,
)
from kyvsim.model.diagnostic import Diagnostic, Fix, Severity, Way, change, listed
from kyvsim.model.policy import SEVERITIES, Binding, CelException, Policy, PolicyException, Rule
from kyvsim.model.request import PayloadMode
from kyvsim.model.source import Location
from kyvsim.model.values import Values

# Annotations of policies whose values mean nothing, so that they have no effect.
#
# upstream: pkg/utils/report/results.go `SeverityFromString`, pkg/autogen/v1


SEVERITY = "policies.kyverno.io/severity"


def meaningless_severity(policy: Policy) -> Iterator[Diagnostic]:
    """KV217: a severity that no report shows."""
    value = policy.annotations.get(SEVERITY)
    if value is not None and value not in SEVERITIES:
        text = f"`{value}` is no severity, reports leave it out: use {_listed(SEVERITIES)}"
        path = ("metadata", "annotations", SEVERITY)
        meant = str(value).strip().lower()
        fix = Fix(f"use {meant}", (change(policy.document, Way.VALUE, path, meant),))
        yield warn(policy.document, "KV217", text, path, fix=fix if meant in SEVERITIES else None)


def meaningless_controllers(policy: Policy) -> Iterator[Diagnostic]:
    """KV218: a name in the autogen annotation that is not a pod controller."""
    value = policy.annotations.get(ANNOTATION)
    if value in {None, "", "none", "all"}:
        return
    for name in str(value).split(","):
        if name not in POD_CONTROLLERS:
            text = (
                f"`{name}` is not a pod controller: use `none`, or "
                f"{_listed(sorted(POD_CONTROLLERS))} with commas and no spaces between them"
            )
            yield warn(policy.document, "KV218", text, ("metadata", "annotations", ANNOTATION))


def _listed(names: tuple[str, ...] | list[str]) -> str:
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} or {last}"


# What is to be said of a run besides its verdicts: where it may be green without a look.
#
# Part of it concerns policies beside what is given, and `lint` tells it too; the rest needs a
# run.


class Given(NamedTuple):
    """What a run is given."""

    policies: tuple[Policy, ...]
    resources: tuple[Json, ...]
    """What rules are to look at, or so much of it that all kinds and names are there."""
    derive: Callable[[Policy], Iterable[Rule]]
    """Returns the rules of a policy with those that are derived from them."""
    others: tuple[Json, ...] = ()
    """Other objects and definitions that are there."""
    exceptions: tuple[PolicyException, ...] = ()
    values: Values | None = None
    sound: bool = True
    """Whether every policy could be used, so that all names are known."""
    modes: frozenset[PayloadMode] = frozenset()
    """What sorts of payloads are given."""
    number: int = 0
    """How many objects rules are to look at."""


def idle_references(
    exceptions: tuple[CelException, ...], bindings: tuple[Binding, ...], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """Yield exceptions and bindings that are for absent policies.

    To be asked where every policy could be used: one that was refused is no slip of its name.
    """
    if exceptions:
        yield from idle_cel_exceptions(exceptions, policies)
    if bindings:
        yield from idle_bindings(bindings, policies)


def of_policies(
    policies: Iterable[Policy],
    objects: Iterable[Json],
    exceptions: Iterable[PolicyException] = (),
) -> Iterator[Diagnostic]:
    """Yield what in policies has no effect, as far as the given objects and definitions tell.

    Of exceptions kinds and conditions are looked at: the rest depends on what else is given.
    """
    every, excepted = tuple(policies), tuple(exceptions)
    yield from unknown_kinds(every, known_kinds(objects), excepted)
    if any(one.conditions for one in excepted):
        yield from broken_conditions(excepted)
    for policy in every:
        yield from meaningless_severity(policy)
        yield from meaningless_controllers(policy)


def of_run(given: Given) -> Iterator[Diagnostic]:
    """Yield that, and which names in exceptions and values lead to nothing."""
    mapped = given.values.subresources if given.values else ()
    sent = [{"apiVersion": f"{one.kind.group}/", "kind": one.kind.kind} for one in mapped]
    objects = (*given.resources, *given.others, *sent)
    yield from of_policies(given.policies, objects, given.exceptions)
    if given.sound and (given.exceptions or given.values):
        every = (text_field(metadata(one), "name") for one in (*given.resources, *given.others))
        names = names_of(given.policies, every, given.derive)
        yield from idle_exceptions(given.exceptions, names)
        yield from idle_values(given.values, names)


def nothing_matched(given: Given, paths: Iterable[str]) -> Iterator[Diagnostic]:
    """KV070: a run in which no rule matched any object, though these were looked for in `paths`."""
    rules = [(policy, rule) for policy in given.policies for rule in policy.rules]
    if not rules:
        return
    one, all_of_them = ("rule", "rules")
    if not any(policy.facts.has_rules for policy, _ in rules):
        one, all_of_them = ("policy", "policies")
    if not given.resources:
        text = f"there is no resource: no {one} had anything to look at"
        if given.modes:
            text = f"no {one} judges what is given: payloads of mode {listed(given.modes)}"
        place = next(iter(paths), "")
        yield Diagnostic("KV070", Severity.WARNING, text, Location(place) if place else None)
        return
    policy, rule = rules[0]
    there = {text_field(one, "kind") for one in given.resources}
    text = f"no {one} matched any of the {given.number} resources"
    if given.number == 1:
        text = f"no {one} matched the resource"
    meeting = [rule for policy, rule in rules if _meets(policy, rule, there)]
    if meeting:
        # Which kinds a policy in CEL is for is not known here: it names resources, not kinds.
        known = any(rule.facts.kinds is not None for rule in meeting)
        what = f"there are {all_of_them} for its kind, but names" if known else "kinds, names"
        text = (
            f"{text}: {what}, namespaces, labels, operations, users or a `foreach` without "
            "elements leave nothing to check"
        )
    else:
        text = (
            f"{text}: the {all_of_them} are for {_kinds(rules)}, and what is given is "
            f"{listed(there)}"
        )
    yield warn(policy.document, "KV070", text, (*rule.path, "match"))


def without_payloads(given: Given) -> Iterator[Diagnostic]:
    """KV172: a policy that judges payloads only, of a sort of which there is none."""
    for policy in given.policies:
        mode = policy.facts.judges
        if mode is not None and mode not in given.modes:
            option = f"--{mode.lower()}-payload"
            text = (
                f"`{policy.key}` judges requests of mode {mode} only, and none is given ({option})"
            )
            yield warn(policy.document, "KV172", text, ("spec", "evaluation", "mode"))


def _meets(policy: Policy, rule: Rule, kinds: set[str]) -> bool:
    """Return whether a rule is for an object of one of some kinds."""
    wanted = rule.facts.kinds
    return policy.facts.judges is None and (wanted is None or bool(wanted & kinds))


def _kinds(rules: Iterable[tuple[Policy, Rule]]) -> str:
    """Return the kinds that rules can match at all."""
    found: set[str] = set()
    modes: set[str] = set()
    for policy, rule in rules:
        if policy.facts.judges is not None:
            modes.add(f"requests of mode {policy.facts.judges}")
        elif rule.facts.kinds is None:
            return "objects of any kind"
        else:
            found |= rule.facts.kinds
    return " and ".join((*([listed(found)] if found else ()), *sorted(modes)))
