"""One policy: from its document to a Policy, and from there to a CompiledPolicy."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeAlias

from kyvsim.engine.compile.compiled import (
    CompiledPolicy,
    CompiledRule,
    CompileOptions,
    Derivation,
    DerivedForms,
    uncompiled,
)
from kyvsim.engine.compile.tracing import compile_counter, with_coverage
from kyvsim.jmespath import QuerySyntaxError
from kyvsim.kubernetes.objects import Json, annotations, metadata, text_field
from kyvsim.languages.classic.autogen import CRON_JOB, POD_CONTROLLERS, ComputedRules, compute_rules
from kyvsim.languages.classic.facts import policy_facts, rule_facts
from kyvsim.languages.classic.lower import lower_derived_rule, lower_rule
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.languages.classic.validation.rule_parts import rules_under_check, validation_error
from kyvsim.languages.classic.validation.variables import invalid_variables, user_dependencies
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.ports import BudgetError
from kyvsim.model.result import Phase, Stage
from kyvsim.model.source import Document

# One policy → CompiledPolicy.


# Rules that report their outcomes for coverage: as a whole, and in each form of autogen.


Lowered: TypeAlias = dict[Rule, tuple[CompiledRule, ...]]
"""Compiled rules, one for each phase, by the rule that they were made from."""


def probe_rules(
    policy: Policy, computed: ComputedRules, lowered: Lowered, options: CompileOptions
) -> Lowered:
    """Return compiled rules that report for coverage when they apply.

    A written rule and those derived from it are one point; which of these forms applied is another.
    """
    found: Lowered = {}
    for written in computed.written:
        forms = {"as written": written, **_derived_from(written, computed)}
        for number, rule in enumerate(forms.values()):
            compiled = lowered[rule]
            if compiled:
                ends = next(rule_types_of(rule.data)).ends_of(rule.data)
                tell = compile_counter(ends, options.trace_of(policy, rule), number, tuple(forms))
                compiled = tuple(with_coverage(one, tell) for one in compiled)
            found[rule] = compiled
    return found


def _derived_from(written: Rule, computed: ComputedRules) -> dict[str, Rule]:
    return {
        "autogen-cronjob" if one.for_cron_jobs else "autogen": one.rule
        for one in computed.derived
        if one.written is written
    }


# One policy → CompiledPolicy.


def lower_policy(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, tuple[Diagnostic, ...]]:
    """Return a policy compiled, or None and why it cannot be.

    KV190: an expression or another text of the policy cannot be read.
    """
    try:
        return compile_policy(policy, options), ()
    except (QuerySyntaxError, ValueError) as error:
        return None, (uncompiled(policy, error),)
    except RuleBudgetError as error:
        return None, (exhausted(policy, error.rule, str(error)),)


class RuleBudgetError(BudgetError):
    """Evaluating what is constant in a rule takes more than a rule may."""

    def __init__(self, rule: Rule, error: BudgetError) -> None:
        super().__init__(str(error))
        self.rule = rule
        self.cause = error.cause


def exhausted(policy: Policy, rule: Rule, why: str) -> Diagnostic:
    """Return that a rule cannot be compiled within the budget, at the rule.

    KV190: an expression or another text of the policy cannot be read.
    """
    message = f"rule `{rule.name}` can't be compiled: {why}"
    return validation_error(policy, "KV190", message, rule.path)


def compile_rule(policy: Policy, rule: Rule, options: CompileOptions) -> tuple[CompiledRule, ...]:
    """Return a rule as closures, of which constants are evaluated on a budget of its own.

    Raises what `lower_rule` raises, and RuleBudgetError.
    """
    options.system.meter.begin_rule()
    try:
        return lower_rule(policy, rule, options)
    except BudgetError as error:
        raise RuleBudgetError(rule, error) from error


def compile_policy(policy: Policy, options: CompileOptions) -> CompiledPolicy:
    """Return the policy as closures; its derived rules are made and compiled when one is met.

    Raises what `compile_rule` raises.
    """
    only = options.only
    computed = compute_rules(policy) if only is None else ComputedRules((only,))
    lowered = {rule: compile_rule(policy, rule, options) for rule in computed.written}

    def every() -> Lowered:
        others = (one for some in computed.of_other_kinds.values() for one in some)
        derived = (one.rule for one in (*computed.derived, *others))
        return lowered | {one: lower_derived_rule(policy, one, options) for one in derived}

    if options.coverage_sink:  # coverage counts all of them
        unprobed = every()
        lowered = unprobed | probe_rules(policy, computed, unprobed, options)
    forms = cache(lambda: _forms(computed, lowered if options.coverage_sink else every()))
    return CompiledPolicy(policy, _plain(computed, lowered), _derivation(computed, lowered, forms))


def _plain(computed: ComputedRules, lowered: Lowered) -> tuple[CompiledRule, ...]:
    """Return the rules for kinds of which none are derived."""
    written = _of(computed.written, lowered)
    if not computed.derived:
        return written
    return (
        *(one for one in _of(computed.retained, lowered) if one.stage is not Stage.VALIDATE),
        *(one for one in written if one.stage is Stage.VALIDATE),
    )


def _of(rules: Iterable[Rule], lowered: Lowered) -> tuple[CompiledRule, ...]:
    """Return rules as they are compiled, in all phases of each."""
    return tuple(one for rule in rules for one in lowered[rule])


def _derivation(
    computed: ComputedRules, lowered: Lowered, forms: Callable[[], DerivedForms]
) -> Derivation | None:
    if not computed.derived:
        return None
    kinds, is_open = POD_CONTROLLERS, False
    if not computed.controllers <= POD_CONTROLLERS:  # an annotation may name anything
        named = [one.kinds for one in forms().rules]
        kinds, is_open = computed.controllers.union(*filter(None, named)), None in named
    retained = _of(computed.retained, lowered)
    return Derivation(kinds, is_open, retained, len(computed.derived), forms)


def _forms(computed: ComputedRules, lowered: Lowered) -> DerivedForms:
    def validating(rules: tuple[Rule, ...]) -> tuple[CompiledRule, ...]:
        return tuple(rule for rule in _of(rules, lowered) if rule.phase is Phase.VALIDATE)

    # All controllers but one have the same rules.
    alike = {_form_of(kind): kind for kind in computed.controllers}
    of_kind = {form: validating(computed.for_kind(kind)) for form, kind in alike.items()}
    return DerivedForms(
        _of(computed.every, lowered),
        {kind: of_kind[_form_of(kind)] for kind in computed.controllers},
    )


def _form_of(kind: str) -> str:
    """Return the kind itself where its objects have derived rules of their own, else ""."""
    return kind if kind == CRON_JOB or kind not in POD_CONTROLLERS else ""


# ClusterPolicy and Policy documents to policies, and whether they need a request.


# Documents → ClusterPolicies and Policies.
#
# Codes: KV023 a policy without rules.


def read(data: Json, document: Document) -> tuple[Policy, tuple[Diagnostic, ...]]:
    """Return a policy whose shape is right, with a warning if it has no rules."""
    spec = data["spec"]
    rules = tuple(
        Rule(rule["name"], rule, ("spec", "rules", index), rule_facts(rule, spec))
        for index, rule in enumerate(spec.get("rules", ()))
    )
    policy = Policy(
        kind=data["kind"],
        name=metadata(data)["name"],
        namespace=text_field(metadata(data), "namespace"),
        annotations=annotations(data),
        spec=spec,
        rules=rules,
        document=document,
        facts=policy_facts(spec, tuple(rule.facts for rule in rules)),
    )
    if rules:
        return policy, ()
    place = document.locate(("spec",))
    return policy, (Diagnostic("KV023", Severity.WARNING, "the policy has no rules", place),)


# Policies that need a request: its user, or variables of its own.


def needs_request(policy: Policy) -> bool:
    """Return whether a policy cannot be looked at in the background."""
    if any(True for _ in user_dependencies(policy)):
        return True
    subjects = rules_under_check(policy)
    return any(True for one in subjects for _ in invalid_variables(one, background=True))
