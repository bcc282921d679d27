"""`validate.podSecurity`: Pods against the Pod Security Standards."""

from kyvsim.model.result import Phase
from kyvsim.rules.protocol import CompiledBody, RuleContext, RuleType


def _compile(context: RuleContext) -> CompiledBody:
    if not context.rule.data["validate"]["podSecurity"]:
        # upstream takes a body without fields for none at all
        return lambda _: None
    from kyvsim.rules.pod_security.body import (  # noqa: PLC0415 — many modules, rarely needed
        compile_pod_security,
    )

    return compile_pod_security(context)


RULE_TYPE = RuleType(("validate", "podSecurity"), Phase.VALIDATE, _compile, weighs_exceptions=True)
