"""Convert PolicyExceptions for classic policies to those for the converted policies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from kyvsim.kubernetes.objects import Path
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.autogen import ComputedRules, compute_rules
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.context import (
    ConversionContext,
    NotConvertible,
    Scope,
    converted_outcome,
    refused_outcome,
)
from kyvsim.migrate.expressions import TRUE, Test, some
from kyvsim.migrate.matching import block_kinds, block_test
from kyvsim.migrate.scalars import like_one
from kyvsim.migrate.settings import (
    CONTROLLERS,
    CRON_JOBS,
    levels_of,
    named_conditions,
    named_expressions,
    policy_object,
    written_conditions,
)
from kyvsim.migrate.values import Expr
from kyvsim.model.migration import (
    Conversion,
    ConversionCondition,
    ConversionOutcome,
    Made,
    RuleOutcome,
)
from kyvsim.model.policy import ExceptedRules, Policy, PolicyException, Rule
from kyvsim.policy.autogen import CRON_JOB

_SPEC: Final = ("spec",)
_SCANS: Final = ConversionCondition(
    "exceptions in scans",
    "also apply to background scans: exceptions in CEL have no `background` field",
)
_POD: Final = "Pod"

Excepted: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""The exceptions for a rule, by key, each with the excepted levels of the rule."""

_Texts: TypeAlias = tuple[tuple[str, str], ...]
"""Names and expressions of conditions."""


def excepted(
    place: int, computed: ComputedRules, policy: str, exceptions: Iterable[PolicyException]
) -> Excepted:
    """Return the exceptions for a rule of a policy, given by its key."""
    levels = levels_of(place, computed)
    found = []
    for exception in exceptions:
        patterns = [
            pattern for one in exception.exceptions if one.policy == policy for pattern in one.rules
        ]
        named = _named(patterns, levels)
        if named:
            found.append((exception.key, named))
    return tuple(found)


def _named(patterns: Sequence[str], levels: Mapping[str, Rule]) -> tuple[str, ...]:
    """Return the levels of a rule whose names match one of some patterns."""
    return tuple(
        level for level, rule in levels.items() if any(matches(one, rule.name) for one in patterns)
    )


def convert_exception(exception: PolicyException, conversions: Sequence[Conversion]) -> Conversion:
    """Convert an exception, using the conversions of its policies."""
    verdicts: list[RuleOutcome] = []
    found: dict[_Texts, list[dict[str, str]]] = {}
    for index, entry in enumerate(exception.exceptions):
        name = f"{entry.policy}: {', '.join(entry.rules)}"
        context, path = ConversionContext({}, set(), {}), (*_SPEC, "exceptions", index)
        try:
            policy, conversion = _conversion(entry, conversions, path)
            computed = compute_rules(policy)
            references = _references(entry, conversion, computed, path)
            matched = (one for rule in computed.written for one in rule.tree.match.filters)
            kinds = computed.controllers.union(*(one.kinds for one in matched))
            conditions = _conditions(exception, kinds, context)
            named = block_kinds(exception.match)
        except NotConvertible as refusal:
            verdicts.append(refused_outcome(exception.document, name, _SPEC, refusal))
            continue
        verdicts.append(converted_outcome(exception.document, name, _SPEC, context))
        for reference, only in references:
            # No condition on the kind is needed if the match block has no other kinds.
            is_needed = only and not named <= {*only}
            kind = some(like_one("request.kind.kind", [*only])) if is_needed else TRUE
            texts = written_conditions([*named_conditions("kinds", kind), *conditions])
            found.setdefault(texts, []).append(reference)
    return Conversion(exception, tuple(verdicts), tuple(_made(exception, found)))


def _conversion(
    entry: ExceptedRules, conversions: Sequence[Conversion], path: Path
) -> tuple[Policy, Conversion]:
    for one in conversions:
        if isinstance(one.policy, Policy) and one.policy.key == entry.policy:
            return one.policy, one
    raise NotConvertible(
        f"the policy `{entry.policy}` is not converted in this run",
        "convert it in the same run: the exception has to name the converted policy",
        (*path, "policyName"),
    )


def _references(
    entry: ExceptedRules, conversion: Conversion, computed: ComputedRules, path: Path
) -> list[tuple[dict[str, str], tuple[str, ...]]]:
    """Return the policies to which an exception applies, each with its kinds, () for all."""
    levels: dict[int, tuple[str, ...]] = {}
    for place, outcome in enumerate(conversion.rules):
        names = _named(entry.rules, levels_of(place, computed))
        if names and outcome.outcome is ConversionOutcome.REFUSED:
            what = f"the rule `{outcome.rule}` is not converted"
            raise NotConvertible(what, "convert the rule first", (*path, "ruleNames"))
        if names:
            levels[place] = names
    if not levels:
        what = f"`{entry.policy}` has no such rule"
        raise NotConvertible(what, "name existing rules", (*path, "ruleNames"))
    return [
        ({"name": made.data["metadata"]["name"], "kind": made.data["kind"]}, only)
        for made in conversion.made
        if made.rules[0] in levels
        for only in _only(made, levels[made.rules[0]], computed)
    ]


def _only(made: Made, named: tuple[str, ...], computed: ComputedRules) -> list[tuple[str, ...]]:
    """Return the kinds to which an exception applies: () for all; [] if to none."""
    every = tuple(levels_of(made.rules[0], computed))
    if made.level is not None:
        return [()] if made.level in named else []
    if set(every) <= set(named):
        return [()]
    kinds = {
        "": (_POD,),
        CONTROLLERS: tuple(sorted(computed.controllers - {CRON_JOB})),
        CRON_JOBS: (CRON_JOB,),
    }
    return [tuple(kind for level in named for kind in kinds[level])]


def _conditions(
    exception: PolicyException, kinds: frozenset[str], context: ConversionContext
) -> list[tuple[str, Test]]:
    if exception.pod_security:
        raise NotConvertible(
            "an exception from single controls cannot be converted for these policies",
            "use `exceptions.allowedValues` in the policy of the control",
            (*_SPEC, "podSecurity"),
        )
    if exception.document.data["spec"].get("background") is False:
        context.note(_SCANS)
    matched = block_test(exception.match, kinds, context)
    scope = Scope(context, Expr("object"), Expr("oldObject"))
    holds = conditions_test(exception.conditions, scope).test
    asked = [] if matched == TRUE else [("matched", matched)]
    return [*asked, *named_conditions("condition", holds)]


def _made(
    exception: PolicyException, found: Mapping[_Texts, Sequence[dict[str, str]]]
) -> Iterable[Made]:
    for number, (conditions, references) in enumerate(found.items(), 1):
        name = exception.name if number == 1 else f"{exception.name}-{number}"
        spec: dict[str, object] = {"policyRefs": references}
        if conditions:
            spec["matchConditions"] = named_expressions(conditions)
        yield Made(policy_object("PolicyException", name, exception.document, spec), ())
