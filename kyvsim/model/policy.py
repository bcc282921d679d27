"""Policies as loaded, with their facts, and policy exceptions."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, Path
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.request import PayloadMode
from kyvsim.model.source import Document
from kyvsim.policy.autogen import ANNOTATION, CONTROLLERS, CRON_JOB, blocker_of
from kyvsim.policy.rule import NO_POLICY, NO_RULE, PolicyNode, RuleNode
from kyvsim.policy.tree import Conditions, MatchBlock, NamedExpression, PodSecurityExclusion

if TYPE_CHECKING:
    from kyvsim.model.background import Generation, MutationTarget
    from kyvsim.policy.cel_policy import BindingNode, CelPolicyNode


# Facts about policies for code outside of their language, in the same form for all languages.
# A language computes them when it reads a policy. Other code does not read fields of policies.

_NOTHING: JsonMap = MappingProxyType({})


class Override(NamedTuple):
    """A failure action override for some namespaces."""

    action: str
    """As in the policy; "" if not set."""
    namespaces: tuple[str, ...] | None
    """Patterns for namespace names; None if not set."""
    selector: JsonMap | None
    """The selector for namespace labels; None if not set."""


class FailureAction(NamedTuple):
    """The failure action: `Enforce` or `Audit`, in any case, or another text."""

    own: str = ""
    """The action without an override; "" if not set."""
    overrides: tuple[Override, ...] = ()


class RuleFacts(NamedTuple):
    """Facts about a rule."""

    section: str = ""
    """Its type: `validate`, `mutate`, `generate`, `verifyImages`, or "" for another one."""
    kinds: frozenset[str] | None = None
    """The kinds that it can match; None if they are not limited."""
    action: FailureAction = FailureAction()
    """Its own failure action."""
    image_actions: tuple[str, ...] = ()
    """The failure actions in entries for images."""
    generation: "Generation | None" = None
    upkeep: Mapping[str, object] = _NOTHING
    """The settings for later changes of generated objects, by name."""
    targets: tuple["MutationTarget", ...] = ()
    """The existing objects that it mutates; () if it mutates its trigger, or does not mutate."""
    spares_triggers: bool = False
    """Whether it mutates other objects later instead of its trigger, so requests never fail."""
    patches_elements: bool = False
    """Whether it patches once for each element of a list (foreach)."""
    mutates_on_update: bool = False
    """Whether it sets mutateExistingOnPolicyUpdate."""
    runs_on_policy_update: bool = False
    """Whether it runs on policy updates: its own setting, or that of the policy."""
    sees_background: bool = False
    """Whether requests of the background controller are also triggers."""
    asked_labels: Mapping[str, object] | None = None
    """The labels that its pattern requires; None if there are none."""


class PolicyFacts(NamedTuple):
    """Facts about a policy as a whole."""

    api_version: str
    """The apiVersion in which a cluster stores it."""
    action: FailureAction = FailureAction()
    """The failure action for rules without their own."""
    admission: bool = True
    """Whether requests are evaluated."""
    background: bool = True
    """Whether existing objects are evaluated, too."""
    applies_one_rule: bool = False
    """Whether evaluation stops after the first rule that passes or fails."""
    emits_warnings: bool = False
    """Whether clients get warnings about failures that do not deny the request."""
    fails_closed: bool = True
    """Whether a request is denied if the policy cannot be evaluated (failurePolicy)."""
    webhook_conditions: tuple[tuple[str, str], ...] = ()
    """Names and expressions of the webhook's matchConditions."""
    webhook_timeout: int | None = None
    """The webhook timeout in seconds; None if the policy does not set it."""
    applies_server_side: bool = False
    """Whether generated objects are written by server-side apply."""
    mutates_on_update: bool = False
    """Whether the policy or a rule sets mutateExistingOnPolicyUpdate."""
    schedule: str | None = None
    """The schedule at which it runs; None if it evaluates requests."""
    pins_images: bool = False
    """Whether image tags are replaced with digests on admission."""
    has_rules: bool = True
    """Whether tests refer to its rules; otherwise they refer to the whole policy."""
    judges: PayloadMode | None = None
    """The type of payloads that it evaluates; None if it evaluates objects."""
    propagation: str = "Background"
    """The deletion propagation policy for objects that it deletes."""


# Policies as loaded: validated, with expressions as text.

_Record = TypeVar("_Record")

SEVERITIES = ("critical", "high", "medium", "low", "info")
"""The values of the annotation `policies.kyverno.io/severity`; reports omit others."""


def _by_identity(record: type[_Record]) -> type[_Record]:
    """Compare instances of a record by identity, so that they are quickly found as keys."""
    for name in ("__eq__", "__ne__", "__hash__"):
        setattr(record, name, getattr(object, name))
    return record


@_by_identity
class Rule(NamedTuple):
    """A rule of a policy, as written or derived by autogen; it is only equal to itself."""

    name: str
    data: KubernetesObject
    """The raw data, only for its language; other code uses `facts`."""
    path: Path
    """The path of the rule in the document; for an autogen rule, that of its source rule."""
    facts: RuleFacts
    tree: RuleNode = NO_RULE
    """The typed tree, for rules of ClusterPolicies, Policies and cleanup policies."""
    variant: str = ""
    """The autogen variant of a policy; "" for the original."""
    autogen_prefix: Path = ()
    """The fields under which autogen nested the patterns; () for a rule as written."""

    def is_renamed(self, other: "Rule") -> bool:
        """Return whether another rule is the same one with a different name."""
        return self.data is other.data

    @property
    def generates(self) -> bool:
        """Whether the background controller generates objects for it."""
        return self.facts.generation is not None

    @property
    def mutates_existing(self) -> bool:
        """Whether the background controller mutates objects for it."""
        return bool(self.facts.targets)


@_by_identity
class Policy(NamedTuple):
    """A policy of any language; if it has no rules, its whole `spec` is its rule.

    It only equals itself and can be a key: two files may have policies with the same name.
    """

    kind: str
    name: str
    namespace: str
    annotations: Mapping[str, object]
    spec: JsonMap
    """The raw data, only for its language; other code uses `facts`."""
    rules: tuple[Rule, ...]
    document: Document
    facts: PolicyFacts
    tree: PolicyNode = NO_POLICY
    """The typed tree without rules, for ClusterPolicies and Policies."""
    cel_tree: "CelPolicyNode | None" = None
    """The typed tree of CEL policies."""

    @property
    def cel(self) -> "CelPolicyNode":
        """The tree of a CEL policy; raises ValueError for others."""
        if self.cel_tree is None:
            raise ValueError(f"a {self.kind} has no expressions in CEL")
        return self.cel_tree

    @property
    def key(self) -> str:
        """The shown name: `namespace/name` for a namespaced policy."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def has_same_spec(self, other: "Policy") -> bool:
        """Return whether another policy has the same spec, in any file."""
        return self.spec == other.spec

    @property
    def background(self) -> bool:
        """Whether background processing is enabled (the default)."""
        return self.facts.background

    @property
    def applies_one_rule(self) -> bool:
        """Whether evaluation stops after the first rule that passes or fails."""
        return self.facts.applies_one_rule

    @property
    def scored(self) -> bool:
        """Whether failures count as failures; if the annotation is "false", they are warnings."""
        return self.annotations.get("policies.kyverno.io/scored") != "false"


def underived(policy: Policy, kind: str) -> str:
    """Return why autogen derives no rule of a policy for a kind of Pod controllers, or "".

    "" for other kinds, and for policies without rules for Pods.
    """
    if kind not in {*CONTROLLERS, CRON_JOB}:
        return ""
    if policy.cel_tree is not None:
        names, own = policy.cel_tree.autogen.pod_controllers, f"{kind.lower()}s"
        of_pods = any("pods" in one.resources for one in policy.cel_tree.resource_rules)
        if names is None or own in names or not of_pods:
            return ""
        only = f"only has {', '.join(names)}" if names else "is empty"
        return f"`spec.autogen.podControllers.controllers` {only}: add `{own}`"
    of_pods = any("Pod" in (rule.facts.kinds or ()) for rule in policy.rules)
    if not (policy.facts.has_rules and of_pods):
        return ""
    why = ""
    named = policy.annotations.get(ANNOTATION)
    if named is not None and kind not in str(named).split(","):
        why = f"its annotation `{ANNOTATION}` is `{named}`"
    for rule in policy.rules:
        blocker = blocker_of(rule.tree)
        if blocker:
            why = f"rule `{rule.name}` prevents that: {blocker}"
    return f"autogen derives no rules of `{policy.key}` for {kind}s, since {why}" if why else ""


PolicyReader: TypeAlias = Callable[[Json, Document], tuple[Policy, tuple[Diagnostic, ...]]]
"""A language's function that creates a policy from validated data."""
PolicyReaders: TypeAlias = Mapping[tuple[str, str], PolicyReader]
"""By group and kind; policies are read in all served versions."""


# Schedules of policies.


class Schedule(NamedTuple):
    """The schedule of a policy that deletes objects, with its next times."""

    kind: str
    policy: str
    text: str
    due: tuple[datetime, ...] = ()
    """The next times in UTC, soonest first."""
    problem: str = ""


# Bindings of Kubernetes' admission policies: the scope of a policy, and its parameters.


class Binding(NamedTuple):
    """One binding."""

    kind: str
    name: str
    tree: "BindingNode"
    """Its specification."""
    document: Document

    def binds(self, kind: str, name: str) -> bool:
        """Return whether it binds the given policy."""
        return self.kind == f"{kind}Binding" and self.tree.policy_name == name


# PolicyExceptions: exemptions from rules, or from CEL policies.


class ExceptedRules(NamedTuple):
    """One entry of an exception: a policy, and patterns for the names of its rules."""

    policy: str
    """The policy's key: `namespace/name` for a namespaced policy."""
    rules: tuple[str, ...]


class PolicyException(NamedTuple):
    """A PolicyException (kyverno.io): validated, with expressions as text."""

    name: str
    namespace: str
    exceptions: tuple[ExceptedRules, ...]
    match: MatchBlock
    conditions: Conditions | None
    pod_security: tuple[PodSecurityExclusion, ...]
    document: Document

    @property
    def entries(self) -> Mapping[str, tuple[int, ...]]:
        """The indexes of the entries for each policy, by the policy's key."""
        found: dict[str, list[int]] = {}
        for index, one in enumerate(self.exceptions):
            found.setdefault(one.policy, []).append(index)
        return {policy: tuple(numbers) for policy, numbers in found.items()}

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return "PolicyException"

    @property
    def key(self) -> str:
        """The name in messages: `namespace/name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PolicyRef(NamedTuple):
    """A CEL policy to which an exception applies."""

    kind: str
    name: str


class CelException(NamedTuple):
    """A PolicyException of `policies.kyverno.io`: validated, with expressions as text."""

    name: str
    namespace: str
    policies: tuple[PolicyRef, ...]
    conditions: tuple[NamedExpression, ...]
    images: tuple[str, ...]
    values: tuple[str, ...]
    passes: bool
    """Whether the result is a pass; otherwise it is a skip."""
    priority: int
    """Of several exceptions, the one with the highest priority is used."""
    expires: datetime | None
    document: Document

    @property
    def key(self) -> str:
        """The name in messages."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_full(self) -> bool:
        """Whether nothing is checked; otherwise the policy reads the allowed values."""
        return not (self.images or self.values)


class Exceptions(NamedTuple):
    """Exceptions of both types, each in input order."""

    rules: tuple[PolicyException, ...] = ()
    policies: tuple[CelException, ...] = ()

    @property
    def total(self) -> int:
        """The number of exceptions."""
        return len(self.rules) + len(self.policies)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the exceptions."""
        return (*(one.key for one in self.rules), *(one.key for one in self.policies))
