"""One rule → closures."""

from kyvsim.compile.compiled import CompiledRule
from kyvsim.compile.exceptions import attach_exceptions
from kyvsim.compile.options import CompileOptions, Model
from kyvsim.conditions import compile_conditions
from kyvsim.context.loaders import compile_entries
from kyvsim.match import compile_rule_match, kinds_of_block
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import Phase
from kyvsim.rules import RULE_TYPES
from kyvsim.rules.protocol import CompiledBody, RuleContext, RuleType, skipped


def lower_rule(policy: Policy, rule: Rule, options: CompileOptions) -> tuple[CompiledRule, ...]:
    """Return the rule as closures, once for each phase; () where no rule type takes its body.

    Raises `QuerySyntaxError` where an expression of the rule is no JMESPath, and `ValueError` where
    another text of it cannot be read.
    """
    rule_type = next((one for one in RULE_TYPES if one.takes(rule.data)), None)
    found: list[CompiledRule] = []
    while rule_type is not None:
        found.append(_lower(rule_type, policy, rule, options))
        rule_type = rule_type.then
    return tuple(found)


def _lower(
    rule_type: RuleType, policy: Policy, rule: Rule, options: CompileOptions
) -> CompiledRule:
    data, environment = rule.data, options.environment
    context = RuleContext(policy, rule, environment)
    preconditions = data.get("preconditions")
    return CompiledRule(
        rule=rule,
        phase=rule_type.phase,
        matches=compile_rule_match(data.get("match"), data.get("exclude"), _namespace_of(policy)),
        kinds=kinds_of_block(data.get("match") or {}),
        entries=compile_entries(data.get("context") or (), environment),
        preconditions=compile_conditions(preconditions, environment)
        if preconditions is not None
        else None,
        exceptions=attach_exceptions(policy, rule, options),
        weighs_exceptions=rule_type.weighs_exceptions,
        concerns=rule_type.concerns(context) if rule_type.concerns else None,
        body=_compile_body(rule_type, context, options),
        tolerates_violations=rule_type.tolerant and _tolerates_violations(policy, rule),
    )


def _namespace_of(policy: Policy) -> str:
    return (policy.namespace or "default") if policy.kind == "Policy" else ""


def _compile_body(
    rule_type: RuleType, context: RuleContext, options: CompileOptions
) -> CompiledBody:
    gated = options.model is Model.BACKGROUND_GATES_GENERATE and not context.policy.background
    if gated and rule_type.phase is Phase.GENERATE:
        reason = skipped(
            "generate rules do not run for new objects: the policy has background: false "
            f"(model {Model.BACKGROUND_GATES_GENERATE.value})"
        )
        return lambda _: reason
    return rule_type.compile(context)


def _tolerates_violations(policy: Policy, rule: Rule) -> bool:
    """Return whether failures that an UPDATE did not bring are skipped: Enforce rules by default.

    upstream: pkg/engine/handlers/validation/validate_resource.go
    """
    validate = rule.data.get("validate") or {}
    action = validate.get("failureAction") or policy.spec.get("validationFailureAction") or "Audit"
    return str(action).lower() == "enforce" and validate.get("allowExistingViolations") is not False
