"""Policies of all languages → what the engine runs."""

from collections.abc import Iterable

from kyvsim.compile import (
    CompiledPolicy,
    CompileOptions,
    PolicySet,
    compile_checked,
    declare_exceptions,
    index_policies,
)
from kyvsim.languages.cel import compile_cel_policy, is_cel_policy
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy


def compile_policies(
    policies: Iterable[Policy], options: CompileOptions
) -> tuple[PolicySet, tuple[Diagnostic, ...]]:
    """Return the sound policies compiled and indexed, and what is wrong with the others."""
    declare_exceptions(options)
    compiled: list[CompiledPolicy] = []
    diagnostics: list[Diagnostic] = []
    for policy in policies:
        compile_one = compile_cel_policy if is_cel_policy(policy) else compile_checked
        found, problems = compile_one(policy, options)
        diagnostics.extend(problems)
        if found is not None:
            compiled.append(found)
    return index_policies(compiled), tuple(diagnostics)
