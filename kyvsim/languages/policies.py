"""Policies of all languages → what the engine runs."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kyvsim.engine.compile import (
    CompiledPolicy,
    CompileOptions,
    PolicySet,
    index_policies,
)
from kyvsim.engine.compile.compiled import uncompiled
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.languages.language import Diagnostics, Language
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, PolicyReaders, Rule
from kyvsim.model.ports import fault_text
from kyvsim.model.request import Payload, PayloadMode
from kyvsim.model.source import Document
from kyvsim.schema.kinds import CEL_GROUP, NATIVE_GROUP, RULES_GROUP


class PolicyKinds(NamedTuple):
    """The kinds of policies of one language, and the modules that know them.

    A module is imported with the first policy that needs it: CEL takes as long to load as
    everything else that a run needs, and most runs have no policy in it.
    """

    group: str
    kinds: frozenset[str]
    """They are read in all versions that are served."""
    language: str
    """The module of the `LANGUAGE`, below this package, as the others are."""
    references: str
    """The module and the function that yields the fields that a policy refers to, for `equal`."""


def _with_namespaced(*kinds: str) -> frozenset[str]:
    return frozenset((*kinds, *(f"Namespaced{kind}" for kind in kinds)))


CLASSIC_POLICIES: Final = PolicyKinds(
    RULES_GROUP,
    frozenset({"ClusterPolicy", "Policy"}),
    language="classic",
    references="classic.field_references.classic_references",
)
CLEANUP_POLICIES: Final = PolicyKinds(
    RULES_GROUP,
    frozenset({"ClusterCleanupPolicy", "CleanupPolicy"}),
    language="cleanup",
    references="classic.field_references.classic_references",
)
CEL_POLICIES: Final = PolicyKinds(
    CEL_GROUP,
    _with_namespaced(
        "ValidatingPolicy",
        "MutatingPolicy",
        "GeneratingPolicy",
        "DeletingPolicy",
        "ImageValidatingPolicy",
    ),
    language="cel",
    references="field_references.cel_references",
)
NATIVE_POLICIES: Final = PolicyKinds(
    NATIVE_GROUP,
    frozenset({"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}),
    language="native",
    references="field_references.native_references",
)

LANGUAGES: Final = (CLASSIC_POLICIES, CLEANUP_POLICIES, CEL_POLICIES, NATIVE_POLICIES)

_BY_KIND: Mapping[str, PolicyKinds] = MappingProxyType(
    {kind: one for one in LANGUAGES for kind in one.kinds}
)


def _module(name: str) -> Any:
    """Return a module of the table; mypy knows nothing of what is in it."""
    return import_module(f"kyvsim.languages.{name}")


@lru_cache(maxsize=len(LANGUAGES))
def language_at(name: str) -> Language:
    """Return the language of a module of the table."""
    language: Language = _module(name).LANGUAGE
    return language


def kinds_of(policy: Policy) -> PolicyKinds:
    """Return the kinds among which that of a policy is."""
    return _BY_KIND[policy.kind]


def language_of(policy: Policy) -> Language:
    """Return the language of a policy."""
    return language_at(_BY_KIND[policy.kind].language)


def _read(data: Json, document: Document) -> tuple[Policy, Diagnostics]:
    return language_at(_BY_KIND[text_field(data, "kind")].language).read(data, document)


READERS: PolicyReaders = MappingProxyType(
    {(one.group, kind): _read for one in LANGUAGES for kind in one.kinds}
)
"""What reads policies of any language."""


def is_cel_policy(policy: Policy) -> bool:
    """Return whether a policy is of one of Kyverno's kinds in CEL."""
    return policy.kind in CEL_POLICIES.kinds


def compile_policies(
    policies: Iterable[Policy], options: CompileOptions
) -> tuple[PolicySet, Diagnostics]:
    """Return the sound policies compiled and indexed, and what is wrong with the others.

    For policies that compile, warnings about suspicious parts are included, unless a cluster has
    admitted them.
    """
    # Exceptions are declared for coverage whether or not their policies are given.
    for kinds, given in (
        (CLASSIC_POLICIES, options.exceptions),
        (CEL_POLICIES, options.cel_exceptions),
    ):
        if given:
            language_at(kinds.language).declare(options)
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
    options.system.meter.begin_resource()
    try:
        problems = () if options.admitted else language.validate(policy, options)
        if problems:
            return None, problems
        compiled, problems = language.compile(policy, options)
        if problems or options.admitted:
            return compiled, problems
        return compiled, language.suspicious(policy)
    except Exception as error:  # noqa: BLE001 — INVARIANT: a policy's failure is that policy's error
        return None, (uncompiled(policy, fault_text(error)),)


def derived_rules(policy: Policy) -> tuple[Rule, ...]:
    """Return the rules of a policy with those that are derived from them."""
    return language_of(policy).derive(policy)


def needs_request(policy: Policy) -> bool:
    """Return whether something of a policy is only known where there is a request."""
    return language_of(policy).needs_request(policy)


def usable_payloads(payloads: tuple[Payload, ...]) -> tuple[tuple[Payload, ...], Diagnostics]:
    """Return the payloads that fit their mode, and diagnostics about all.

    Anything may be a payload of mode JSON; the other modes are requests, which policies in CEL
    decide on.
    """
    if all(one.mode is PayloadMode.JSON for one in payloads):
        return payloads, ()
    return language_at(CEL_POLICIES.language).check_payloads(payloads)
