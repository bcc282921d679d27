"""Results of rules, policies, requests and runs; known failures; the exit status of a run."""

from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, ObjectKey
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.source import Document, Location

# Results of evaluation, from one rule up to one request.

NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


class RuleStatus(StrEnum):
    """The result of a rule."""

    PASS = "pass"  # noqa: S105 — a status, not a secret
    FAIL = "fail"
    WARN = "warn"
    ERROR = "error"
    SKIP = "skip"


class BaselineState(StrEnum):
    """Whether a failure is in the baseline of a run, in SARIF's terms."""

    NEW = "new"
    UNCHANGED = "unchanged"
    """It is in the baseline, so it does not fail the run."""


class Phase(StrEnum):
    """The phase of a request in which a rule runs; the value is its name in reports."""

    MUTATE = "Mutation"
    VERIFY_IMAGES = "ImageVerify"
    VALIDATE = "Validation"
    GENERATE = "Generation"
    DELETE = "Deletion"


class Stage(Enum):
    """A stage of the engine: all its rules run before those of the next stage.

    The older kinds have one stage for each phase; CEL policies have their own, since they always
    run after the older ones. `kyvsim/engine/evaluate.py` defines the order.
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
        """The phase, as in reports."""

    __hash__ = object.__hash__
    """Members are singletons that every request looks up, and hashing the name is slow."""


class PatchedTarget(NamedTuple):
    """An existing object that a mutate rule changed for a trigger."""

    object: KubernetesObject
    changed: bool
    before: KubernetesObject | None = None
    """The object before the change; None if unknown."""
    subresource: str = ""
    """The changed subresource, such as `status` or `scale`; "" for the object itself."""


class RuleResult(NamedTuple):
    """The result of one rule for one request."""

    rule: Rule
    phase: Phase
    status: RuleStatus
    message: str
    generated: tuple[KubernetesObject, ...] = ()
    targets: tuple[PatchedTarget, ...] = ()
    path: str = ""
    """The path of the failed field, such as `/spec/containers/0/image/`; "" if unknown."""
    note: str = ""
    """Additional information for users; the message itself is exactly upstream's."""
    exceptions: tuple[str, ...] = ()
    """The keys of the policy exceptions for which the rule was skipped."""
    properties: Mapping[str, str] = NO_PROPERTIES
    """Additional properties in policy reports."""
    unchecked: tuple[str, ...] = ()
    """The parts of the object that the rule could not evaluate, with reasons; upstream omits these.
    """
    hindered: bool = False
    """Whether it has a note other than hints, such as on overlapping generated objects."""
    baseline: BaselineState | None = None
    """For failures, if the run has a baseline."""
    own: str = ""
    """The message for people: the part that the policy defines, or why a rule was skipped without a
    message upstream; "" to show `message`.
    """


class PolicyResponse(NamedTuple):
    """The results of one policy for one request in one phase.

    `object` is the evaluated object; in the mutate phase, after the policy's patches.
    """

    policy: Policy
    phase: Phase
    object: Json
    results: tuple[RuleResult, ...]
    changed: bool = False
    silent: tuple[RuleResult, ...] = ()
    """Rules without a result upstream, because nothing in the object could be evaluated. Their
    status does not count.
    """


class PolicyPasses:
    """A policy whose rules all pass, with results that only have messages.

    Instances are shared by many objects, and counted together: each only equals itself.
    """

    __slots__ = ("policy", "results")

    def __init__(self, policy: Policy, results: tuple[RuleResult, ...]) -> None:
        self.policy = policy
        self.results = results


class PassingPolicies(NamedTuple):
    """Consecutive policies whose rules all pass, shared by many objects.

    Code that only counts passes need not expand them.
    """

    passes: tuple[PolicyPasses, ...]
    phase: Phase
    object: KubernetesObject

    def responses(self) -> Iterator[PolicyResponse]:
        """Yield the separate response of each policy."""
        passes, phase, obj = self
        return (PolicyResponse(one.policy, phase, obj, one.results) for one in passes)


class EngineResponse(NamedTuple):
    """The responses of all policies to one request, in the order of evaluation."""

    trigger: object
    object: Json
    """The object after all mutate rules."""
    answers: tuple[PolicyResponse | PassingPolicies, ...]
    document: Document | None = None
    namespace_labels: JsonMap | None = None
    repeated: tuple[PolicyResponse, ...] = ()
    """The policies that change the object again in a second run of all mutate rules, or have new
    errors there; empty unless requested.
    """
    request: AdmissionRequest | None = None
    """The evaluated request; None for a payload that is not a request."""

    @property
    def responses(self) -> tuple[PolicyResponse, ...]:
        """The response of each policy, expanded on demand."""
        found: list[PolicyResponse] = []
        for answer in self.answers:
            found += answer.responses() if isinstance(answer, PassingPolicies) else (answer,)
        return tuple(found)

    @property
    def evaluated(self) -> list[PolicyResponse]:
        """The same without `PassingPolicies`."""
        return [one for one in self.answers if one.__class__ is PolicyResponse]


# Fields of results in reports: source, process, message, properties.
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
    """Return the source of results for a kind of policies."""
    return _SOURCES.get(kind.removeprefix("Namespaced"), _OLDER)


def report_process(policy: Policy) -> str:
    """Return the process of a policy's results; "" if nothing triggers its evaluation."""
    kind = policy.kind.removeprefix("Namespaced")
    if kind == "DeletingPolicy":
        return ""
    if kind != "GeneratingPolicy" and policy.background:
        return "background scan"
    return "admission review" if policy.facts.admission or kind == "GeneratingPolicy" else ""


def report_message(result: RuleResult, status: str) -> str:
    """Return the message for a status from the properties of a result, or its own message."""
    properties = result.properties
    return properties.get("message") or properties.get(f"{status}Message") or result.message


def report_properties(policy: Policy, result: RuleResult) -> dict[str, str]:
    """Return the properties of a result in reports."""
    properties = {**result.properties, "process": report_process(policy)}
    if result.exceptions:
        properties["exceptions"] = ",".join(key.rpartition("/")[2] for key in result.exceptions)
    return properties


# Reasons of failures, as shown to users: texts with positions in policy and manifest.
# They no longer need the object.


class Excerpt(NamedTuple):
    """A source line, or the part of a long line around the marked text."""

    before: str
    meant: str
    after: str


class ReportedReason(NamedTuple):
    """One reason of a failure."""

    text: str
    """The text to show in addition to the message, or ""."""
    place: Location
    """The position of the decisive part in the policy."""
    seen_at: Location | None = None
    """The position of the field in the manifest; None if it is the whole object, or unknown."""
    excerpt: Excerpt | None = None
    """The source line at `seen_at`."""


# The result of a run: a single record for its exit status and its closing line.


class RunVerdict(StrEnum):
    """The result of a run in one word, the most important first."""

    INCOMPLETE = "INCOMPLETE"
    """An input could not be used, so the results are incomplete."""
    FAILED = "FAILED"
    DIFFERENT = "DIFFERENT"
    """Two policy sets have different results or effects."""
    WARNED = "WARNED"
    """There are only warnings, for which the user set an exit status."""
    NOTHING = "NOTHING CHECKED"
    SAME = "SAME"
    """Two policy sets have the same results and effects."""
    PASSED = "PASSED"


_STATUS: Mapping[RunVerdict, int] = {
    RunVerdict.INCOMPLETE: 2,
    RunVerdict.FAILED: 1,
    RunVerdict.DIFFERENT: 1,
    RunVerdict.NOTHING: 0,
    RunVerdict.SAME: 0,
    RunVerdict.PASSED: 0,
}
"""The exit status of a verdict; the user sets that of WARNED."""


class Fact(NamedTuple):
    """A count of a run."""

    key: str
    """Its name in JSON documents."""
    number: int
    text: str
    """Its text in the closing line, or ""."""
    verdict: RunVerdict = RunVerdict.PASSED


class RunEnding(NamedTuple):
    """The result of a run, from which exit status and closing line are derived."""

    facts: tuple[Fact, ...]
    warned_status: int = 0
    release: str = ""
    """The release of Kyverno that was emulated; "" if it does not matter."""

    @property
    def ranked(self) -> tuple[Fact, ...]:
        """The facts, the most important first."""
        order = list(RunVerdict)
        return tuple(sorted(self.facts, key=lambda fact: order.index(fact.verdict)))

    @property
    def verdict(self) -> RunVerdict:
        """The most important verdict of the facts."""
        return self.ranked[0].verdict if self.facts else RunVerdict.PASSED

    @property
    def status(self) -> int:
        """The exit status."""
        return _STATUS.get(self.verdict, self.warned_status)


class RefusalCount(NamedTuple):
    """A reason why an API server rejects objects of a kind: its first position and its count."""

    kind: str
    field: str
    what: str
    example: str
    location: Location
    number: int = 1


class KnownFailure(NamedTuple):
    """The identity of a failure, independent of lines; sorted by policy, rule and object."""

    policy: str
    """The policy's key."""
    rule: str
    object: ObjectKey
    """The key of the given resource."""
    result: str
    """`fail`, `error` or `warn`."""
    path: str
    """The path of the failed field in the object; "" if unknown."""
    message: str
    """The message; "" if there is a path, since messages contain values."""


class BaselineEntry(NamedTuple):
    """A failure of a baseline."""

    number: int
    """The number of failures with the same identity."""
    place: Location


class Baseline(NamedTuple):
    """The content of a baseline file."""

    file: str
    entries: Mapping[KnownFailure, BaselineEntry]
