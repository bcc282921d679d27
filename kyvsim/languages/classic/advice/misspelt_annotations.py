"""Annotations that nobody reads and that are a slip of one that is read."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.classic.autogen import ANNOTATION
from kyvsim.model.diagnostic import Diagnostic, Fix, Way, change
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

_SHOWN = tuple(
    f"policies.kyverno.io/{name}"
    for name in ("title", "category", "severity", "subject", "description", "minversion")
)
"""Annotations that describe a policy: nothing is judged by them."""
_KNOWN = (
    *_SHOWN,
    "policies.kyverno.io/scored",
    "kyverno.io/kyverno-version",
    "kyverno.io/kubernetes-version",
    ANNOTATION,
)
_NEAR = 0.75
"""How like each part of a name must be to that of a known one, before and after the slash."""


def misspelt_annotations(policy: Policy) -> Iterator[Diagnostic]:
    """KV224: an annotation that is a slip of one that means something.

    upstream: api/kyverno/constants.go, pkg/utils/report/results.go, pkg/autogen
    """
    names = [one for one in policy.annotations if one not in _KNOWN and "kyverno" in one.lower()]
    for name in names:
        meant = max(_KNOWN, key=lambda known: _likeness(name, known))
        if _likeness(name, meant) >= _NEAR and meant not in policy.annotations:
            path = ("metadata", "annotations", name)
            text = f"nobody reads the annotation `{name}`: did you mean `{meant}`?"
            yield warn(policy.document, "KV224", text, path, fix=_fix(policy, path, meant))


def _likeness(name: str, known: str) -> float:
    """Return how like the less alike part of two names is."""
    pairs = zip(name.lower().partition("/"), known.partition("/"), strict=True)
    return min(SequenceMatcher(None, one, other).ratio() for one, other in pairs)


def _fix(policy: Policy, path: Path, meant: str) -> "Fix | None":
    """Return what spells an annotation rightly, where nothing is judged by it."""
    if meant not in _SHOWN:
        return None

    return Fix(f"use {meant}", (change(policy.document, Way.KEY, path, meant),))
