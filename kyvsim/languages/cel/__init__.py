"""Kyverno's CEL policy kinds: one file for each kind, and what they share.

Codes: KV150 an expression that cannot be compiled, KV151 a mode of evaluation that is not there
yet.
"""

from kyvsim.compile import CompiledPolicy, CompileOptions
from kyvsim.languages.cel import validating_policy
from kyvsim.languages.cel.expressions import ExpressionProblem
from kyvsim.model.diagnostic import Diagnostic, Severity
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


def compile_cel_policy(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, tuple[Diagnostic, ...]]:
    """Return a policy compiled, or None with what is wrong with it."""
    mode = (policy.spec.get("evaluation") or {}).get("mode") or "Kubernetes"
    if mode != "Kubernetes":
        text = f"kyvsim does not evaluate policies of mode {mode} yet"
        place = policy.document.locate(("spec", "evaluation", "mode"))
        return None, (Diagnostic("KV151", Severity.ERROR, text, place),)
    compiled, problems = validating_policy.lower(policy, options)
    if problems:
        return None, tuple(_diagnostic(policy, one) for one in problems)
    return compiled, ()


def _diagnostic(policy: Policy, problem: ExpressionProblem) -> Diagnostic:
    head, *lines = problem.message.split("\n")
    shown = "".join(f"\n    {line.strip()}" for line in lines)
    variant = f" (as derived for {problem.variant})" if problem.variant else ""
    text = f"`{policy.key}`{variant}: {head.removeprefix('ERROR: <input>:')}{shown}"
    return Diagnostic("KV150", Severity.ERROR, text, policy.document.locate(problem.path))
