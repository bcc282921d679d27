"""What shows how a rule ends without evaluating it: the proofs of its body, and when they count."""

from collections.abc import Callable

from kyvsim.compile.compiled import Proofs
from kyvsim.compile.options import CompileOptions
from kyvsim.conditions.shape import asks_only, confirming_shape
from kyvsim.languages.classic.rule_type import RuleContext, RuleType
from kyvsim.match import matches_by_kind
from kyvsim.model.result import Phase
from kyvsim.proof import together

_OBJECT = ("request", "object")
_OPERATION = ("request", "operation")
_MORE = ("exclude", "context", "celPreconditions", "reportProperties")
"""Fields of a rule that may make a difference that no shape shows."""


def compile_proofs(
    rule_type: RuleType, context: RuleContext, options: CompileOptions
) -> Callable[[], Proofs] | None:
    """Return what compiles the proofs of a rule; None where none would count.

    Where somebody listens nothing is proved: what is reached would not be told.
    """
    data = context.rule.data
    if rule_type.phase is not Phase.VALIDATE or context.policy.kind == "Policy":
        return None
    if options.is_heard or any(data.get(field) for field in _MORE):
        return None
    return (lambda: _proofs(rule_type, context)) if matches_by_kind(data.get("match")) else None


def _proofs(rule_type: RuleType, context: RuleContext) -> Proofs:
    preconditions = context.rule.data.get("preconditions")
    if preconditions is None or asks_only(preconditions, *_OPERATION):
        return Proofs(rule_type.proofs(context), after_preconditions=preconditions is not None)
    shape = confirming_shape(preconditions, _OBJECT)
    if shape is None:
        return Proofs((), after_preconditions=False)
    joined = (
        proof._replace(shape=together((shape, proof.shape))) for proof in rule_type.proofs(context)
    )
    return Proofs(tuple(joined), after_preconditions=False)
