"""Kyverno's webhooks for CEL policies."""

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.compile import PolicyRules
from kyvsim.engine.policy import RuleInput, run_policy_rules
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import KubernetesObject, object_key
from kyvsim.languages.cel.facts import WebhookFacts, mutating_facts
from kyvsim.model.policy import Policy
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.result import PolicyResponse, RuleStatus, Stage
from kyvsim.model.tracing import PolicyPlace, TraceContext
from kyvsim.policy.cel_policy import read_cel_policy
from kyvsim.simulator.admission.classic import Admission, AdmissionController, kind_of
from kyvsim.simulator.admission.review import (
    MatchConditionError,
    denial,
    from_background,
    is_called,
    trace_conditions,
)
from kyvsim.simulator.api_server import Review, WebhookResponse
from kyvsim.simulator.api_server.request import ALLOWED
from kyvsim.simulator.configuration import ADMISSION
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.policies import PolicyCache, is_cel_policy
from kyvsim.simulator.tracer import SimulationTracer


def not_done(obj: KubernetesObject) -> Iterator[str]:
    """Yield the settings of a stored CEL policy that are not simulated."""
    if is_cel_policy(object_key(obj)):
        mode = read_cel_policy(obj.get("spec") or {}).evaluation.mode
        if mode != "Kubernetes":
            yield f"mode {mode}"


def trace_webhook(
    tracer: SimulationTracer | None,
    turn: PolicyRules,
    facts: WebhookFacts,
    given: RuleInput,
    external: ExternalData,
    *,
    called: bool,
) -> None:
    """Trace that the webhook of a policy was called, which leaves the rest to a controller.

    If it was not, trace why the rules were not evaluated: the webhook is for other requests, or a
    matchCondition is false.
    """
    if tracer is None:
        return
    policy, subject = turn.policy.policy, object_key(given.request.subject)
    place = PolicyPlace(policy.document, policy.key, "", ("spec",), ("matchConditions",))
    trace = TraceContext(place, tracer)
    texts = [text for _, text in facts.conditions]
    record = partial(trace_conditions, texts, given.request, external, trace)
    if called:
        tracer.defer(policy, turn.rules, subject, record)
    elif facts.takes(given.facts):
        why = "a match condition of its webhook is false"
        tracer.skip(policy, turn.rules, subject, why, record=record)
    else:
        why = "its webhook is not registered for such requests"
        tracer.skip(policy, turn.rules, subject, why)


# The webhooks of CEL policies.
# Source of the rules: upstream pkg/webhooks/resource/vpol/handler.go, pkg/controllers/webhook.


class Hook(NamedTuple):
    """The webhooks of one kind of policy."""

    name: str
    """The prefix of their names."""
    path: str
    """The prefix of their paths."""
    mutates: bool = False


WEBHOOKS: Mapping[str, Hook] = {
    "ValidatingPolicy": Hook("vpol.validate.kyverno.svc", "/vpol"),
    "NamespacedValidatingPolicy": Hook("nvpol.validate.kyverno.svc", "/nvpol"),
    "ImageValidatingPolicy": Hook("ivpol.validate.kyverno.svc", "/ivpol/validate"),
    "NamespacedImageValidatingPolicy": Hook("ivpol.validate.kyverno.svc", "/nivpol/validate"),
    "GeneratingPolicy": Hook("gpol.validate.kyverno.svc", "/gpol"),
    "NamespacedGeneratingPolicy": Hook("ngpol.validate.kyverno.svc", "/ngpol"),
    "MutatingPolicy": Hook("mpol.validate.kyverno.svc", "/mpol", mutates=True),
    "NamespacedMutatingPolicy": Hook("nmpol.validate.kyverno.svc", "/nmpol", mutates=True),
}
_FAILURES = MappingProxyType({RuleStatus.FAIL: "failed", RuleStatus.ERROR: "error"})


class _Webhooks:
    """The common part of webhooks for CEL policies."""

    def __init__(
        self, sim: SimulationContext, cache: PolicyCache, admission: AdmissionController
    ) -> None:
        self._cache = cache
        self._admission = admission
        self._world = World(sim.store, account=ADMISSION)

    def _opened(self, turn: PolicyRules, request: AdmissionRequest) -> RuleInput | None:
        """Return the input of a policy, None if it is not called; raise `MatchConditionError`."""
        policy, external = turn.policy.policy, self._world.external
        given = self._admission.opened(request)
        if given is None or is_called_for(policy, given, self._cache, external):
            return given
        facts = self._cache.webhook_facts(policy)
        trace_webhook(self._admission.tracer, turn, facts, given, external, called=False)
        return None

    def _answer(self, admission: Admission) -> WebhookResponse:
        """Return the warnings of policies, and the denial of the first webhook that denies."""
        warnings: list[str] = []
        problems: dict[str, list[str]] = {}
        for response in admission.responses:
            policy = response.policy
            # Failures and errors, in the format for clients.
            texts = [
                f"Policy {policy.name} {_FAILURES[one.status]}: {one.message}"
                for one in response.results
                if one.status in _FAILURES
            ]
            warnings += texts if policy.facts.emits_warnings else ()
            if denies(policy):
                base = PINNING_WEBHOOKS[policy.kind].name if admission.mutating else ""
                name = webhook_of(policy, self._cache.webhook_facts(policy), base)
                problems.setdefault(name, []).extend(texts)
        denials = [denial(name, "; ".join(texts)) for name, texts in problems.items() if texts]
        self._admission.notify(admission._replace(blocked=bool(denials)))
        denied = denials[0] if denials else None
        return WebhookResponse(warnings=tuple(warnings), denied=denied)


class CelAdmission(_Webhooks):
    """The webhooks of validating and mutating policies, cluster-wide or namespaced."""

    def mutate(self, review: Review) -> WebhookResponse:
        """Return the mutated object, or the denial if a policy ends in an error."""
        request = self._admission.seen(review)
        if request is None:
            return ALLOWED
        try:
            after, responses, problems = self._mutated(request)
            # Policies with targets are only called here.
            for emit in self._admission.mutated if not review.request.dry_run else ():
                emit(review, request)
        except MatchConditionError as error:
            return self._admission.webhook_failed(request, error)
        if not responses:
            return ALLOWED
        admission = Admission(review, after, tuple(responses), mutating=True)
        self._admission.notify(admission._replace(blocked=bool(problems)))
        for name, errors in problems.items():
            key = object_key(request.subject)
            place = f"Resource: {request.namespace}/{key.name}, Kind: {key.kind}"
            return WebhookResponse(denied=denial(name, f"{place}, Errors: [{' '.join(errors)}]"))
        return WebhookResponse(None if after.object is request.object else after.object)

    def _mutated(
        self, request: AdmissionRequest
    ) -> tuple[AdmissionRequest, list[PolicyResponse], dict[str, list[str]]]:
        """Return the mutated request, and why it is denied, by webhook.

        Raises `MatchConditionError`.
        """
        responses: list[PolicyResponse] = []
        problems: dict[str, list[str]] = {}
        for turn in self._turns(Stage.CEL_MUTATE, request):
            policy = turn.policy.policy
            ignored = from_background(request) and not policy.rules[0].facts.sees_background
            if ignored or mutating_facts(policy).keeps_triggers:
                continue
            response = self._response(turn, Stage.CEL_MUTATE, request)
            if response is None or not response.results:
                continue
            responses.append(response)
            errors = [
                f"Policy {policy.name}: {one.message}"
                for one in response.results
                if one.status is RuleStatus.ERROR
            ]
            if not errors:
                request = request._replace(object=response.object)
            elif policy.facts.fails_closed:
                name = webhook_of(policy, self._cache.webhook_facts(policy))
                problems.setdefault(name, []).extend(errors)
        return request, responses, problems

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether the policies admit a request, and their warnings."""
        request = self._admission.seen(review)
        if request is None:
            return ALLOWED
        try:
            turns = self._turns(Stage.CEL_VALIDATE, request)
            found = (self._response(turn, Stage.CEL_VALIDATE, request) for turn in turns)
            call = tuple(one for one in found if one is not None)
        except MatchConditionError as error:
            return self._admission.webhook_failed(request, error)
        if not call:
            return ALLOWED
        responses = tuple(one for one in call if one.results)
        # A webhook with a policy that can deny does not report, even if it admits.
        silent = any(denies(one.policy) for one in call)
        return self._answer(
            Admission(review, request, responses, mutating=False, unreported=silent)
        )

    def _turns(self, stage: Stage, request: AdmissionRequest) -> Iterator[PolicyRules]:
        for turn in self._cache.index.stage_rules(stage, kind_of(request)):
            policy = turn.policy.policy
            why_not = self._admission.why_not_called(policy)
            if why_not:
                self._admission.skip(policy, turn.rules, request, why_not)
            else:
                yield turn

    def _response(
        self, turn: PolicyRules, stage: Stage, request: AdmissionRequest
    ) -> PolicyResponse | None:
        """Return a policy's response, None if it is not called; raise `MatchConditionError`."""
        given = self._opened(turn, request)
        return None if given is None else run_policy_rules(turn, stage.phase, given, self._world)


def is_called_for(
    policy: Policy, given: RuleInput, cache: PolicyCache, external: ExternalData
) -> bool:
    """Return whether the API server calls the webhook of a policy; raise `MatchConditionError`.

    Its rules come first: conditions are only evaluated for matching requests.
    """
    facts = cache.webhook_facts(policy)
    if not facts.takes(given.facts):
        return False
    texts = [text for _, text in facts.conditions]
    return not texts or is_called(policy, texts, given.request, external)


def denies(policy: Policy) -> bool:
    """Return whether a failure of a policy denies a request."""
    return policy.facts.action.own == "Enforce"


def webhook_of(policy: Policy, facts: WebhookFacts, base: str = "") -> str:
    """Return the name of the webhook of a policy.

    `base` is the prefix if it is not the kind's usual webhook.
    """
    closed = "fail" if policy.facts.fails_closed else "ignore"
    name = f"{base or WEBHOOKS[policy.kind].name}-{closed}"
    if not facts.alone:
        return name
    return "-".join(filter(None, (name, "finegrained", policy.namespace, policy.name)))


# The webhooks of ImageValidatingPolicies.
#
# The first one pins images to their digests, the second one validates them. Both deny by
# `validationActions`; only the second one reports.
# Source of the rules: upstream pkg/webhooks/resource/ivpol/handler.go.

PINNING_WEBHOOKS: Mapping[str, Hook] = {
    f"{prefix}ImageValidatingPolicy": Hook("ivpol.mutate.kyverno.svc", path, mutates=True)
    for prefix, path in (("", "/ivpol/mutate"), ("Namespaced", "/nivpol/mutate"))
}
"""The mutating webhooks, by kind of policy."""


class ImageAdmission(_Webhooks):
    """The webhooks of image policies, cluster-wide or namespaced."""

    def mutate(self, review: Review) -> WebhookResponse:
        """Return the denial if images cannot be pinned."""
        return self._verdict(review, mutating=True)

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether the policies admit a request, and their warnings."""
        return self._verdict(review, mutating=False)

    def _verdict(self, review: Review, *, mutating: bool) -> WebhookResponse:
        request = self._admission.seen(review)
        if request is None:
            return ALLOWED
        try:
            responses = tuple(self._responses(request, mutating=mutating))
        except MatchConditionError as error:
            return self._admission.webhook_failed(request, error)
        if not responses:
            return ALLOWED
        # A webhook with a policy that can deny does not report, even if it admits.
        silent = mutating or any(denies(one.policy) for one in responses)
        admission = Admission(review, request, responses, mutating=mutating, unreported=silent)
        return self._answer(admission)

    def _responses(self, request: AdmissionRequest, *, mutating: bool) -> Iterator[PolicyResponse]:
        """Yield the responses of policies; raise `MatchConditionError`."""
        stage = Stage.CEL_VERIFY_IMAGES
        for turn in self._cache.index.stage_rules(stage, kind_of(request)):
            policy = turn.policy.policy
            if not policy.facts.admission or (mutating and not policy.facts.pins_images):
                continue
            given = self._opened(turn, request)
            if given is None:
                continue
            if mutating:
                pinning = self._cache.pinning(policy)
                turn = PolicyRules(pinning, pinning.rules)  # noqa: PLW2901 — the same policy
            response = run_policy_rules(turn, stage.phase, given, self._world)
            if response.results:
                yield response
