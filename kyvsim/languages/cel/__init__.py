"""Kyverno's CEL policy kinds: one file for each kind, and what they share.

Everything but their names is loaded when a policy of them is compiled.
"""

from kyvsim.model.policy import Policy

_GROUP = "policies.kyverno.io"
_EVALUATED = ("ValidatingPolicy",)
_NAMES = frozenset((*_EVALUATED, *(f"Namespaced{name}" for name in _EVALUATED)))
CEL_KINDS = frozenset(
    f"{_GROUP}/{version}/{name}"
    for name in _NAMES
    for version in ("v1alpha1", "v1beta1", "v1")
    if version != "v1alpha1" or not name.startswith("Namespaced")
)
"""The kinds that are evaluated, as apiVersion/kind."""


def is_cel_policy(policy: Policy) -> bool:
    """Return whether a policy is of one of these kinds."""
    return policy.kind in _NAMES
