"""Whether an admission policy of Kubernetes can stand for a policy, which wants it.

Source of the rules: upstream pkg/controllers/admissionpolicygenerator (generate-vap.go,
generate-map.go).
"""

from kyvsim.languages.cel.compile import variants_of
from kyvsim.model.policy import Policy

_MUTATING = "MutatingAdmissionPolicy"
_IN_WHOLE = (
    "useServerSideApply is enabled, which mutates atomic fields that a native "
    "MutatingAdmissionPolicy rejects."
)


def wants_native_twin(policy: Policy, kind: str) -> bool:
    """Return whether a policy wants an admission policy of a kind."""
    field = f"{kind[0].lower()}{kind[1:]}"
    return ((policy.spec.get("autogen") or {}).get(field) or {}).get("enabled") is True


def why_no_native_twin(policy: Policy, kind: str) -> str:
    """Return why there is no admission policy for a policy, "" where there is one."""
    skipped = f"skip generating {kind}:"
    if not wants_native_twin(policy, kind):
        return f"{skipped} not enabled."
    evaluation = policy.spec.get("evaluation") or {}
    if kind == _MUTATING and evaluation.get("useServerSideApply"):
        return f"{skipped} {_IN_WHOLE}"
    if variants_of(policy):
        return f"{skipped} pod controllers autogen is enabled."
    return ""
