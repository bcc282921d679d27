"""`validate.deny`: the rule fails if its conditions hold.

Source of the rules: upstream pkg/engine/handlers/validation/validate_resource.go.
"""

from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, errored, failed
from kyvsim.engine.compile.tracing import CHECKED, DENIED, Ends
from kyvsim.engine.conditions import ConditionError, compile_conditions
from kyvsim.languages.classic.rule_type import (
    RuleContext,
    RuleType,
    compile_denial_message,
    own_message,
    usual_pass,
)
from kyvsim.model.result import Phase
from kyvsim.policy.rule import RuleNode
from kyvsim.policy.tree import Conditions


def compile_deny(context: RuleContext, denied: Conditions | None) -> CompiledBody:
    """Return the body of a `deny` block with these conditions, of a rule or of one of its loops."""
    conditions = compile_conditions(denied, context.system, context.trace.at("conditions"))
    bare = f"validation error: rule {context.rule.name} failed"
    message = compile_denial_message(context, own_message(context), bare)
    pass_outcome = usual_pass(context)

    def evaluate(evaluation: Evaluation) -> Outcome:
        try:
            result = conditions(evaluation.scope)
        except ConditionError as error:
            return errored("failed to check deny conditions", error)
        if not result.met:
            return pass_outcome
        text = message(evaluation.scope, result.messages)
        return failed(text, own=text)

    return evaluate


def _denied(rule: RuleNode) -> Conditions | None:
    return rule.validate and rule.validate.deny and rule.validate.deny.conditions


def _ends(rule: RuleNode) -> Ends:
    conditions = _denied(rule)
    groups = conditions.groups if conditions else ()
    has_any = any(one.any is not None or one.all is not None for one in groups)
    return CHECKED if has_any else DENIED


RULE_TYPE = RuleType(
    ("validate", "deny"),
    Phase.VALIDATE,
    lambda context: compile_deny(context.within("validate", "deny"), _denied(context.rule.tree)),
    # A rule that denies without conditions cannot pass.
    ends=_ends,
)
