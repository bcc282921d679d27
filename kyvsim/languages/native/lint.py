"""Everything that can be said of one of Kubernetes' admission policies by itself."""

from collections.abc import Iterator

from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.engine.compile import CompileOptions
from kyvsim.languages.cel_advice import SHARED_ADVICE
from kyvsim.languages.cel_advice.written import Written, expressions_of
from kyvsim.languages.native.compile import compile_native_policy
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy


def lint_policy(policy: Policy, options: CompileOptions) -> tuple[Diagnostic, ...]:
    """Return all remarks about a policy; of one with an expression in error there is no advice."""
    return compile_native_policy(policy, options)[1] or tuple(_advice(policy))


def _advice(policy: Policy) -> Iterator[Diagnostic]:
    env = kubernetes_environment(params=bool(policy.spec.get("paramKind")), mutates=True)
    written = Written(policy, env, expressions_of(policy.spec, env))
    for give in SHARED_ADVICE:
        yield from give(written)
