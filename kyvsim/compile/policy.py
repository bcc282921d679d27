"""One policy → CompiledPolicy."""

from kyvsim.compile.autogen import compute_rules
from kyvsim.compile.compiled import CompiledPolicy, CompiledRule
from kyvsim.compile.lower import lower_derived_rule, lower_rule
from kyvsim.compile.options import CompileOptions
from kyvsim.compile.watched_rules import watch_rules
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import Phase


def compile_policy(policy: Policy, options: CompileOptions) -> CompiledPolicy:
    """Return the policy with its derived rules, as closures.

    Raises what `lower_rule` raises.
    """
    computed = compute_rules(policy)
    lowered = {id(rule): lower_rule(policy, rule, options) for rule in computed.written}
    for one in computed.derived:
        lowered[id(one.rule)] = lower_derived_rule(policy, one.rule, options)
    if options.listener:
        lowered = watch_rules(policy, computed, lowered, options)

    def compiled(rules: tuple[Rule, ...]) -> tuple[CompiledRule, ...]:
        return tuple(one for rule in rules for one in lowered[id(rule)])

    def validating(rules: tuple[Rule, ...]) -> tuple[CompiledRule, ...]:
        return tuple(rule for rule in compiled(rules) if rule.phase is Phase.VALIDATE)

    return CompiledPolicy(
        policy=policy,
        rules=compiled(computed.every),
        validating={kind: validating(computed.for_kind(kind)) for kind in computed.controllers},
        validating_others=validating(computed.written),
    )
