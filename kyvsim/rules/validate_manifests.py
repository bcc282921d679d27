"""`validate.manifests`: the object is what a signed manifest in its annotations says."""

from kyvsim.kube.objects import Json
from kyvsim.model.result import Phase
from kyvsim.rules.protocol import NOT_CARRIED, CompiledBody, RuleContext, RuleType


def _compile(context: RuleContext) -> CompiledBody:
    from kyvsim.rules.manifests.body import compile_manifests  # noqa: PLC0415 — seldom needed

    return compile_manifests(context)


def _counts(body: Json) -> bool:
    """Return whether a body asks for anything: upstream does not see one without attestors."""
    return bool((body or {}).get("attestors"))


RULE_TYPE = RuleType(
    ("validate", "manifests"), Phase.VALIDATE, _compile, NOT_CARRIED, counts=_counts
)
