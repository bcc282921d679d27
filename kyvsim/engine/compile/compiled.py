"""Compiled policies: closures for expressions, and the options of compilation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kyvsim.engine.conditions import ConditionsResult
from kyvsim.engine.context import EntryLoader, JSONContext
from kyvsim.engine.match import KindIndexEntry, MatchFacts, Predicate, reach_of_block
from kyvsim.jmespath import System, Template
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable
from kyvsim.kubernetes.objects import Json, KubernetesObject, Path
from kyvsim.model.diagnostic import Diagnostic, Fix, Instead, Severity, respelled
from kyvsim.model.field_reference import FieldReference
from kyvsim.model.policy import Binding, Policy, Rule
from kyvsim.model.ports import Meter
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.request import AdmissionRequest, PayloadMode
from kyvsim.model.result import NO_PROPERTIES, PatchedTarget, Phase, RuleStatus, Stage
from kyvsim.model.source import Document
from kyvsim.model.tracing import NO_TRACE, PolicyPlace, TraceContext, Tracer
from kyvsim.policy.tree import NO_MATCH, MatchBlock

if TYPE_CHECKING:
    from kyvsim.engine.prefilter import Shape
    from kyvsim.model.policy import CelException, PolicyException

# The inputs of compilation besides the policies.


class Model(StrEnum):
    """The interpretation of `spec.background` for generate rules."""

    KYVERNO = "kyverno-1.19"
    """The code of Kyverno 1.19: generate rules ignore it."""
    BACKGROUND_GATES_GENERATE = "background-gates-generate"
    """As reported in story 000: with `background: false` new objects do not generate."""


class CompileOptions(NamedTuple):
    """Clock and entropy for expressions, exceptions, and the model."""

    system: System
    exceptions: tuple["PolicyException", ...] = ()
    model: Model = Model.KYVERNO
    admitted: bool = False
    """Whether the policies need no checks: a cluster has admitted them, or they were checked."""
    simulated: bool = False
    """Whether a simulated cluster runs the policies, and evaluates what only a cluster can."""
    cel_exceptions: tuple["CelException", ...] = ()
    """The exceptions from policies in CEL."""
    kinds: KindTable = NO_KINDS
    """The kinds that the given CustomResourceDefinitions define."""
    bindings: tuple[Binding, ...] = ()
    """Bindings of Kubernetes' admission policies."""
    parameters: tuple[KubernetesObject, ...] = ()
    """The objects given as parameters of these policies."""
    tracer: Tracer | None = None
    """Observes evaluations, for coverage or explanations; none by default."""
    only: Rule | None = None
    """The only rule of a policy to compile, written or derived, in CEL the only variant; by default
    all.
    """
    settled: bool = False
    """Whether that rule is known to apply: its match block and preconditions are not compiled."""

    def trace_of(self, policy: Policy, rule: Rule) -> TraceContext:
        """Return the trace context of a whole rule."""
        if self.tracer is None:
            return NO_TRACE
        place = PolicyPlace(policy.document, policy.key, rule.name, rule.path)
        return TraceContext(place, self.tracer)


# Creates warnings about a node of a document.


def warn(
    document: Document,
    code: str,
    message: str,
    path: Path = (),
    *,
    fix: Fix | None = None,
    instead: Instead | None = None,
) -> Diagnostic:
    """Return a warning about the node at `path` of a document, with its fix.

    `instead` is a part of the string there, and what is certainly meant.
    """
    if instead is not None:
        fix = respelled(document, path, instead)
    return Diagnostic(code, Severity.WARNING, message, document.locate(path), fix=fix)


def uncompiled(policy: Policy, error: Exception | str) -> Diagnostic:
    """Return the diagnostic (KV190) that a policy cannot be compiled.

    An expression or another text of the policy cannot be read.
    """
    message = f"policy `{policy.key}` cannot be compiled: {error}"
    return Diagnostic("KV190", Severity.ERROR, message, policy.document.locate(("spec",)))


# Inputs and outcomes of the body of a compiled rule, for all languages.


class Exclusion(NamedTuple):
    """An exempt control of Pod Security, or single fields and values of it."""

    control: str
    has_image: Callable[[str], bool] | None
    """Whether it applies to a container's image; None if it applies to the whole Pod."""
    field: str
    """The only exempt field, with `*` for indices; "" for all."""
    has_value: Callable[[str], bool] | None
    """Whether a forbidden value is exempt; None for all."""


class MatchedException(NamedTuple):
    """A policy exception that matches the object."""

    key: str
    controls: tuple[Exclusion, ...]
    """The only controls that it exempts; () for all."""
    images: tuple[str, ...] = ()
    """The images that a policy in CEL may exempt because of it."""
    values: tuple[str, ...] = ()
    """The values that a policy in CEL may exempt because of it."""


class Evaluation(NamedTuple):
    """The inputs of a rule's body."""

    scope: JSONContext
    request: AdmissionRequest
    object: KubernetesObject | None
    """The object that patterns check and patches change; None on DELETE."""
    element: Json = None
    """The loop's element, if a pattern checks it."""
    exceptions: tuple[MatchedException, ...] = ()
    """The matching exceptions, for a rule type that evaluates them itself."""


class Outcome(NamedTuple):
    """The outcome of a rule's body."""

    status: RuleStatus
    message: str
    object: KubernetesObject | None = None
    """The patched object, if a mutate rule passed."""
    generated: tuple[KubernetesObject, ...] = ()
    targets: tuple[PatchedTarget, ...] = ()
    path: str = ""
    """The path in the object where a pattern failed, such as `/spec/containers/0/image/`."""
    note: str = ""
    """A note for users besides upstream's message."""
    further: tuple["Outcome", ...] = ()
    """More results of the same rule: a rule on existing objects has one for each of them."""
    phase: Phase | None = None
    """The phase in reports, if it is not the one in which the rule ran."""
    exceptions: tuple[str, ...] = ()
    """The keys of the exceptions that skipped the rule."""
    properties: Mapping[str, str] = NO_PROPERTIES
    """The properties in reports, besides the message."""
    unchecked: tuple[str, ...] = ()
    """Parts of the object that could not be evaluated, with reasons, if upstream continues."""
    hints: tuple[str, ...] = ()
    """Lookups of the rule without a result, and how to provide one."""
    rule_name: str = ""
    """The rule name in reports, if it is not the rule's own."""
    silent: bool = False
    """Whether upstream has no result here, although parts are `unchecked`."""
    own: str = ""
    """The text that people read instead of the message, see `RuleResult.own`."""


class Proof(NamedTuple):
    """Determines how a body ends, without evaluating it."""

    shape: "Shape"
    outcome: Outcome
    """A status and a message, the same for every object of this shape."""
    exact: bool = False
    """Whether no other object could have this outcome."""
    is_all: bool = False
    """Whether the body reads only what its proofs read, for every outcome."""


CompiledBody: TypeAlias = Callable[[Evaluation], Outcome | None]
"""Evaluates a body; None if the rule has no result, as for a loop over no elements."""


def passed(message: str) -> Outcome:
    """Return a pass."""
    return Outcome(RuleStatus.PASS, message)


def failed(message: str, path: str = "", own: str = "") -> Outcome:
    """Return a failure, with the path in the object if there is one.

    `own` is the part of the message that comes from the policy.
    """
    return Outcome(RuleStatus.FAIL, message, path=path, own=own)


def errored(what: str, cause: object = "") -> Outcome:
    """Return an error: the failed operation, and the cause."""
    return Outcome(RuleStatus.ERROR, f"{what}: {cause}" if cause else what)


def nothing_checked(unchecked: tuple[str, ...]) -> Outcome:
    """Return an outcome without result in upstream, because nothing could be evaluated."""
    return Outcome(RuleStatus.SKIP, "", unchecked=unchecked, silent=True)


def skipped(message: str, exceptions: tuple[str, ...] = ()) -> Outcome:
    """Return a skip, with the keys of the exceptions that caused it."""
    return Outcome(RuleStatus.SKIP, message, exceptions=exceptions)


CompiledConditions = Callable[[JSONContext], ConditionsResult]


class CompiledException(NamedTuple):
    """A policy exception compiled for one rule."""

    key: str
    matches: Predicate
    conditions: CompiledConditions | None
    controls: tuple[Exclusion, ...]
    """The exempt controls of Pod Security; () if everything is exempt."""
    written: MatchBlock = NO_MATCH
    """The written form of `matches`."""


FindExceptions: TypeAlias = Callable[[MatchFacts], Sequence[CompiledException]]


class Proofs(NamedTuple):
    """The proofs of how a rule ends for a creation, with any user."""

    proofs: tuple[Proof, ...]
    """The first whose shape the object has applies, if all before it are exact."""
    after_preconditions: bool
    """Whether the preconditions must still be evaluated; they read only the operation."""


class CompiledRule(NamedTuple):
    """One compiled rule."""

    rule: Rule
    stage: Stage
    matches: Predicate
    kinds: KindIndexEntry
    """The kinds it can match; None if a wildcard leaves it open."""
    body: CompiledBody
    entries: tuple[tuple[str, EntryLoader], ...] = ()
    preconditions: CompiledConditions | None = None
    exceptions: tuple[CompiledException, ...] = ()
    weighs_exceptions: bool = False
    """Whether the body itself evaluates matching exceptions."""
    concerns: Callable[[KubernetesObject | None], bool] | None = None
    """Whether an object has any field that the rule reads; None if every object has."""
    tolerates_violations: bool = False
    """Whether an UPDATE may keep a violation of the old object."""
    properties: tuple[Template, Mapping[str, object]] | None = None
    """The properties in reports, besides the message, and those if their variables have no value;
    None if the rule has no properties."""
    later: bool = False
    """Whether it is evaluated when the request's object is already in the cluster."""
    included: Callable[[], Predicate] | None = None
    """Compiles the match block alone; None if nothing is excluded."""
    unmatched: Outcome | None = None
    """The outcome for objects that it does not match."""
    payloads: Mapping[PayloadMode, CompiledBody] = MappingProxyType({})
    """The bodies for payloads, which are matched only by their mode."""
    stands_alone: bool = False
    """Whether tests see its result separately from the policy's other rules."""
    answers_always: bool = True
    """Whether tests see an empty response if it has no result."""

    meter: Meter | None = None
    """Counts the steps of its evaluation; None if its expressions count their own."""
    release: Release = NEWEST
    """The release of Kyverno as which JMESPath expressions are evaluated."""
    find_exceptions: FindExceptions | None = None
    """Finds the exceptions that may apply to an object; None if all are evaluated."""
    proofs: Callable[[], Proofs] | None = None
    """Compiles proofs of how it ends; None if its match block depends on more than kind and
    operation, or if something besides an object's shape can make a difference."""

    def matches_again(self, facts: MatchFacts) -> bool:
        """Return whether it applies, after its evaluation; its steps do not count again."""
        if self.meter is not None:
            self.meter.begin_resource()
        return self.matches(facts)

    @property
    def phase(self) -> Phase:
        """The phase in reports."""
        return self.stage.phase


DerivedForms: TypeAlias = tuple[tuple[CompiledRule, ...], Mapping[str, tuple[CompiledRule, ...]]]
"""All rules of a policy, as in the mutate and generate phases, and the rules of the validate phase
for each kind that has derived rules."""


class Derivation(NamedTuple):
    """The facts about derived rules before they are created."""

    kinds: frozenset[str]
    """Kinds whose objects may have derived rules."""
    is_open: bool
    """Whether objects of other kinds may have derived rules, too."""
    retained: tuple[CompiledRule, ...]
    """The written rules, in all phases; each autogen rule comes from one of these."""
    derived_count: int
    forms: Callable[[], DerivedForms]
    """Returns the rules; they are compiled on the first call."""

    def concerns(self, kind: str) -> bool:
        """Return whether objects of a kind may have derived rules."""
        return self.is_open or kind in self.kinds


class CompiledPolicy(NamedTuple):
    """One compiled policy."""

    policy: Policy
    plain: tuple[CompiledRule, ...]
    """The rules for objects of kinds without derived rules."""
    derivation: Derivation | None = None
    references: Callable[[Rule], Sequence[FieldReference]] = lambda _: ()
    """Returns the fields that a rule reads; they are collected on the first call."""
    untraced: Callable[[CompiledRule], CompiledRule] = lambda rule: rule
    """Returns a rule without its tracer; it is compiled on the first call."""

    @property
    def rules(self) -> tuple[CompiledRule, ...]:
        """All rules, including derived rules, as in the mutate and generate phases."""
        return self.plain if self.derivation is None else self.derivation.forms()[0]

    @property
    def every(self) -> tuple[CompiledRule, ...]:
        """All rules in all forms, `rules` first; some occur twice."""
        if self.derivation is None:
            return self.plain
        rules, validating = self.derivation.forms()
        return (*rules, *self.plain, *(rule for some in validating.values() for rule in some))

    @property
    def rule_count(self) -> int:
        """The number of rules, including derived rules; those with several phases count once."""
        derived = 0 if self.derivation is None else self.derivation.derived_count
        return len({one.rule for one in self.written}) + derived

    @property
    def written(self) -> tuple[CompiledRule, ...]:
        """The rules that are not derived, one for each phase that `rules` have."""
        return self.plain if self.derivation is None else self.derivation.retained

    def of_kind(self, kind: str) -> Iterator[CompiledRule]:
        """Yield the rules that can match objects of a kind, in the order of each stage."""
        rules = self.plain
        if self.derivation is not None and self.derivation.concerns(kind):
            every, validating = self.derivation.forms()
            own = validating.get(kind, self.plain)
            rules = (
                *(rule for rule in every if rule.stage is not Stage.VALIDATE),
                *(rule for rule in own if rule.stage is Stage.VALIDATE),
            )
        return (rule for rule in rules if rule.kinds is None or kind in rule.kinds)


# The exceptions of a rule by the names of the objects that they apply to.

_FEW = 8
"""Up to this number, evaluating them one by one is as fast."""


def index_exceptions(exceptions: Sequence[CompiledException]) -> FindExceptions | None:
    """Return a function that finds exceptions that may apply to an object; None if all may.

    An exception is found by its names, or by its namespaces; one without both always is.
    """
    if len(exceptions) < _FEW:
        return None
    by_name: dict[str, list[int]] = {}
    by_namespace: dict[str, list[int]] = {}
    others: list[int] = []
    for number, one in enumerate(exceptions):
        names, namespaces = reach_of_block(one.written)
        index, keys = (by_namespace, namespaces) if names is None else (by_name, names)
        if keys is None:
            others.append(number)
        for key in keys or ():
            index.setdefault(key, []).append(number)
    if len(others) == len(exceptions):
        return None

    def find(facts: MatchFacts) -> Sequence[CompiledException]:
        named = by_name.get(facts.name, [])
        inside = by_namespace.get(facts.namespace_or_own_name, [])
        return [exceptions[number] for number in sorted([*named, *inside, *others])]

    return find
