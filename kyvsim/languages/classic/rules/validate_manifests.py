"""`validate.manifests`: the object is what a signed manifest in its annotations says."""

from collections.abc import Callable

from kyvsim.engine.compile.compiled import CompiledBody
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.manifests.body import compile_manifests
from kyvsim.languages.classic.rule_type import NOT_CARRIED, RuleContext, RuleType
from kyvsim.model.result import Phase


def _compile(context: RuleContext) -> CompiledBody:
    return compile_manifests(context)


def _counts(body: Json) -> bool:
    """Return whether a body asks for anything: upstream does not see one without attestors."""
    return bool((body or {}).get("attestors"))


def _concerns(_: RuleContext) -> Callable[[Json], bool]:
    """Return what says whether there is an object: upstream has no handler for a deletion."""
    return lambda obj: obj is not None


RULE_TYPE = RuleType(
    ("validate", "manifests"),
    Phase.VALIDATE,
    _compile,
    NOT_CARRIED,
    counts=_counts,
    concerns=_concerns,
)
