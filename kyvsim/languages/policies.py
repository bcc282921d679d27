"""Policies of all languages → what the engine runs."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from kyvsim.compile import (
    CompiledPolicy,
    CompileOptions,
    PolicySet,
    index_policies,
)
from kyvsim.compile.remark import uncompiled
from kyvsim.languages import cel, classic, cleanup, native
from kyvsim.languages.protocol import Diagnostics, Language
from kyvsim.model.budget import BudgetError
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, PolicyReaders, Rule
from kyvsim.model.ports import System

if TYPE_CHECKING:
    from kyvsim.model.exception import PolicyException
    from kyvsim.model.mention import Mention

LANGUAGES: tuple[Language, ...] = (
    classic.LANGUAGE,
    cleanup.LANGUAGE,
    cel.LANGUAGE,
    native.LANGUAGE,
)

_BY_KIND: Mapping[str, Language] = MappingProxyType(
    {kind: one for one in LANGUAGES for kind in one.kinds}
)

READERS: PolicyReaders = MappingProxyType(
    {(one.group, kind): one.read for one in LANGUAGES for kind in one.kinds}
)
"""What reads policies of any language."""


def language_of(policy: Policy) -> Language:
    """Return the language of a policy."""
    return _BY_KIND[policy.kind]


def compile_policies(
    policies: Iterable[Policy], options: CompileOptions
) -> tuple[PolicySet, Diagnostics]:
    """Return the sound policies compiled and indexed, and what is wrong with the others.

    Of the sound ones it is told what cannot be meant, unless a cluster has let them in.
    """
    for one in LANGUAGES:
        one.declare(options)
    compiled: list[CompiledPolicy] = []
    diagnostics: list[Diagnostic] = []
    for policy in policies:
        found, told = _compile(language_of(policy), policy, options)
        diagnostics.extend(told)
        if found is not None:
            compiled.append(found)
    return index_policies(compiled, options.system.meter), tuple(diagnostics)


def _compile(
    language: Language, policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, Diagnostics]:
    """Return a policy compiled, or None, with what is wrong with it or cannot be meant."""
    options.system.meter.begin_resource()
    try:
        problems = () if options.admitted else language.check(policy, options)
        if problems:
            return None, problems
        compiled, problems = language.lower(policy, options)
        if problems or options.admitted:
            return compiled, problems
        return compiled, language.doubt(policy)
    except Exception as error:  # noqa: BLE001 — INVARIANT: a policy's fault is that policy's error
        return None, (_faulted(policy, error),)


def derived_rules(policy: Policy) -> tuple[Rule, ...]:
    """Return the rules of a policy with those that are derived from them."""
    return language_of(policy).derive(policy)


def needs_request(policy: Policy) -> bool:
    """Return whether something of a policy is only known where there is a request."""
    return language_of(policy).needs_request(policy)


def lint_policy(policy: Policy, options: CompileOptions) -> Diagnostics:
    """Return everything that can be said of a policy by itself."""
    options.system.meter.begin_resource()
    try:
        return language_of(policy).lint(policy, options)
    except BudgetError as error:
        return (uncompiled(policy, error.cause),)  # `lint` has no option that sets a budget
    except Exception as error:  # noqa: BLE001 — INVARIANT: a policy's fault is that policy's error
        return (_faulted(policy, error),)


def _faulted(policy: Policy, error: Exception) -> Diagnostic:
    from kyvsim.model.fault import fault_text  # noqa: PLC0415 — seldom needed

    return uncompiled(policy, fault_text(error))


def mentions_of_exception(exception: "PolicyException") -> "tuple[Mention, ...]":
    """Return where an exception from rules looks, and what it looks for there."""
    from kyvsim.languages.classic.mentions import exception_mentions  # noqa: PLC0415 — for `equal` only

    return tuple(exception_mentions(exception))


def mentions_of(policy: Policy, system: System) -> "tuple[Mention, ...]":
    """Return where a policy looks, and what it looks for there; one of a namespace looks there."""
    told = tuple(language_of(policy).mentions(policy, system))
    if not policy.namespace:
        return told
    from kyvsim.model.mention import About, Mention  # noqa: PLC0415 — for `equal` only

    return (Mention(About.OBJECT, ("metadata", "namespace"), (policy.namespace,)), *told)
