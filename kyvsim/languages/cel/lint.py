"""Everything that can be said of one policy in CEL: what does not compile, else advice."""

from collections.abc import Iterator

from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.engine.compile import CompileOptions
from kyvsim.languages.cel.advice import CEL_ADVICE
from kyvsim.languages.cel.autogen import is_about_pods, variants
from kyvsim.languages.cel.compile import compile_cel_policy, idle_parts
from kyvsim.languages.cel.mutation_variants import variants as moved_variants
from kyvsim.languages.cel_advice.written import Written, expressions_of
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy

_DERIVED = frozenset({"ValidatingPolicy", "ImageValidatingPolicy"})
"""Kinds whose texts are all changed in what is derived from them."""


def lint_policy(policy: Policy, options: CompileOptions) -> tuple[Diagnostic, ...]:
    """Return all remarks about a policy whose shape is right.

    Of one that cannot be compiled in full, or does nothing, there is no advice: what is wrong comes
    first.
    """
    problems = compile_cel_policy(policy, options)[1] or tuple(idle_parts(policy))
    return problems or tuple(_advice(policy, options))


def _advice(policy: Policy, options: CompileOptions) -> Iterator[Diagnostic]:
    system = options.system
    env = kyverno_environment(policy.kind, system.clock, system.entropy)
    kind = policy.kind.removeprefix("Namespaced")
    written = Written(
        policy=policy,
        env=env,
        expressions=expressions_of(policy.spec, env),
        derivable=kind in _DERIVED,
        is_derived=kind in _DERIVED and any(True for _ in variants(policy.spec)),
        is_moved=kind == "MutatingPolicy" and any(True for _ in moved_variants(policy.spec)),
        is_about_pods=is_about_pods(policy.spec.get("matchConstraints") or {}),
    )
    for give in CEL_ADVICE:
        yield from give(written)
