"""`validate.deny`: the rule fails where its conditions hold.

Source of the rules: upstream pkg/engine/handlers/validation/validate_resource.go.
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, Proof, errored, failed
from kyvsim.engine.compile.tracing import CHECKED, DENIED
from kyvsim.engine.conditions import ConditionError, compile_conditions
from kyvsim.engine.conditions.shape import is_seen_whole, refuting_shape
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.rule_type import (
    Remark,
    RuleContext,
    RuleType,
    autogen_rewrite,
    compile_denial_message,
    has_fixed_message,
    never_holds,
    own_message,
    rewrite_conditions,
    usual_pass,
)
from kyvsim.model.result import Phase


def compile_deny(context: RuleContext, deny: Json) -> CompiledBody:
    """Return the body of a `deny` block, of a rule or of one of its loops."""
    trace = context.trace.at("conditions")
    conditions = compile_conditions(deny.get("conditions"), context.system, trace)
    bare = f"validation error: rule {context.rule.name} failed"
    message = compile_denial_message(context.system, own_message(context), bare)
    pass_outcome = usual_pass(context)

    def evaluate(evaluation: Evaluation) -> Outcome:
        try:
            denied = conditions(evaluation.scope)
        except ConditionError as error:
            return errored("failed to check deny conditions", error)
        if not denied.met:
            return pass_outcome
        said = message(evaluation.scope, denied.messages)
        return failed(said, own=said)

    return evaluate


def is_denial_seen_whole(context: RuleContext, deny: Json) -> bool:
    """Return whether a `deny` block depends on nothing but what its refuting shape shows."""
    return is_seen_whole(deny.get("conditions")) and has_fixed_message(context)


def _proofs(context: RuleContext) -> tuple[Proof, ...]:
    deny = context.rule.data["validate"]["deny"]
    shape = refuting_shape(deny.get("conditions"), ("request", "object"))
    is_all = is_denial_seen_whole(context, deny)
    return (Proof(shape, usual_pass(context), is_all=is_all),) if shape else ()


def never_denies(deny: Json) -> Iterator[Remark]:
    """Yield that the conditions of a `deny` block never hold."""
    if deny.__class__ is dict and never_holds(deny.get("conditions")):
        yield (), "`any` of its conditions is empty, so it never denies"


def rewrite_deny(deny: Json) -> Json:
    """Return what a rule denies, with its conditions as a derived rule has them."""
    conditions = deny.get("conditions")
    return {**deny, "conditions": rewrite_conditions(conditions)} if conditions else deny


RULE_TYPE = RuleType(
    ("validate", "deny"),
    Phase.VALIDATE,
    lambda context: compile_deny(
        context.within("validate", "deny"), context.rule.data["validate"]["deny"]
    ),
    autogen_rewrite("deny", lambda deny, _: rewrite_deny(deny)),
    no_effect=never_denies,
    # A rule that denies without conditions cannot pass.
    ends=lambda deny: CHECKED if deny.get("conditions") else DENIED,
    proofs=_proofs,
)
