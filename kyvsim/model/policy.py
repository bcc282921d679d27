"""Policies as loaded, with their facts; and policy exceptions."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, Path
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.request import PayloadMode
from kyvsim.model.source import Document
from kyvsim.policy.cel_policy import NamedExpression
from kyvsim.policy.rule import NO_POLICY, NO_RULE, PolicyNode, RuleNode
from kyvsim.policy.tree import Conditions, MatchBlock, PodSecurityExclusion

if TYPE_CHECKING:
    from kyvsim.model.background import Generation, MutationTarget
    from kyvsim.policy.cel_policy import CelPolicyNode


# What others than its language need to know of a policy: the same words for every language.
#
# A language says them when it reads a policy. Nobody else reads the fields of one.


_NOTHING: JsonMap = MappingProxyType({})


class Override(NamedTuple):
    """What holds for failures in some namespaces."""

    action: str
    """As written; "" where nothing is."""
    namespaces: tuple[str, ...] | None
    """Patterns for their names; None where they do not count."""
    selector: JsonMap | None
    """What selects them by labels; None where labels do not count."""


class FailureAction(NamedTuple):
    """Whether a failure denies a request: `Enforce` or `Audit`, in any case, or another text."""

    own: str = ""
    """What holds where no override does; "" where nothing is said."""
    overrides: tuple[Override, ...] = ()


class RuleFacts(NamedTuple):
    """What is to be known of a rule."""

    section: str = ""
    """What it does: `validate`, `mutate`, `generate`, `verifyImages`, or "" for something else."""
    kinds: frozenset[str] | None = None
    """The kinds that it can match at all; None where that is open."""
    action: FailureAction = FailureAction()
    """What its failures do, where it says so itself."""
    image_actions: tuple[str, ...] = ()
    """The failure actions that entries for images name."""
    generation: "Generation | None" = None
    upkeep: Mapping[str, object] = _NOTHING
    """What is said about later changes of what it generates, by the names of the settings."""
    targets: tuple["MutationTarget", ...] = ()
    """The existing objects that it changes; () where it changes its trigger, or nothing."""
    spares_triggers: bool = False
    """Whether it changes other objects in their stead, and later: no request fails for it."""
    patches_elements: bool = False
    """Whether it patches once for each element of a list."""
    mutates_on_update: bool = False
    """Whether it asks for them to be changed when its policy comes or changes."""
    runs_on_policy_update: bool = False
    """Whether they are, after what the policy says for rules that ask for nothing."""
    sees_background: bool = False
    """Whether requests of the background controller are triggers, too."""
    asked_labels: Mapping[str, object] | None = None
    """The labels that its pattern asks for; None where it asks for none."""


class PolicyFacts(NamedTuple):
    """What is to be known of a policy as a whole."""

    api_version: str
    """The apiVersion under which a cluster keeps it."""
    action: FailureAction = FailureAction()
    """What failures do where a rule says nothing."""
    admission: bool = True
    """Whether requests are looked at."""
    background: bool = True
    """Whether what is there is looked at, too."""
    applies_one_rule: bool = False
    """Whether evaluation stops after the first rule that passed or failed."""
    emits_warnings: bool = False
    """Whether clients get warnings of failures that deny nothing."""
    fails_closed: bool = True
    """Whether a request is denied where the policy cannot be evaluated."""
    webhook_conditions: tuple[tuple[str, str], ...] = ()
    """Names and CEL of what says whether the API server asks about a request at all."""
    webhook_timeout: int | None = None
    """Seconds that an API server is to wait; None where the policy does not say."""
    applies_server_side: bool = False
    """Whether generated objects are written by server-side apply."""
    mutates_on_update: bool = False
    """Whether it, or a rule of it, asks for existing objects to be changed when it changes."""
    schedule: str | None = None
    """When it acts by itself; None where requests make it act."""
    pins_images: bool = False
    """Whether the tags of images are to become digests when an object is admitted."""
    has_rules: bool = True
    """Whether tests name rules of it; otherwise they mean the whole policy."""
    judges: PayloadMode | None = None
    """The sort of payloads that are all it looks at; None where it looks at objects."""
    propagation: str = "Background"
    """What happens to dependents of what it deletes."""


# Policies as loaded: checked for shape, expressions still text.


SEVERITIES = ("critical", "high", "medium", "low", "info")
"""What the annotation `policies.kyverno.io/severity` may say; reports leave other texts out."""


class Rule(NamedTuple):
    """One rule of a policy, as written or as autogen derived it; a rule equals itself only."""

    name: str
    data: KubernetesObject
    """What is written, for its language alone; others ask `facts`."""
    path: Path
    """Where the rule, or the one it was derived from, stands in the policy's document."""
    facts: RuleFacts
    tree: RuleNode = NO_RULE
    """What is written, typed, for rules of ClusterPolicies, Policies and cleanup policies."""
    variant: str = ""
    """Which variant of a policy for controllers it is; "" for what is written."""
    autogen_prefix: Path = ()
    """The fields under which autogen put the patterns that are written; () for what is written."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def is_renamed(self, other: "Rule") -> bool:
        """Return whether another rule is this one, whatever name it was given since."""
        return self.data is other.data

    @property
    def generates(self) -> bool:
        """Whether the background controller creates objects for it."""
        return self.facts.generation is not None

    @property
    def mutates_existing(self) -> bool:
        """Whether the background controller changes objects for it."""
        return bool(self.facts.targets)


class Policy(NamedTuple):
    """A policy of any language; one without rules of its own has its whole `spec` as its rule.

    A policy equals itself only, so that it can be a key: two files may have one of the same name.
    """

    kind: str
    name: str
    namespace: str
    annotations: Mapping[str, object]
    spec: JsonMap
    """What is written, for its language alone; others ask `facts`."""
    rules: tuple[Rule, ...]
    document: Document
    facts: PolicyFacts
    tree: PolicyNode = NO_POLICY
    """What is written outside of rules, typed, for ClusterPolicies and Policies."""
    cel_tree: "CelPolicyNode | None" = None
    """What is written, typed, for policies whose expressions are in CEL."""

    @property
    def cel(self) -> "CelPolicyNode":
        """The tree of a policy whose expressions are in CEL; raises ValueError for others."""
        if self.cel_tree is None:
            raise ValueError(f"a {self.kind} has no expressions in CEL")
        return self.cel_tree

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    @property
    def key(self) -> str:
        """Name as shown: `namespace/name` for a namespaced policy."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def has_same_spec(self, other: "Policy") -> bool:
        """Return whether another policy has the same spec, in whatever file."""
        return self.spec == other.spec

    @property
    def background(self) -> bool:
        """Whether background processing is on (the default)."""
        return self.facts.background

    @property
    def applies_one_rule(self) -> bool:
        """Whether evaluation stops after the first rule that passed or failed."""
        return self.facts.applies_one_rule

    @property
    def scored(self) -> bool:
        """Whether failures count as failures; warnings where the annotation says "false"."""
        return self.annotations.get("policies.kyverno.io/scored") != "false"


PolicyReader: TypeAlias = Callable[[Json, Document], tuple[Policy, tuple[Diagnostic, ...]]]
"""How data whose shape is right becomes a policy: what a language offers to those who load."""
PolicyReaders: TypeAlias = Mapping[tuple[str, str], PolicyReader]
"""By group and kind; policies are read in all versions that are served."""


# When something is due.


class Schedule(NamedTuple):
    """The schedule of a policy that deletes, and when it is due next."""

    kind: str
    policy: str
    text: str
    due: tuple[datetime, ...] = ()
    """The next times in UTC, soonest first."""
    problem: str = ""


# Bindings of Kubernetes' admission policies: where a policy counts, and its parameters.


class Binding(NamedTuple):
    """One binding."""

    kind: str
    name: str
    policy: str
    spec: JsonMap
    """What is written, for its language alone."""
    document: Document

    def binds(self, kind: str, name: str) -> bool:
        """Return whether it is for a policy."""
        return self.kind == f"{kind}Binding" and self.policy == name


# PolicyExceptions: what is exempt from which rules, or from which policies in CEL.


class ExceptedRules(NamedTuple):
    """One entry of an exception: a policy, and patterns for the names of its rules."""

    policy: str
    """The policy's key: `namespace/name` for a namespaced policy."""
    rules: tuple[str, ...]


class PolicyException(NamedTuple):
    """A PolicyException (kyverno.io): shape checked, expressions still text."""

    name: str
    namespace: str
    exceptions: tuple[ExceptedRules, ...]
    match: MatchBlock
    conditions: Conditions | None
    pod_security: tuple[PodSecurityExclusion, ...]
    document: Document

    @property
    def entries(self) -> Mapping[str, tuple[int, ...]]:
        """The numbers of the entries for each policy, by its key."""
        found: dict[str, list[int]] = {}
        for index, one in enumerate(self.exceptions):
            found.setdefault(one.policy, []).append(index)
        return {policy: tuple(numbers) for policy, numbers in found.items()}

    @property
    def kind(self) -> str:
        """The kind that it is written as."""
        return "PolicyException"

    @property
    def key(self) -> str:
        """Name as shown in messages: `namespace/name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PolicyRef(NamedTuple):
    """A policy in CEL that an exception is for."""

    kind: str
    name: str


class CelException(NamedTuple):
    """A PolicyException of `policies.kyverno.io`: shape checked, expressions still text."""

    name: str
    namespace: str
    policies: tuple[PolicyRef, ...]
    conditions: tuple[NamedExpression, ...]
    images: tuple[str, ...]
    values: tuple[str, ...]
    passes: bool
    """Whether the result is a pass; a skip otherwise."""
    priority: int
    """What decides between several: that of the highest counts."""
    expires: datetime | None
    document: Document

    @property
    def key(self) -> str:
        """Name as shown in messages."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_full(self) -> bool:
        """Whether nothing is checked; otherwise the policy itself reads what is let pass."""
        return not (self.images or self.values)


class Exceptions(NamedTuple):
    """Exceptions of both sorts, each in the order in which they were given."""

    rules: tuple[PolicyException, ...] = ()
    policies: tuple[CelException, ...] = ()

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.rules) + len(self.policies)

    @property
    def keys(self) -> tuple[str, ...]:
        """What they are called."""
        return (*(one.key for one in self.rules), *(one.key for one in self.policies))
