"""Kinds of Kyverno's that are on their way out.

Source of the texts: upstream pkg/deprecations.
"""

from types import MappingProxyType

_REPLACEMENTS = MappingProxyType(
    {
        "ClusterPolicy": "ValidatingPolicy, MutatingPolicy, GeneratingPolicy or"
        " ImageValidatingPolicy",
        "Policy": "NamespacedValidatingPolicy, NamespacedMutatingPolicy,"
        " NamespacedGeneratingPolicy or NamespacedImageValidatingPolicy",
        "ClusterCleanupPolicy": "DeletingPolicy",
        "CleanupPolicy": "NamespacedDeletingPolicy",
        "PolicyException": "PolicyException",
    }
)
_GUIDE = "https://kyverno.io/docs/guides/migration-to-cel/"


def deprecation(kind: str) -> str:
    """Return that a kind is on its way out, "" where it is not."""
    replacement = _REPLACEMENTS.get(kind)
    if replacement is None:
        return ""
    return (
        f"{kind} (kyverno.io) is deprecated and will be removed in a future release; migrate to"
        f" {replacement} (policies.kyverno.io), see {_GUIDE}"
    )
