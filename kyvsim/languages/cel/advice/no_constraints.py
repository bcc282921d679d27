"""Policies that do not say what they are about: they match nothing here, or everything.

upstream: pkg/cel/matching; admission refuses them
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

_KINDS = frozenset({"ValidatingPolicy", "GeneratingPolicy"})


def no_constraints(written: Written) -> Iterator[Diagnostic]:
    """KV250: a policy without `matchConstraints`; KV255: one whose constraints have no rule."""
    mode = (written.spec.get("evaluation") or {}).get("mode") or "Kubernetes"
    if mode != "Kubernetes":
        return
    constraints = written.spec.get("matchConstraints")
    if constraints is not None and not constraints.get("resourceRules"):
        text = (
            "the policy looks at objects of every kind: `matchConstraints` has no `resourceRules` "
            "(a cluster refuses it)"
        )
        place = ("spec", "matchConstraints")
        yield warn(written.policy.document, "KV255", text, place)
    if constraints is None and written.kind in _KINDS:
        text = "the policy matches nothing: it has no `matchConstraints` (a cluster refuses it)"
        yield warn(written.policy.document, "KV250", text, ("spec",))
