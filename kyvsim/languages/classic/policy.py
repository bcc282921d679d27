"""One policy → CompiledPolicy."""

from kyvsim.compile.compiled import CompiledPolicy, CompiledRule
from kyvsim.compile.options import CompileOptions
from kyvsim.compile.remark import uncompiled
from kyvsim.expr import QuerySyntaxError
from kyvsim.languages.classic.autogen import CRON_JOB, ComputedRules, compute_rules
from kyvsim.languages.classic.lower import lower_derived_rule, lower_rule
from kyvsim.languages.classic.probed_rules import probe_rules
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import Phase


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


def compile_policy(policy: Policy, options: CompileOptions) -> CompiledPolicy:
    """Return the policy with its derived rules, as closures.

    Raises what `lower_rule` raises.
    """
    only = options.only
    computed = compute_rules(policy) if only is None else ComputedRules((only,))
    lowered = {id(rule): lower_rule(policy, rule, options) for rule in computed.written}
    for one in computed.derived:
        lowered[id(one.rule)] = lower_derived_rule(policy, one.rule, options)
    if options.listener:
        lowered = probe_rules(policy, computed, lowered, options)

    def compiled(rules: tuple[Rule, ...]) -> tuple[CompiledRule, ...]:
        return tuple(one for rule in rules for one in lowered[id(rule)])

    def validating(rules: tuple[Rule, ...]) -> tuple[CompiledRule, ...]:
        return tuple(rule for rule in compiled(rules) if rule.phase is Phase.VALIDATE)

    # All controllers but one have the same rules.
    alike = {kind == CRON_JOB: kind for kind in computed.controllers}
    of_kind = {is_cron: validating(computed.for_kind(kind)) for is_cron, kind in alike.items()}
    return CompiledPolicy(
        policy=policy,
        rules=compiled(computed.every),
        validating={kind: of_kind[kind == CRON_JOB] for kind in computed.controllers},
        validating_others=validating(computed.written),
    )
