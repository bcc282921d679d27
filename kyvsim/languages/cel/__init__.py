"""Kyverno's CEL policy kinds: one file for each kind, and what they share.

Everything but their names is loaded when a policy of them is compiled.
"""

from kyvsim.model.policy import Policy

_GROUP = "policies.kyverno.io"
CEL_KINDS = frozenset(
    {
        *(f"{_GROUP}/{version}/ValidatingPolicy" for version in ("v1alpha1", "v1beta1", "v1")),
        *(f"{_GROUP}/{version}/NamespacedValidatingPolicy" for version in ("v1beta1", "v1")),
    }
)
"""The kinds that are evaluated, as apiVersion/kind."""
_NAMES = frozenset(name.rpartition("/")[2] for name in CEL_KINDS)


def is_cel_policy(policy: Policy) -> bool:
    """Return whether a policy is of one of these kinds."""
    return policy.kind in _NAMES
