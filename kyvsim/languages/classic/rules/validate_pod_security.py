"""`validate.podSecurity`: Pods against the Pod Security Standards."""

from kyvsim.engine.compile.compiled import CompiledBody
from kyvsim.languages.classic.pod_security.body import compile_pod_security
from kyvsim.languages.classic.pod_security.exclusions import compile_exclusions
from kyvsim.languages.classic.rule_type import RuleContext, RuleType
from kyvsim.languages.classic.rules.shared import NOTHING_CHECKED, carried_check, empty
from kyvsim.model.result import Phase


def _compile(context: RuleContext) -> CompiledBody:
    if not context.rule.data["validate"]["podSecurity"]:
        # upstream takes a body without fields for none at all
        return lambda _: None

    return compile_pod_security(context)


RULE_TYPE = RuleType(
    ("validate", "podSecurity"),
    Phase.VALIDATE,
    _compile,
    carried_check("podSecurity"),
    idle=empty({}, "podSecurity", NOTHING_CHECKED),
    exclusions=compile_exclusions,
)
