"""`validate.manifests`: the object is what a signed manifest in its annotations says."""

from kyvsim.model.result import Phase
from kyvsim.rules.protocol import CompiledBody, RuleContext, RuleType


def _compile(context: RuleContext) -> CompiledBody:
    from kyvsim.rules.manifests.body import compile_manifests  # noqa: PLC0415 — seldom needed

    return compile_manifests(context)


RULE_TYPE = RuleType(("validate", "manifests"), Phase.VALIDATE, _compile)
