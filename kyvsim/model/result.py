"""Outcomes of evaluation, from a rule up to a run; known failures; the exit status of a run."""

from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, ObjectKey
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.source import Document, Location

# Outcomes of evaluation, from one rule up to one request.

NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


class RuleStatus(StrEnum):
    """How a rule ended."""

    PASS = "pass"  # noqa: S105 — a verdict, no secret
    FAIL = "fail"
    WARN = "warn"
    ERROR = "error"
    SKIP = "skip"


class BaselineState(StrEnum):
    """How a failure stands to the baseline of a run, in SARIF's words."""

    NEW = "new"
    UNCHANGED = "unchanged"
    """The baseline has it: it fails nothing."""


class Phase(StrEnum):
    """The part of a request's life in which a rule runs; the value is the name in reports."""

    MUTATE = "Mutation"
    VERIFY_IMAGES = "ImageVerify"
    VALIDATE = "Validation"
    GENERATE = "Generation"
    DELETE = "Deletion"


class Stage(Enum):
    """A stage of the engine: what runs together before anything of the next stage does.

    The older kinds have one stage for each phase; those written in CEL have their own, since they
    run after the older ones whatever they do. `kyvsim/engine/evaluate.py` has the order.
    """

    MUTATE = (Phase.MUTATE, "rules")
    VERIFY_IMAGES = (Phase.VERIFY_IMAGES, "rules")
    VALIDATE = (Phase.VALIDATE, "rules")
    GENERATE = (Phase.GENERATE, "rules")
    DELETE = (Phase.DELETE, "rules")
    NATIVE_MUTATE = (Phase.MUTATE, "Kubernetes' admission policies")
    NATIVE_VALIDATE = (Phase.VALIDATE, "Kubernetes' admission policies")
    CEL_MUTATE = (Phase.MUTATE, "policies in CEL")
    CEL_VALIDATE = (Phase.VALIDATE, "policies in CEL")
    CEL_GENERATE = (Phase.GENERATE, "policies in CEL")
    CEL_VERIFY_IMAGES = (Phase.VERIFY_IMAGES, "policies in CEL")
    CEL_DELETE = (Phase.DELETE, "policies in CEL")

    def __init__(self, phase: Phase, _group: str) -> None:
        self.phase = phase
        """The phase that reports name."""

    __hash__ = object.__hash__
    """There is one of each, and every request asks for all: the hash of a name is slow."""


class PatchedTarget(NamedTuple):
    """An existing object that a mutate rule changed on behalf of a trigger."""

    object: KubernetesObject
    changed: bool
    before: KubernetesObject | None = None
    """The object as it was; None where that is not known."""
    subresource: str = ""
    """Where it is written: "" for the object itself, or `status`, `scale` …"""


class RuleResult(NamedTuple):
    """Outcome of one rule for one request."""

    rule: Rule
    phase: Phase
    status: RuleStatus
    message: str
    generated: tuple[KubernetesObject, ...] = ()
    targets: tuple[PatchedTarget, ...] = ()
    path: str = ""
    """Where in the object a check failed, as `/spec/containers/0/image/`; "" where not known."""
    note: str = ""
    """What a user should know besides the message, which is worded as upstream words it."""
    exceptions: tuple[str, ...] = ()
    """The keys of the policy exceptions on whose account the rule was skipped."""
    properties: Mapping[str, str] = NO_PROPERTIES
    """The properties in policy reports, besides the message."""
    unchecked: tuple[str, ...] = ()
    """What of the object the rule could not look at, each with its reason; upstream says nothing
    of it."""
    hindered: bool = False
    """Whether something kept the rule from generating what it is for, or from doing it alone."""
    baseline: BaselineState | None = None
    """Of a failure, where the run has a baseline."""
    own: str = ""
    """What people read instead of the message: the part that the policy words itself, or why a rule
    was skipped where upstream's message is empty; "" for the message."""


class PolicyResponse(NamedTuple):
    """What one policy said about one request in one phase.

    `object` is the object the phase worked on, after its patches where it is the mutate phase.
    """

    policy: Policy
    phase: Phase
    object: Json
    results: tuple[RuleResult, ...]
    changed: bool = False
    silent: tuple[RuleResult, ...] = ()
    """Rules that upstream has no result for, because nothing of the object could be looked at.

    They have no status that counts."""


class PolicyPasses:
    """A policy all of whose rules pass; its results have nothing but messages.

    Many objects share one: it equals itself only, so that shared ones are counted together.
    """

    __slots__ = ("policy", "results")

    def __init__(self, policy: Policy, results: tuple[RuleResult, ...]) -> None:
        self.policy = policy
        self.results = results


class PassingPolicies(NamedTuple):
    """Policies one after the other whose rules pass an object, as many objects share them.

    Who only counts passes need not look at each.
    """

    passes: tuple[PolicyPasses, ...]
    phase: Phase
    object: KubernetesObject

    def responses(self) -> Iterator[PolicyResponse]:
        """Yield the same as what each policy said by itself."""
        passes, phase, obj = self
        return (PolicyResponse(one.policy, phase, obj, one.results) for one in passes)


class EngineResponse(NamedTuple):
    """Everything the policies said about one request, in the order in which they said it."""

    trigger: object
    object: Json
    """The object as all mutate rules left it."""
    answers: tuple[PolicyResponse | PassingPolicies, ...]
    document: Document | None = None
    namespace_labels: JsonMap | None = None
    repeated: tuple[PolicyResponse, ...] = ()
    """What changes the object again when all mutate rules run a second time, if that is asked, or
    ends in an error that the first time had not."""
    request: AdmissionRequest | None = None
    """What was asked; None for a payload that is no request."""

    @property
    def responses(self) -> tuple[PolicyResponse, ...]:
        """What each policy said, made of the answers when it is asked for."""
        found: list[PolicyResponse] = []
        for answer in self.answers:
            found += answer.responses() if isinstance(answer, PassingPolicies) else (answer,)
        return tuple(found)

    @property
    def evaluated(self) -> list[PolicyResponse]:
        """The same without those of which nothing is known but that they pass."""
        return [one for one in self.answers if one.__class__ is PolicyResponse]


# What reports say of a result: its author, its message, its properties.
#
# Source of the rules: upstream pkg/utils/report (source.go, results.go).


_OLDER = "kyverno"
_SOURCES: Mapping[str, str] = {
    **{
        kind: f"Kyverno{kind}"
        for kind in (
            "GeneratingPolicy",
            "ImageValidatingPolicy",
            "MutatingPolicy",
            "ValidatingPolicy",
        )
    },
    **{kind: kind for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")},
}


def report_source(kind: str) -> str:
    """Return the source of the results of a policy of a kind."""
    return _SOURCES.get(kind.removeprefix("Namespaced"), _OLDER)


def report_process(policy: Policy) -> str:
    """Return when the results of a policy come about; "" where nothing asks for them."""
    kind = policy.kind.removeprefix("Namespaced")
    if kind == "DeletingPolicy":
        return ""
    if kind != "GeneratingPolicy" and policy.background:
        return "background scan"
    return "admission review" if policy.facts.admission or kind == "GeneratingPolicy" else ""


def report_message(result: RuleResult, status: str) -> str:
    """Return the message of a result: that of its properties, for its status or for all, if any."""
    properties = result.properties
    return properties.get("message") or properties.get(f"{status}Message") or result.message


def report_properties(policy: Policy, result: RuleResult) -> dict[str, str]:
    """Return the properties of a result in all reports."""
    properties = {**result.properties, "process": report_process(policy)}
    if result.exceptions:
        properties["exceptions"] = ",".join(key.rpartition("/")[2] for key in result.exceptions)
    return properties


# Why a rule failed, as views show it: in words, with lines of policy and manifest.
#
# Nothing of it needs the object any more.


class Excerpt(NamedTuple):
    """A line of a file, or what of a long one can be shown: around what is meant."""

    before: str
    meant: str
    after: str


class ReportedReason(NamedTuple):
    """One thing that made a rule fail."""

    text: str
    """What is to be said besides the message; "" for nothing."""
    place: Location
    """Where that which asked stands in the policy."""
    seen_at: Location | None = None
    """Where it looked in the manifest; None where it is the whole object, or unknown."""
    excerpt: Excerpt | None = None
    """The line there."""


# How a run ended, and why its exit status is what it is: the one record that both come from.


class RunVerdict(StrEnum):
    """How a run ended, in a word; the one that weighs most comes first."""

    INCOMPLETE = "INCOMPLETE"
    """Some input could not be used, so what was found is not all there is to say."""
    FAILED = "FAILED"
    DIFFERENT = "DIFFERENT"
    """Two sets of policies say or do something else."""
    WARNED = "WARNED"
    """Nothing worse than warnings, for which the user asked an exit status."""
    NOTHING = "NOTHING CHECKED"
    SAME = "SAME"
    """Two sets of policies say and do the same."""
    PASSED = "PASSED"


_STATUS: Mapping[RunVerdict, int] = {
    RunVerdict.INCOMPLETE: 2,
    RunVerdict.FAILED: 1,
    RunVerdict.DIFFERENT: 1,
    RunVerdict.NOTHING: 0,
    RunVerdict.SAME: 0,
    RunVerdict.PASSED: 0,
}
"""The exit status that a verdict stands for; the user sets that of WARNED."""


class Fact(NamedTuple):
    """One thing that is counted of a run."""

    key: str
    """Its name in JSON documents."""
    number: int
    text: str
    """What the closing line says of it; "" where it says nothing."""
    verdict: RunVerdict = RunVerdict.PASSED


class RunEnding(NamedTuple):
    """How a run ended: the exit status and the closing line are two readings of this."""

    facts: tuple[Fact, ...]
    warned_status: int = 0

    @property
    def ranked(self) -> tuple[Fact, ...]:
        """The facts, those that weigh most first."""
        order = list(RunVerdict)
        return tuple(sorted(self.facts, key=lambda fact: order.index(fact.verdict)))

    @property
    def verdict(self) -> RunVerdict:
        """The verdict that weighs most among those of the facts."""
        return self.ranked[0].verdict if self.facts else RunVerdict.PASSED

    @property
    def status(self) -> int:
        """The exit status."""
        return _STATUS.get(self.verdict, self.warned_status)


class RefusalCount(NamedTuple):
    """A cause for which an API server refuses objects of a kind: the first place, and how often."""

    kind: str
    field: str
    what: str
    example: str
    location: Location
    number: int = 1


class KnownFailure(NamedTuple):
    """What a failure is known by, wherever lines move; they sort by policy, rule and object."""

    policy: str
    """The policy's key."""
    rule: str
    object: ObjectKey
    """That of the resource as it was given."""
    result: str
    """`fail`, `error` or `warn`."""
    path: str
    """Where in the object the check failed; "" where that is not known."""
    message: str
    """What was said; "" where there is a path, since messages repeat values."""


class BaselineEntry(NamedTuple):
    """A failure of a baseline."""

    number: int
    """How many failures are alike."""
    place: Location


class Baseline(NamedTuple):
    """What a baseline file says."""

    file: str
    entries: Mapping[KnownFailure, BaselineEntry]
