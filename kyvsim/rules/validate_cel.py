"""`validate.cel`: the rule fails where one of its CEL expressions is not true.

Source of the rules: upstream pkg/engine/handlers/validation/validate_cel.go.
"""

from kyvsim.model.result import Phase
from kyvsim.rules.protocol import CompiledBody, RuleContext, RuleType


def _compile(context: RuleContext) -> CompiledBody:
    from kyvsim.rules.cel_body import compile_cel  # noqa: PLC0415 — CEL is slow to import

    return compile_cel(context)


RULE_TYPE = RuleType(("validate", "cel"), Phase.VALIDATE, _compile, tolerant=False)
