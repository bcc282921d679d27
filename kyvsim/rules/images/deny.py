"""`validate.deny` inside `verifyImages`: conditions on attestations that let no image pass.

upstream: pkg/engine/internal/imageverifier.go (`validateDeny`, `getDenyMessage`)
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from kyvsim.conditions import compile_conditions
from kyvsim.context import JSONContext
from kyvsim.expr import Environment, QueryError
from kyvsim.kube.objects import Json
from kyvsim.rules.messages import compile_messages

Denials: TypeAlias = Callable[[JSONContext], str | None]
"""Returns the message of the first entry that denies; raises `ConditionError`."""

_NO_TEXT = "the produced message didn't resolve to a string, check your policy definition."


def compile_denials(entries: Iterable[Json], environment: Environment) -> Denials | None:
    """Return what finds the first entry that denies, or None where no entry has a say."""
    blocks = [entry["validate"] for entry in entries if entry.get("validate")]
    denials = [_compile_denial(block, environment) for block in blocks if block.get("deny")]

    def first(scope: JSONContext) -> str | None:
        return next((text for one in denials if (text := one(scope)) is not None), None)

    return first if blocks else None


def _compile_denial(block: Json, environment: Environment) -> Denials:
    own = block.get("message") or ""
    conditions = compile_conditions(block["deny"].get("conditions"), environment)
    render = compile_messages(environment, own)

    def deny(scope: JSONContext) -> str | None:
        result = conditions(scope)
        if not result.met:
            return None
        parts = [part for part in (own, result.messages) if part]
        if not parts:
            return "validation error: imageVerify  failed"
        try:
            text = render("; ".join(parts), scope)
        except QueryError:
            return result.messages
        return text if text.__class__ is str else _NO_TEXT

    return deny
