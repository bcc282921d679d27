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
from kyvsim.languages.cel import is_cel_policy
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy


def compile_policies(
    policies: Iterable[Policy], options: CompileOptions
) -> tuple[PolicySet, tuple[Diagnostic, ...]]:
    """Return the sound policies compiled and indexed, and what is wrong with the others."""
    declare_exceptions(options)
    if options.cel_exceptions:
        from kyvsim.languages.cel.exceptions import (  # noqa: PLC0415 — slow, for policies in CEL only
            declare_cel_exceptions,
        )

        declare_cel_exceptions(options)
    compiled: list[CompiledPolicy] = []
    diagnostics: list[Diagnostic] = []
    for policy in policies:
        found, problems = _compile(policy, options)
        diagnostics.extend(problems)
        if found is not None:
            compiled.append(found)
    return index_policies(compiled), tuple(diagnostics)


def _compile(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, tuple[Diagnostic, ...]]:
    if not is_cel_policy(policy):
        return compile_checked(policy, options)
    from kyvsim.languages.cel.compile import (  # noqa: PLC0415 — slow, for policies in CEL only
        compile_cel_policy,
    )

    return compile_cel_policy(policy, options)
