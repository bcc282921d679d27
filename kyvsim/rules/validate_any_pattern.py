"""`validate.anyPattern`: the object has to look like one of the patterns.

Source of the rules: upstream pkg/engine/handlers/validation/validate_resource.go.
"""

from kyvsim.expr import QueryError
from kyvsim.kube.objects import Json
from kyvsim.model.result import Phase
from kyvsim.pattern import FailureKind, compile_any_pattern
from kyvsim.rules.messages import compile_alternatives_message, own_message
from kyvsim.rules.protocol import (
    CompiledBody,
    Evaluation,
    Outcome,
    RuleContext,
    RuleType,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.rules.validate_pattern import compile_checker, subject_of


def compile_any_pattern_body(context: RuleContext, patterns: Json) -> CompiledBody:
    """Return the body of an `anyPattern` block, of a rule or of one of its loops."""
    name = context.rule.name
    checkers_for = compile_checker(context, patterns, compile_any_pattern)
    message = compile_alternatives_message(context)
    nothing_to_check = passed(own_message(context))

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        try:
            checkers = checkers_for(evaluation.scope)
        except QueryError as error:
            return errored("variable substitution failed", error)
        subject = subject_of(evaluation)
        if subject is None:
            return None
        failures, skips = [], []
        for index, check in enumerate(checkers):
            failure = check(subject)
            if failure is None:
                return passed(f"validation rule '{name}' anyPattern[{index}] passed.")
            if failure.kind is FailureKind.SKIP:
                skips.append(f"rule {name}[{index}] skipped: {failure.message}")
            elif failure.path:
                failures.append(f"rule {name}[{index}] failed at path {failure.path}")
            else:
                failures.append(f"rule {name}[{index}] failed: {failure.message}")
        if failures:
            return failed(message(evaluation.scope, " ".join(failures)))
        return skipped(" ".join(skips)) if skips else nothing_to_check

    return evaluate


def _compile(context: RuleContext) -> CompiledBody:
    return compile_any_pattern_body(context, context.rule.data["validate"]["anyPattern"])


RULE_TYPE = RuleType(("validate", "anyPattern"), Phase.VALIDATE, _compile)
