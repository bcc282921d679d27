"""Policy → CompiledPolicy: derived rules, closures and the index by kind."""

from collections.abc import Iterable

from kyvsim.compile.checks import check_policy
from kyvsim.compile.checks.refusal import refuse
from kyvsim.compile.compiled import CompiledPolicy, CompiledRule
from kyvsim.compile.doubts import doubts_about
from kyvsim.compile.exceptions import declare_exceptions
from kyvsim.compile.options import CompileOptions, Model
from kyvsim.compile.policy import compile_policy
from kyvsim.compile.policy_set import PolicySet, Step, index_policies
from kyvsim.expr import QuerySyntaxError
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy

__all__ = [
    "CompileOptions",
    "CompiledPolicy",
    "CompiledRule",
    "Model",
    "PolicySet",
    "Step",
    "compile_checked",
    "compile_policies",
    "declare_exceptions",
    "index_policies",
]


def compile_policies(
    policies: Iterable[Policy], options: CompileOptions
) -> tuple[PolicySet, tuple[Diagnostic, ...]]:
    """Return the sound policies compiled and indexed, and what is wrong with the others.

    Of the sound ones it is told what cannot be meant, unless a cluster has let them in.
    KV190: an expression or another text of the policy cannot be read.
    """
    declare_exceptions(options)
    compiled: list[CompiledPolicy] = []
    diagnostics: list[Diagnostic] = []
    for policy in policies:
        found, problems = compile_checked(policy, options)
        diagnostics.extend(problems)
        if found is not None:
            compiled.append(found)
    return index_policies(compiled), tuple(diagnostics)


def compile_checked(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, tuple[Diagnostic, ...]]:
    """Return a policy compiled, or None, with what is wrong with it or cannot be meant."""
    problems = () if options.admitted else check_policy(policy)
    if problems:
        return None, tuple(problems)
    try:
        compiled = compile_policy(policy, options)
    except (QuerySyntaxError, ValueError) as error:
        return None, (_refused(policy, error),)
    return compiled, () if options.admitted else tuple(doubts_about(policy))


def _refused(policy: Policy, error: Exception) -> Diagnostic:
    message = f"policy `{policy.key}` can't be compiled: {error}"
    return refuse(policy, "KV190", message, ("spec",))
