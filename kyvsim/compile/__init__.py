"""Policy → CompiledPolicy: derived rules, closures and the index by kind."""

from kyvsim.compile.checks import check_policy
from kyvsim.compile.compiled import CompiledPolicy, CompiledRule, Properties
from kyvsim.compile.doubts import doubts_about
from kyvsim.compile.exceptions import declare_exceptions
from kyvsim.compile.options import CompileOptions, Model
from kyvsim.compile.policy import compile_policy
from kyvsim.compile.policy_set import PolicySet, Step, index_policies
from kyvsim.compile.remark import uncompiled
from kyvsim.expr import QuerySyntaxError
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy

__all__ = [
    "CompileOptions",
    "CompiledPolicy",
    "CompiledRule",
    "Model",
    "PolicySet",
    "Properties",
    "Step",
    "compile_checked",
    "declare_exceptions",
    "index_policies",
]


def compile_checked(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, tuple[Diagnostic, ...]]:
    """Return a policy compiled, or None, with what is wrong with it or cannot be meant.

    What cannot be meant is not told where a cluster has let the policy in.
    KV190: an expression or another text of the policy cannot be read.
    """
    problems = () if options.admitted else check_policy(policy)
    if problems:
        return None, tuple(problems)
    try:
        compiled = compile_policy(policy, options)
    except (QuerySyntaxError, ValueError) as error:
        return None, (uncompiled(policy, error),)
    return compiled, () if options.admitted else tuple(doubts_about(policy))
