"""Policies that match nothing, because they do not say what.

upstream: pkg/cel/matching; admission refuses them
"""

from collections.abc import Iterator

from kyvsim.compile.remark import warn
from kyvsim.languages.cel.advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

_KINDS = frozenset({"ValidatingPolicy", "GeneratingPolicy"})


def no_constraints(written: Written) -> Iterator[Diagnostic]:
    """KV250: a policy without `matchConstraints`."""
    mode = (written.spec.get("evaluation") or {}).get("mode") or "Kubernetes"
    if written.kind in _KINDS and mode == "Kubernetes" and not written.spec.get("matchConstraints"):
        text = "the policy matches nothing: it has no `matchConstraints` (a cluster refuses it)"
        yield warn(written.policy.document, "KV250", text, ("spec",))
