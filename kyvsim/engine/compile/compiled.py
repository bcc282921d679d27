"""Policies as the engine runs them: closures in place of expressions; the options of compiling."""

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
from kyvsim.model.diagnostic import Diagnostic, Fix, Severity
from kyvsim.model.policy import Binding, Policy, Rule
from kyvsim.model.ports import Meter
from kyvsim.model.request import AdmissionRequest, PayloadMode
from kyvsim.model.result import NO_PROPERTIES, PatchedTarget, Phase, RuleStatus, Stage
from kyvsim.model.source import Document
from kyvsim.model.tracing import NO_TRACE, PolicyPlace, TraceContext, Tracer
from kyvsim.policy.tree import NO_MATCH, MatchBlock

if TYPE_CHECKING:
    from kyvsim.engine.prefilter import Shape
    from kyvsim.model.policy import CelException, PolicyException

# What compiling depends on besides the policies.


class Model(StrEnum):
    """Which reading of `spec.background` generate rules follow."""

    KYVERNO = "kyverno-1.19"
    """The code of Kyverno 1.19: generation does not depend on it."""
    BACKGROUND_GATES_GENERATE = "background-gates-generate"
    """The report of story 000: with `background: false` new objects generate nothing."""


class CompileOptions(NamedTuple):
    """Clock and entropy for expressions, exceptions to attach, the model to follow."""

    system: System
    exceptions: tuple["PolicyException", ...] = ()
    model: Model = Model.KYVERNO
    admitted: bool = False
    """Whether the policies need no checks: a cluster has let them in, or they were checked."""
    simulated: bool = False
    """Whether a simulated cluster runs the policies, and does what commands without one cannot."""
    cel_exceptions: tuple["CelException", ...] = ()
    """The same for policies in CEL."""
    kinds: KindTable = NO_KINDS
    """The kinds that the given CustomResourceDefinitions define."""
    bindings: tuple[Binding, ...] = ()
    """Those of Kubernetes' admission policies."""
    parameters: tuple[KubernetesObject, ...] = ()
    """The objects given as parameters of such policies."""
    tracer: Tracer | None = None
    """Observes evaluations, for coverage or explanations; there is none by default."""
    only: Rule | None = None
    """The rule that is wanted of a policy, be it written or derived; all are by default."""
    settled: bool = False
    """Whether that rule is known to apply: then its match block and preconditions are left out."""

    def trace_of(self, policy: Policy, rule: Rule) -> TraceContext:
        """Return the trace context of a whole rule."""
        if self.tracer is None:
            return NO_TRACE
        place = PolicyPlace(policy.document, policy.key, rule.name, rule.path)
        return TraceContext(place, self.tracer)


# How a warning about a place of a document is made.


def warn(
    document: Document, code: str, message: str, path: Path = (), *, fix: Fix | None = None
) -> Diagnostic:
    """Return a warning about the node at `path` of a document, and what would put it right."""
    return Diagnostic(code, Severity.WARNING, message, document.locate(path), fix=fix)


def uncompiled(policy: Policy, error: Exception | str) -> Diagnostic:
    """Return that a policy cannot be compiled, and why.

    KV190: an expression or another text of the policy cannot be read.
    """
    message = f"policy `{policy.key}` cannot be compiled: {error}"
    return Diagnostic("KV190", Severity.ERROR, message, policy.document.locate(("spec",)))


# What the body of a compiled rule is evaluated on, and how it ends, in whatever language it is.


class Exclusion(NamedTuple):
    """A control of Pod security, or single fields and values of it, that is let pass."""

    control: str
    has_image: Callable[[str], bool] | None
    """Whether a container's image is meant; None where the Pod as a whole is meant."""
    field: str
    """The only field that is let pass, with `*` for indices; "" for all."""
    has_value: Callable[[str], bool] | None
    """Whether a forbidden value is let pass; None for all."""


class MatchedException(NamedTuple):
    """A policy exception that matches the object."""

    key: str
    controls: tuple[Exclusion, ...]
    """The only controls that it lets pass; () where it lets everything pass."""
    images: tuple[str, ...] = ()
    """The images that a policy in CEL may let pass on its account."""
    values: tuple[str, ...] = ()
    """The same for values."""


class Evaluation(NamedTuple):
    """What a rule's body is evaluated on."""

    scope: JSONContext
    request: AdmissionRequest
    object: KubernetesObject | None
    """The object that patterns check and patches change; None on DELETE."""
    element: Json = None
    """The loop's element, where a pattern is to be checked against it."""
    exceptions: tuple[MatchedException, ...] = ()
    """Those that match, for a rule type that weighs them itself."""


class Outcome(NamedTuple):
    """How a rule's body ended."""

    status: RuleStatus
    message: str
    object: KubernetesObject | None = None
    """The patched object, where a mutate rule passed."""
    generated: tuple[KubernetesObject, ...] = ()
    targets: tuple[PatchedTarget, ...] = ()
    path: str = ""
    """Where in the object a pattern failed, such as `/spec/containers/0/image/`."""
    note: str = ""
    """What a user should know besides upstream's message."""
    further: tuple["Outcome", ...] = ()
    """More results of the same rule: a rule on existing objects has one for each of them."""
    phase: Phase | None = None
    """The phase that reports name, where it is not the one in which the rule ran."""
    exceptions: tuple[str, ...] = ()
    """The keys of the exceptions on whose account the rule was skipped."""
    properties: Mapping[str, str] = NO_PROPERTIES
    """The properties in reports, besides the message."""
    unchecked: tuple[str, ...] = ()
    """What of the object could not be looked at, each with its reason, where upstream goes on."""
    hints: tuple[str, ...] = ()
    """Lookups of the rule without an answer, and how to give one."""
    rule_name: str = ""
    """The name that reports give, where it is not the rule's own."""
    silent: bool = False
    """Whether upstream has no result here, although something was `unchecked`."""
    own: str = ""
    """What people read instead of the message, see `RuleResult.own`."""


class Proof(NamedTuple):
    """What shows how a body ends, without evaluating it."""

    shape: "Shape"
    outcome: Outcome
    """A status and a message, the same for every object of this shape."""
    exact: bool = False
    """Whether no other object could make the body end like this."""
    is_all: bool = False
    """Whether the body looks at nothing but what its proofs look at, however it ends."""


CompiledBody: TypeAlias = Callable[[Evaluation], Outcome | None]
"""Evaluates a body; None if the rule has no result, as for a loop over no elements."""


def passed(message: str) -> Outcome:
    """Return a pass."""
    return Outcome(RuleStatus.PASS, message)


def failed(message: str, path: str = "", own: str = "") -> Outcome:
    """Return a failure, with the place in the object where there is one.

    `own` is what of the message the policy says itself.
    """
    return Outcome(RuleStatus.FAIL, message, path=path, own=own)


def errored(what: str, cause: object = "") -> Outcome:
    """Return an error: what could not be done, and why."""
    return Outcome(RuleStatus.ERROR, f"{what}: {cause}" if cause else what)


def nothing_checked(unchecked: tuple[str, ...]) -> Outcome:
    """Return what upstream gives no result for, because nothing could be looked at."""
    return Outcome(RuleStatus.SKIP, "", unchecked=unchecked, silent=True)


def skipped(message: str, exceptions: tuple[str, ...] = ()) -> Outcome:
    """Return a skip, with the keys of the exceptions that brought it about."""
    return Outcome(RuleStatus.SKIP, message, exceptions=exceptions)


CompiledConditions = Callable[[JSONContext], ConditionsResult]


class CompiledException(NamedTuple):
    """A policy exception as one rule sees it."""

    key: str
    matches: Predicate
    conditions: CompiledConditions | None
    controls: tuple[Exclusion, ...]
    """The controls of Pod security that it lets pass; () where it lets everything pass."""
    written: MatchBlock = NO_MATCH
    """What `matches` says, as it is written."""


FindExceptions: TypeAlias = Callable[[MatchFacts], Sequence[CompiledException]]


class Properties(NamedTuple):
    """The properties in reports, besides the message of a rule."""

    template: Template
    written: Mapping[str, object]
    """The properties where its variables have no value."""


class Proofs(NamedTuple):
    """What shows how a rule ends for a creation, whoever sends it."""

    proofs: tuple[Proof, ...]
    """The first whose shape the object has counts, if all before it are exact."""
    after_preconditions: bool
    """Whether the preconditions are still to be evaluated; they read the operation only."""


class CompiledRule(NamedTuple):
    """One rule, ready to run."""

    rule: Rule
    stage: Stage
    matches: Predicate
    kinds: KindIndexEntry
    """The kinds it can match at all; None where a wildcard keeps it open."""
    body: CompiledBody
    entries: tuple[tuple[str, EntryLoader], ...] = ()
    preconditions: CompiledConditions | None = None
    exceptions: tuple[CompiledException, ...] = ()
    weighs_exceptions: bool = False
    """Whether the body itself says what the exceptions that match change."""
    concerns: Callable[[KubernetesObject | None], bool] | None = None
    """Whether an object has any field that the rule reads; None if every object has."""
    tolerates_violations: bool = False
    """Whether an UPDATE may keep a violation that the old object had already."""
    properties: Properties | None = None
    """The properties in reports, besides the message, where the rule has some."""
    later: bool = False
    """Whether it is looked at when the request's object is in the cluster already."""
    included: Callable[[], Predicate] | None = None
    """Compiles what its match block says alone; None where it excludes nothing."""
    unmatched: Outcome | None = None
    """The outcome for objects that it does not match."""
    payloads: Mapping[PayloadMode, CompiledBody] = MappingProxyType({})
    """What it says of payloads, which are matched by nothing but what they are."""
    stands_alone: bool = False
    """Whether tests see its answer apart from those of the policy's other rules."""
    answers_always: bool = True
    """Whether tests see an empty response if it has no result."""

    meter: Meter | None = None
    """Counts what evaluating it takes; None where its expressions count for themselves."""
    find_exceptions: FindExceptions | None = None
    """Finds those of the exceptions that may cover an object; None if all are to be evaluated."""
    proofs: Callable[[], Proofs] | None = None
    """Compiles what shows how it ends; None where its match block looks at more than kind and
    operation, or anything else than an object's shape can make a difference."""

    def matches_again(self, facts: MatchFacts) -> bool:
        """Return whether it applies, after its evaluation.

        Its steps do not count again.
        """
        if self.meter is not None:
            self.meter.begin_resource()
        return self.matches(facts)

    @property
    def phase(self) -> Phase:
        """The phase that reports name."""
        return self.stage.phase


class DerivedForms(NamedTuple):
    """The rules of a policy together with those that are derived from them."""

    rules: tuple[CompiledRule, ...]
    """All rules, as the mutate and generate phases take them."""
    validating: Mapping[str, tuple[CompiledRule, ...]]
    """Rules of the validate phase for each kind that meets derived ones."""


class Derivation(NamedTuple):
    """What is known of derived rules before they are made."""

    kinds: frozenset[str]
    """Kinds whose objects may meet them."""
    is_open: bool
    """Whether objects of other kinds may, too."""
    retained: tuple[CompiledRule, ...]
    """The written rules next to them, in all phases; each autogen rule comes from one of these."""
    derived_count: int
    forms: Callable[[], DerivedForms]
    """Returns the rules, always the same: they are compiled on the first call."""

    def concerns(self, kind: str) -> bool:
        """Return whether objects of a kind may meet them."""
        return self.is_open or kind in self.kinds


class CompiledPolicy(NamedTuple):
    """One policy, ready to run."""

    policy: Policy
    plain: tuple[CompiledRule, ...]
    """The rules for objects of kinds that meet no derived ones."""
    derivation: Derivation | None = None

    @property
    def rules(self) -> tuple[CompiledRule, ...]:
        """All rules, derived ones included, as the mutate and generate phases take them."""
        return self.plain if self.derivation is None else self.derivation.forms().rules

    @property
    def every(self) -> tuple[CompiledRule, ...]:
        """All rules in all forms, `rules` first; some are there twice."""
        if self.derivation is None:
            return self.plain
        forms = self.derivation.forms()
        validating = [rule for rules in forms.validating.values() for rule in rules]
        return (*forms.rules, *self.plain, *validating)

    @property
    def rule_count(self) -> int:
        """How many rules it has, derived ones included; those that have several phases once."""
        derived = 0 if self.derivation is None else self.derivation.derived_count
        return len({one.rule for one in self.written}) + derived

    @property
    def written(self) -> tuple[CompiledRule, ...]:
        """Those of `rules` that are not derived; there is one for each phase that `rules` have."""
        return self.plain if self.derivation is None else self.derivation.retained

    def of_kind(self, kind: str) -> Iterator[CompiledRule]:
        """Yield the rules that can match objects of a kind, in the order of each stage."""
        rules = self.plain
        if self.derivation is not None and self.derivation.concerns(kind):
            forms = self.derivation.forms()
            validating = forms.validating.get(kind, self.plain)
            rules = (
                *(rule for rule in forms.rules if rule.stage is not Stage.VALIDATE),
                *(rule for rule in validating if rule.stage is Stage.VALIDATE),
            )
        return (rule for rule in rules if rule.kinds is None or kind in rule.kinds)


# The exceptions of a rule by the names of the objects that they are for.


_FEW = 8
"""So many are evaluated one by one as quickly."""


def index_exceptions(exceptions: Sequence[CompiledException]) -> FindExceptions | None:
    """Return what finds those that may cover an object, in their order; None where all may.

    An exception with names, or else with namespaces, is found by them; others always.
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
