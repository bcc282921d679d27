"""A policy of a CEL kind → CompiledPolicy, and what is wrong with its expressions.

Codes: KV150 an expression that cannot be compiled, KV151 a mode of evaluation that is not there
yet.
"""

from kyvsim.compile import CompiledPolicy, CompileOptions
from kyvsim.languages.cel import validating_policy
from kyvsim.languages.cel.expressions import ExpressionProblem
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy


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
