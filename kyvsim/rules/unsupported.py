"""Rule types that kyvsim does not evaluate yet: their rules end in an error that says so."""

from kyvsim.model.result import Phase
from kyvsim.rules.protocol import CompiledBody, RuleContext, RuleType, errored


def _type(*field: str, phase: Phase) -> RuleType:
    outcome = errored(f"kyvsim does not evaluate {'.'.join(field)} rules yet")

    def compile_body(_context: RuleContext) -> CompiledBody:
        return lambda _: outcome

    return RuleType(field, phase, compile_body)


UNSUPPORTED = (
    _type("validate", "manifests", phase=Phase.VALIDATE),
)
