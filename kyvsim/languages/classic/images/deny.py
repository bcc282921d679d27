"""`validate.deny` inside `verifyImages`: conditions on attestations that let no image pass.

upstream: pkg/engine/internal/imageverifier.go (`validateDeny`, `getDenyMessage`)
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from kyvsim.engine.conditions import compile_conditions
from kyvsim.engine.context import JSONContext
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.messages import compile_denial_message
from kyvsim.languages.classic.rule_type import RuleContext

Denials: TypeAlias = Callable[[JSONContext], str | None]
"""Returns the message of the first entry that denies; raises `ConditionError`."""


def compile_denials(entries: Iterable[Json], context: RuleContext) -> Denials | None:
    """Return what finds the first entry that denies, or None where no entry has a say."""
    blocks = [
        (entry["validate"], context.within(index, "validate", "deny"))
        for index, entry in enumerate(entries)
        if entry.get("validate")
    ]
    denials = [_compile_denial(*one) for one in blocks if one[0].get("deny")]

    def first(scope: JSONContext) -> str | None:
        return next((text for one in denials if (text := one(scope)) is not None), None)

    return first if blocks else None


def _compile_denial(block: Json, context: RuleContext) -> Denials:
    system, probe = context.system, context.probe.at("conditions")
    conditions = compile_conditions(block["deny"].get("conditions"), system, probe)
    message = compile_denial_message(
        system, block.get("message") or "", "validation error: imageVerify  failed"
    )

    def deny(scope: JSONContext) -> str | None:
        result = conditions(scope)
        return message(scope, result.messages) if result.met else None

    return deny
