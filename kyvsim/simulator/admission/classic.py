"""The admission controller: Kyverno's answers to admission requests, and their events."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.engine.compile import CompiledRule, PolicyRules
from kyvsim.engine.evaluate import passing, shown_passes
from kyvsim.engine.policy import RuleInput, open_request, run_policy_rules
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import KubernetesObject, object_key
from kyvsim.languages.classic.rule_type import LOST_MESSAGE
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus, Stage
from kyvsim.model.simulation import FailureCause, FailureReason, Unevaluated
from kyvsim.simulator.admission.review import (
    MatchConditionError,
    admission_request,
    blocked_message,
    denial,
    enforces,
    is_called,
    mutation_failure,
    warnings_of,
)
from kyvsim.simulator.api_server import (
    ApiError,
    ApiRequest,
    ApiResponse,
    ObjectStore,
    Purpose,
    Review,
    WebhookResponse,
    errors,
)
from kyvsim.simulator.api_server.authorizer import with_roles
from kyvsim.simulator.api_server.request import ALLOWED
from kyvsim.simulator.configuration import ADMISSION, is_excluded, is_filtered, is_selected
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.policies import PolicyCache
from kyvsim.simulator.timeline import Timeline

# Source of the rules: upstream pkg/webhooks/resource (handlers.go, validation, mutation),
# pkg/webhooks/handlers/filter.go.

_FAILED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})
UNMET = "the match conditions of its webhook are not all true"


class Admission(NamedTuple):
    """The responses to one webhook call, for those that report them later."""

    review: Review
    request: AdmissionRequest
    responses: tuple[PolicyResponse, ...]
    mutating: bool
    blocked: bool = False
    unreported: bool = False
    """Whether reports exclude it although it was not blocked."""
    dropped: tuple[PolicyResponse, ...] = ()
    """Failed mutations that are ignored: no object in the cluster reports them."""


class AdmissionController:
    """Kyverno's webhooks for all kinds except its own."""

    def __init__(self, sim: SimulationContext, cache: PolicyCache) -> None:
        self._sim = sim
        self._cache = cache
        self.tracer = sim.tracer
        self._world = World(sim.store, account=ADMISSION)
        self._seen: tuple[Review, int, AdmissionRequest | None] | None = None
        self._opened: tuple[AdmissionRequest, int, RuleInput | None] | None = None
        self.background: list[Callable[[Review, AdmissionRequest], None]] = []
        """Create background work for a request, whether or not it is denied."""
        self.mutated: list[Callable[[Review, AdmissionRequest], None]] = []
        """Create background work for a request that webhooks may still change."""
        self.listeners: list[Callable[[Admission], None]] = []
        """Called with the responses of policies."""

    def mutate(self, review: Review) -> WebhookResponse:
        """Return the object after the mutate rules, or the denial if one failed."""
        deletes = review.request.operation is Operation.DELETE
        request = None if deletes else self.seen(review)
        if request is None:
            return ALLOWED
        try:
            return self._mutated(review, request)
        except MatchConditionError as error:
            return self.webhook_failed(request, error)

    def _mutated(self, review: Review, request: AdmissionRequest) -> WebhookResponse:
        sent = request
        answered: list[PolicyResponse] = []
        dropped: list[PolicyResponse] = []
        # Rules that verify images come last.
        for policy_rules in self._stage_rules((Stage.MUTATE, Stage.VERIFY_IMAGES), sent):
            response = self._run(policy_rules, request)
            if response is None or not response.results:
                continue
            if not any(one.status in _FAILED for one in response.results):
                answered.append(response)
                request = request._replace(object=response.object)
            elif not response.policy.facts.fails_closed:
                dropped.append(response)
            else:
                self.notify(Admission(review, request, (response,), mutating=True, blocked=True))
                message = mutation_failure(response)
                if response.phase is Phase.VERIFY_IMAGES:
                    message = blocked_message(request.subject, [response])
                name = webhook_name("mutate", response.policy)
                return WebhookResponse(denied=denial(name, message))
        self.notify(
            Admission(review, request, tuple(answered), mutating=True, dropped=tuple(dropped))
        )
        changed = request.object is not sent.object
        warnings = tuple(warnings_of(answered, mutating=True))
        # Its webhooks are registered with `reinvocationPolicy: IfNeeded`.
        again = self.mutate if answered else None
        return WebhookResponse(request.object if changed else None, warnings, again=again)

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether the policies admit a request; create background work."""
        request = self.seen(review)
        if request is None:
            return ALLOWED
        try:
            of_kind = self._cache.index.of_kind(kind_of(request))
            shown = shown_passes(of_kind, Stage.VALIDATE, request, self._world)
            answers = (
                self._run(policy_rules, request, shown)
                for policy_rules in self._stage_rules((Stage.VALIDATE,), request)
            )
            responses = tuple(one for one in answers if one is not None and one.results)
        except MatchConditionError as error:
            return self.webhook_failed(request, error)
        if not review.request.dry_run:
            for emit in self.background:
                emit(review, request)
        place, store = request.namespace, self._sim.store
        namespace = store.get("v1", "Namespace", "", place) if place else None
        enforcing = [_enforced(one, namespace) for one in responses]
        denied = _denied(request, enforcing)
        blocked = denied is not None
        self.notify(Admission(review, request, responses, mutating=False, blocked=blocked))
        if denied is not None:
            return WebhookResponse(denied=denied)
        # Warnings of enforced rules that admit a request, and of audits with `emitWarning`.
        warnings: list[str] = []
        for response, enforced in zip(responses, enforcing, strict=True):
            warnings += warnings_of([enforced])
            if response.policy.facts.emits_warnings:
                others = (one for one in response.results if one not in enforced.results)
                warnings += warnings_of([response._replace(results=tuple(others))])
        return WebhookResponse(warnings=tuple(warnings))

    def _stage_rules(
        self, stages: tuple[Stage, ...], request: AdmissionRequest
    ) -> Iterator[PolicyRules]:
        index, kind = self._cache.index, kind_of(request)
        for policy_rules in (one for stage in stages for one in index.stage_rules(stage, kind)):
            policy = policy_rules.policy.policy
            rules = tuple(one for one in policy_rules.rules if not one.rule.mutates_existing)
            why_not = self.why_not_called(policy)
            if why_not:
                self.skip(policy, rules, request, why_not)
                continue
            hearing = tuple(one for one in rules if _hears(one, request))
            if len(hearing) < len(rules):
                deaf = [one for one in rules if one not in hearing]
                self.skip(
                    policy, deaf, request, f"it does not match {request.operation.value} requests"
                )
            if not hearing:
                continue
            texts = [text for _, text in policy.facts.webhook_conditions]
            if texts and not is_called(policy, texts, request, self._world.external):
                self.skip(policy, hearing, request, UNMET)
            elif hearing == policy_rules.rules:
                yield policy_rules
            else:
                yield policy_rules._replace(rules=hearing)

    def why_not_called(self, policy: Policy) -> str:
        """Return why the webhook of a policy is never called, or ""."""
        if not policy.facts.admission:
            return "the policy has `admission: false`"
        if self._cache.is_left_to_the_server(policy):
            return "the API server evaluates it itself, as a native admission policy"
        return ""

    def skip(
        self, policy: Policy, rules: Iterable[CompiledRule], request: AdmissionRequest, why: str
    ) -> None:
        """Record in the trace why rules for the kind of an object are not evaluated."""
        if self.tracer is not None:
            self.tracer.skip(policy, rules, object_key(request.subject), why)

    def webhook_failed(
        self, request: AdmissionRequest, error: MatchConditionError
    ) -> WebhookResponse:
        """Return the denial of a request whose matchConditions cannot be evaluated."""
        key, kinds = object_key(request.subject), self._sim.store.defined
        return WebhookResponse(denied=errors.forbidden(key, kinds, str(error)))

    def _run(
        self,
        policy_rules: PolicyRules,
        request: AdmissionRequest,
        shown: Callable[[PolicyRules], tuple[RuleResult, ...] | None] = lambda _: None,
    ) -> PolicyResponse | None:
        given, phase = self.opened(request), policy_rules.rules[0].phase
        if given is None:
            return None
        known = shown(policy_rules)
        if known is not None:
            return passing(policy_rules, phase, given.object, known)
        return run_policy_rules(policy_rules, phase, given, self._world)

    def opened(self, request: AdmissionRequest) -> RuleInput | None:
        """Return the input for rules: one for all policies of all webhooks."""
        known, revision = self._opened, self._sim.store.revision
        if known is None or known[0] is not request or known[1] != revision:
            known = self._opened = (request, revision, open_request(request, self._world, ""))
        return known[2]

    def seen(self, review: Review) -> AdmissionRequest | None:
        """Return the request for rules, None if Kyverno's webhooks are not called for it.

        Several webhooks get the same review: the request is cached.
        """
        known, revision = self._seen, self._sim.store.revision
        if known is None or known[0] is not review or known[1] != revision:
            known = self._seen = (review, revision, self._request(review))
        return known[2]

    def _request(self, review: Review) -> AdmissionRequest | None:
        # Checked before the request is built: most requests are Kyverno's own.
        why_skipped = self._why_skipped(review)
        if self.tracer is not None:
            self.tracer.note_webhooks(review.request, why_skipped)
        if why_skipped:
            return None
        request = admission_request(review, self._sim.store)
        return request if request.subject else None

    def _why_skipped(self, review: Review) -> str:
        """Return why Kyverno's webhooks are not called for a request, or ""."""
        key, store = review.request.key, self._sim.store
        place = key.name if key[:2] == ("v1", "Namespace") else key.namespace
        if key.kind == "UpdateRequest":
            return "it is an internal object of Kyverno"
        if not is_selected(place, review, store):
            return "Kyverno's webhooks do not select the object (`webhooks` in its ConfigMap)"
        if is_excluded(with_roles(review.request.user, key.namespace, store), store):
            return "Kyverno's webhooks exclude the user (`exclude…` in its ConfigMap)"
        subject = review.old if review.request.operation is Operation.DELETE else review.object
        named = key._replace(name=key.name or object_key(subject).name)
        if is_filtered(named, store, review.request.subresource):
            return "`resourceFilters` in Kyverno's ConfigMap exclude the object"
        return ""

    def notify(self, admission: Admission) -> None:
        """Pass the responses of policies to the listeners."""
        for listener in self.listeners:
            listener(admission)


def _hears(rule: CompiledRule, request: AdmissionRequest) -> bool:
    """Return whether a rule registers the webhook for the operation of a request."""
    named = [one.operations for one in rule.rule.tree.match.filters if one.kinds]
    return not named or not all(named) or any(request.operation in some for some in named)


def _enforced(response: PolicyResponse, namespace: KubernetesObject | None) -> PolicyResponse:
    policy = response.policy
    kept = tuple(one for one in response.results if enforces(policy, one.rule, namespace))
    return response if len(kept) == len(response.results) else response._replace(results=kept)


def _denied(request: AdmissionRequest, enforced: list[PolicyResponse]) -> ApiError | None:
    """Return the denial of the first webhook that denies; there is one for each failure policy."""
    webhooks: dict[str, list[PolicyResponse]] = {}
    for response in sorted(enforced, key=lambda one: not one.policy.facts.fails_closed):
        webhooks.setdefault(webhook_name("validate", response.policy), []).append(response)
    for webhook, called in webhooks.items():
        denying = _FAILED if called[0].policy.facts.fails_closed else {RuleStatus.FAIL}
        if any(one.status in denying for response in called for one in response.results):
            return denial(webhook, blocked_message(request.subject, called))
    return None


def kind_of(request: AdmissionRequest) -> str:
    """Return the kind whose policies evaluate a request: for a subresource that of its parent."""
    kind: str = request.parent_kind[2] if request.parent_kind else request.subject["kind"]
    return kind


def webhook_name(verb: str, policy: Policy) -> str:
    """Return the name of a policy's webhook: a policy with match conditions has its own."""
    shared = f"{verb}.kyverno.svc-{'fail' if policy.facts.fails_closed else 'ignore'}"
    if not policy.facts.webhook_conditions:
        return shared
    return f"{shared}-finegrained-{policy.key.replace('/', '-')}"


class RequestNote(NamedTuple):
    """The results of rules for one request; rules are named `policy/rule`."""

    changed_by: tuple[str, ...] = ()
    denied_by: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Those that failed without blocking the request."""
    unevaluated: tuple[Unevaluated, ...] = ()
    """Those that ended in an error, blocking or not."""
    results: int = 0
    """Number of results of rules without the skipped ones."""
    skipped: int = 0


class AdmissionNotes:
    """Admission results of requests that are not answered yet."""

    def __init__(self, admission: AdmissionController, store: ObjectStore) -> None:
        self._store = store
        self._open: dict[ApiRequest, RequestNote] = {}
        admission.listeners.append(self._note)

    def take(self, request: ApiRequest) -> RequestNote:
        """Return and remove the note of a request that is answered now."""
        return self._open.pop(request, RequestNote())

    def add(self, request: ApiRequest, more: RequestNote) -> None:
        """Add the results of others than Kyverno's webhooks."""
        note = self._open.get(request, RequestNote())
        self._open[request] = RequestNote(
            changed_by=tuple(dict.fromkeys(note.changed_by + more.changed_by)),
            denied_by=tuple(dict.fromkeys(note.denied_by + more.denied_by)),
            failed=tuple(dict.fromkeys(note.failed + more.failed)),
            unevaluated=tuple(dict.fromkeys(note.unevaluated + more.unevaluated)),
            results=note.results + more.results,
            skipped=note.skipped + more.skipped,
        )

    def _note(self, admission: Admission) -> None:
        responses = admission.responses
        every = (*responses, *admission.dropped)
        results, skipped = result_counts(every)
        errors = (*unevaluated(every), *_lost_messages(every))
        note = RequestNote(unevaluated=errors, results=results, skipped=skipped)
        if admission.blocked:
            # The rules whose failure denies a request; Audit failures do not.
            place = admission.request.namespace
            namespace = self._store.get("v1", "Namespace", "", place) if place else None
            deniers = tuple(
                _name(response.policy, one.rule)
                for response in responses
                for one in response.results
                if one.status in _FAILED
                and (admission.mutating or enforces(response.policy, one.rule, namespace))
            )
            note = note._replace(denied_by=deniers)
        elif admission.mutating:
            note = note._replace(changed_by=tuple(mutating_rules(responses)))
        else:
            note = note._replace(failed=tuple(_names(responses, RuleStatus.FAIL)))
        self.add(admission.review.request, note)


def mutating_rules(responses: Iterable[PolicyResponse]) -> list[str]:
    """Return the rules that changed an object, as `policy/rule`."""
    return _names([one for one in responses if one.changed], RuleStatus.PASS)


def result_counts(responses: Iterable[PolicyResponse]) -> tuple[int, int]:
    """Return the number of results of rules without skipped ones, and that of skipped ones."""
    statuses = [one.status for response in responses for one in response.results]
    skipped = statuses.count(RuleStatus.SKIP)
    return len(statuses) - skipped, skipped


def unevaluated(responses: Iterable[PolicyResponse]) -> Iterator[Unevaluated]:
    """Yield the rules that ended in an error, with the reason."""
    for response in responses:
        for one in response.results:
            if one.status is RuleStatus.ERROR:
                yield Unevaluated(_name(response.policy, one.rule), one.message, note=one.note)


def _lost_messages(responses: Iterable[PolicyResponse]) -> Iterator[Unevaluated]:
    """Yield the rules that failed without their message, which Kyverno drops silently."""
    for response in responses:
        for one in response.results:
            _, start, rest = one.note.partition(LOST_MESSAGE)
            if start and one.status is RuleStatus.FAIL:
                yield Unevaluated(
                    _name(response.policy, one.rule), f"{start}{rest}", in_message=True
                )


def _names(responses: Iterable[PolicyResponse], status: RuleStatus) -> list[str]:
    return [
        _name(response.policy, one.rule)
        for response in responses
        for one in response.results
        if one.status is status
    ]


def _name(policy: Policy, rule: Rule) -> str:
    return "/".join(filter(None, (policy.key, rule.name)))


_ACTORS: Mapping[str, str] = {
    "kubernetes-admin": "user",
    "system:kube-scheduler": "kube-scheduler",
    "system:serviceaccount:kyverno:kyverno-admission-controller": "admission",
    "system:serviceaccount:kyverno:kyverno-background-controller": "background",
    "system:serviceaccount:kyverno:kyverno-cleanup-controller": "cleanup",
    "system:serviceaccount:kyverno:kyverno-reports-controller": "reports",
}
_CONTROLLERS = "system:serviceaccount:kube-system:"
_NODES = "system:node:"
_KUBERNETES = (_CONTROLLERS, _NODES, "system:kube-scheduler")

_KIND_DEPRECATED = re.compile(r" is deprecated( and will be removed in a future release)?; ")


def record_requests(
    timeline: Timeline, noted: Callable[[ApiRequest], RequestNote]
) -> Callable[[ApiRequest, ApiResponse, KubernetesObject | None], None]:
    """Return an observer that records every answered request.

    `noted` returns the results of rules for a request, once.
    """

    def observe(request: ApiRequest, response: ApiResponse, old: KubernetesObject | None) -> None:
        note = noted(request)
        timeline.count_results(request.key, note.results, note.skipped)
        if _is_bookkeeping(request, response):
            return
        purpose = request.purpose or Purpose("")
        action = " ".join(filter(None, (request.operation.value.lower(), request.subresource)))
        obj = response.object if response.object is not None else request.object
        key = object_key(obj) if obj is not None and not request.key.name else request.key
        error = response.error
        reasons: tuple[FailureReason, ...] = ()
        outcome = "done" if response.changed else "unchanged"
        # Warnings about a kind as a whole are omitted.
        texts = (one for one in response.warnings if not _KIND_DEPRECATED.search(one))
        messages = [purpose.message, *texts]
        if note.failed:
            messages.append(f"admitted despite an Audit failure: {', '.join(note.failed)}")
        if error is not None:
            reasons = (FailureReason(error.why, error.message, key, rules=note.denied_by),)
            outcome = "denied" if error.why is FailureCause.DENIED else "failed"
            messages = [purpose.message]
        # The name of the user in the timeline.
        name = request.user.username
        actor = _ACTORS.get(name) or name.removeprefix(_CONTROLLERS)
        timeline.record(
            "kubelet" if name.startswith(_NODES) else actor,
            purpose.action or action,
            key,
            outcome=outcome,
            message="; ".join(filter(None, messages)),
            before=old,
            after=None if request.operation is Operation.DELETE else response.object,
            policies=purpose.rules or (note.denied_by if reasons else ()) or note.changed_by,
            failure_reasons=reasons,
            unevaluated=note.unevaluated,
        )

    return observe


def _is_bookkeeping(request: ApiRequest, response: ApiResponse) -> bool:
    """Return whether a request only stores a state that other events report.

    These are UpdateRequests, whose attempts are reported, and statuses that Kubernetes writes.
    """
    if request.subresource == "status" and request.user.username.startswith(_KUBERNETES):
        return response.ok
    actor = _ACTORS.get(request.user.username)
    own = request.key.kind == "UpdateRequest" and actor in {"admission", "background"}
    return own and response.ok and request.operation is not Operation.CREATE
