"""Policy languages: each compiles its kinds of policies for the engine.

All other code uses only compiled policies and facts (`kyvsim.model.policy`). A language is a
folder with its `LANGUAGE`, and a line of the table `LANGUAGES`, by which it is loaded.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache, lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kyvsim.engine.compile import CompiledPolicy, CompileOptions, PolicySet, index_policies
from kyvsim.engine.compile.compiled import CompiledRule, uncompiled
from kyvsim.kubernetes.objects import Json, KubernetesObject, annotations, metadata, text_field
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.field_reference import FieldReference, Subject
from kyvsim.model.policy import Policy, PolicyFacts, PolicyReader, PolicyReaders, Rule, RuleFacts
from kyvsim.model.ports import System, fault_text
from kyvsim.model.request import Payload, PayloadMode
from kyvsim.model.source import Document
from kyvsim.policy.rule import NO_RULE, RuleNode
from kyvsim.schema.kinds import CEL_GROUP, NATIVE_GROUP, RULES_GROUP

if TYPE_CHECKING:
    # Most runs have no policy in CEL.
    from kyvsim.policy.cel_policy import BindingNode, CelPolicyNode

Diagnostics: TypeAlias = tuple[Diagnostic, ...]


class Language(NamedTuple):
    """One policy language."""

    read: PolicyReader
    """Creates a policy, with its facts, from data that conforms to the schema."""
    compile: Callable[[Policy, CompileOptions], tuple[CompiledPolicy | None, Diagnostics]]
    """Compiles a policy; None if it cannot be used, with the errors."""
    validate: Callable[[Policy, CompileOptions], Diagnostics] = lambda _policy, _options: ()
    """Returns the errors for which a cluster rejects a policy; not called for policies that a
    cluster has admitted."""
    suspicious: Callable[[Policy], Diagnostics] = lambda _: ()
    """Returns the warnings about a policy that compiles, which every command reports; not called
    for admitted policies either."""
    declare: Callable[[CompileOptions], None] = lambda _: None
    """Declares the exceptions from its policies for coverage."""
    needs_request: Callable[[Policy], bool] = lambda _: False
    """Returns whether results of a policy depend on more than the object of a request."""
    derive: Callable[[Policy], tuple[Rule, ...]] = lambda policy: policy.rules
    """Returns the rules of a policy, including derived rules."""
    check_payloads: Callable[[tuple[Payload, ...]], tuple[tuple[Payload, ...], Diagnostics]] = (
        lambda payloads: (payloads, ())
    )
    """Returns the payloads that its policies can evaluate, and diagnostics about all."""
    next_times: Callable[[str, datetime, int], Iterable[datetime]] = lambda *_: ()
    """Returns the next times of a schedule after a time, at most the given number of them; raises
    ValueError for a schedule that cannot be read."""


def single_rule_policy(
    data: Json,
    document: Document,
    facts: PolicyFacts,
    of_rule: RuleFacts,
    *,
    rule_name: str = "",
    tree: RuleNode = NO_RULE,
    cel: "CelPolicyNode | None" = None,
) -> Policy:
    """Return a policy whose specification is its only rule."""
    return Policy(
        kind=data["kind"],
        name=metadata(data)["name"],
        namespace=text_field(metadata(data), "namespace"),
        annotations=annotations(data),
        spec=data["spec"],
        rules=(Rule(rule_name, data["spec"], ("spec",), of_rule, tree),),
        document=document,
        facts=facts,
        cel_tree=cel,
    )


class PolicyKinds(NamedTuple):
    """The kinds of policies of one language, and the modules that process them.

    A module is imported with the first policy that needs it: CEL takes as long to load as all other
    modules that a run needs, and most runs have no policy in CEL.
    """

    group: str
    kinds: frozenset[str]
    """All served versions of these kinds are read."""
    language: str
    """The module of the `LANGUAGE`, relative to this package."""
    references: str
    """The module and the function that yields a policy's field references, for `equal`."""


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
    frozenset(
        f"{prefix}{kind}Policy"
        for kind in ("Validating", "Mutating", "Generating", "Deleting", "ImageValidating")
        for prefix in ("", "Namespaced")
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

_BY_KIND: Mapping[str, PolicyKinds] = {kind: one for one in LANGUAGES for kind in one.kinds}


@lru_cache(maxsize=len(LANGUAGES))
def language_at(name: str) -> Language:
    """Return the `LANGUAGE` of a module in the table."""
    language: Language = import_module(f"kyvsim.languages.{name}").LANGUAGE
    return language


def kinds_of(policy: Policy) -> PolicyKinds:
    """Return the entry of the table for a policy's kind."""
    return _BY_KIND[policy.kind]


def language_of(policy: Policy) -> Language:
    """Return the language of a policy."""
    return language_at(_BY_KIND[policy.kind].language)


def _read(data: KubernetesObject, document: Document) -> tuple[Policy, Diagnostics]:
    return language_at(_BY_KIND[text_field(data, "kind")].language).read(data, document)


READERS: PolicyReaders = MappingProxyType(
    {(one.group, kind): _read for one in LANGUAGES for kind in one.kinds}
)
"""The readers of policies of all languages."""


def read_binding(spec: Mapping[str, object]) -> "BindingNode":
    """Return the specification of a binding of an admission policy."""
    tree: BindingNode = import_module("kyvsim.policy.cel_policy").read_binding(spec)
    return tree


def is_cel_policy(policy: Policy) -> bool:
    """Return whether a policy is of one of Kyverno's kinds in CEL."""
    return policy.kind in CEL_POLICIES.kinds


def compile_policies(
    policies: Iterable[Policy], options: CompileOptions
) -> tuple[PolicySet, Diagnostics]:
    """Return the valid policies compiled and indexed, and the diagnostics of the others.

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
        found, told = _compile(policy, options)
        diagnostics.extend(told)
        if found is not None:
            compiled.append(found)
    return index_policies(compiled, options.system.meter), tuple(diagnostics)


def _compile(policy: Policy, options: CompileOptions) -> tuple[CompiledPolicy | None, Diagnostics]:
    language = language_of(policy)
    options.system.meter.begin_resource()
    try:
        problems = () if options.admitted else language.validate(policy, options)
        if problems:
            return None, problems
        compiled, problems = language.compile(policy, options)
        if compiled is not None:
            read = cache(lambda rule: references_of(policy._replace(rules=(rule,)), options.system))
            compiled = compiled._replace(references=read)
            if options.tracer is not None:
                compiled = compiled._replace(untraced=_without_tracer(policy, options))
        if problems or options.admitted:
            return compiled, problems
        return compiled, language.suspicious(policy)
    except Exception as error:  # noqa: BLE001 — INVARIANT: a policy's failure is that policy's error
        return None, (uncompiled(policy, fault_text(error)),)


def references_of(policy: Policy, system: System) -> tuple[FieldReference, ...]:
    """Return the fields that a policy reads; a namespaced one also reads its namespace."""
    module, _, name = kinds_of(policy).references.rpartition(".")
    read: Callable[[Policy, System], Iterable[FieldReference]]
    read = getattr(import_module(f"kyvsim.languages.{module}"), name)
    own = FieldReference(Subject.OBJECT, ("metadata", "namespace"), (policy.namespace,))
    return (*((own,) if policy.namespace else ()), *read(policy, system))


def _without_tracer(
    policy: Policy, options: CompileOptions
) -> Callable[[CompiledRule], CompiledRule]:
    """Return a function from a rule of a policy to the same rule compiled without a tracer."""

    @lru_cache(maxsize=1)
    def rules() -> dict[tuple[object, ...], CompiledRule]:
        untraced = options._replace(tracer=None, admitted=True)
        compiled, _ = language_of(policy).compile(policy, untraced)
        return {identity(rule): rule for rule in compiled.every} if compiled else {}

    def identity(rule: CompiledRule) -> tuple[object, ...]:
        return rule.stage, rule.rule.path, rule.rule.name, rule.rule.variant

    return lambda rule: rules().get(identity(rule), rule)


def derived_rules(policy: Policy) -> tuple[Rule, ...]:
    """Return the rules of a policy, including derived rules."""
    return language_of(policy).derive(policy)


def needs_request(policy: Policy) -> bool:
    """Return whether a part of a policy depends on a request."""
    return language_of(policy).needs_request(policy)


def usable_payloads(payloads: tuple[Payload, ...]) -> tuple[tuple[Payload, ...], Diagnostics]:
    """Return the payloads that are valid in their mode, and diagnostics about all.

    Any data is valid in mode JSON; payloads of other modes are requests, which policies in CEL
    decide on.
    """
    if all(one.mode is PayloadMode.JSON for one in payloads):
        return payloads, ()
    return language_at(CEL_POLICIES.language).check_payloads(payloads)
