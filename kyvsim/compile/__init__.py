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
    "compile_policies",
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
        problems = () if options.admitted else check_policy(policy)
        diagnostics.extend(problems)
        if problems:
            continue
        try:
            compiled.append(compile_policy(policy, options))
        except (QuerySyntaxError, ValueError) as error:
            diagnostics.append(_refused(policy, error))
            continue
        if not options.admitted:
            diagnostics.extend(doubts_about(policy))
    return index_policies(compiled), tuple(diagnostics)


def _refused(policy: Policy, error: Exception) -> Diagnostic:
    message = f"policy `{policy.key}` can't be compiled: {error}"
    return refuse(policy, "KV190", message, ("spec",))
