"""The admission controller: what Kyverno's policies answer while a request waits."""

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from kyvsim.engine.compile import CompiledRule, PolicyRules
from kyvsim.engine.evaluate import passing, shown_passes
from kyvsim.engine.policy import RuleInput, open_request, run_policy_rules
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
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
    subject_of,
    texts_of,
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
from kyvsim.simulator.configuration import (
    ADMISSION,
    Filtered,
    Sender,
    is_excluded,
    is_filtered,
    is_selected,
    passes_over,
)
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.policies import PolicyCache
from kyvsim.simulator.timeline import Timeline

# Source of the rules: upstream pkg/webhooks/resource (handlers.go, validation, mutation),
# pkg/webhooks/handlers/filter.go.

_OWN_KINDS = frozenset({"UpdateRequest"})
_MUTATED = frozenset({Operation.CREATE, Operation.UPDATE, Operation.CONNECT})
_FAILED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})
UNMET = "the conditions of its webhook do not hold"


class Admission(NamedTuple):
    """What one webhook call evaluated, for those who report it later."""

    review: Review
    request: AdmissionRequest
    responses: tuple[PolicyResponse, ...]
    mutating: bool
    blocked: bool = False
    unreported: bool = False
    """Whether it is left out of reports, though it was not blocked."""
    dropped: tuple[PolicyResponse, ...] = ()
    """Failed mutations that are ignored: nothing in the cluster reports them."""


class AdmissionController:
    """Kyverno's webhooks for all kinds but its own."""

    def __init__(self, sim: SimulationContext, cache: PolicyCache) -> None:
        self._sim = sim
        self._cache = cache
        self.tracer = sim.tracer
        self._world = World(sim.store, account=ADMISSION)
        self._seen: tuple[Review, int, AdmissionRequest | None] | None = None
        self._opened: tuple[AdmissionRequest, int, RuleInput | None] | None = None
        self.background: list[Callable[[Review, AdmissionRequest], None]] = []
        """Who makes work for later of a request, whether or not it is denied."""
        self.mutated: list[Callable[[Review, AdmissionRequest], None]] = []
        """Who makes work for later of a request that webhooks may still change."""
        self.listeners: list[Callable[[Admission], None]] = []
        """Called with the responses of policies."""

    def mutate(self, review: Review) -> WebhookResponse:
        """Return the object as the mutate rules leave it, or the denial of one that failed."""
        request = self.seen(review) if review.request.operation in _MUTATED else None
        if request is None:
            return ALLOWED
        try:
            return self._mutated(review, request)
        except MatchConditionError as error:
            return self.webhook_failed(request, error)

    def _mutated(self, review: Review, request: AdmissionRequest) -> WebhookResponse:
        given = request
        answered: list[PolicyResponse] = []
        dropped: list[PolicyResponse] = []
        for phase, policy_rules in self._mutations(request):
            response = self._run(policy_rules, phase, request)
            if response is None or not response.results:
                continue
            if _failed(response) and response.policy.facts.fails_closed:
                self.notify(Admission(review, request, (response,), mutating=True, blocked=True))
                if response.phase is Phase.VERIFY_IMAGES:
                    message = blocked_message(request.subject, [response])
                else:
                    message = mutation_failure(response)
                return WebhookResponse(denied=denial(_webhook("mutate", response.policy), message))
            if _failed(response):
                dropped.append(response)
            else:
                answered.append(response)
                request = request._replace(object=response.object)
        self.notify(
            Admission(review, request, tuple(answered), mutating=True, dropped=tuple(dropped))
        )
        changed = request.object is not given.object
        warnings = tuple(warnings_of(answered, mutating=True))
        # Its webhooks are registered with `reinvocationPolicy: IfNeeded`.
        again = self.mutate if answered else None
        return WebhookResponse(request.object if changed else None, warnings, again=again)

    def _mutations(self, request: AdmissionRequest) -> Iterator[tuple[Phase, PolicyRules]]:
        """Yield what changes the object, or looks at its images: the latter comes last."""
        for stage in (Stage.MUTATE, Stage.VERIFY_IMAGES):
            for policy_rules in self._stage_rules(stage, request, _mutates_trigger):
                yield stage.phase, policy_rules

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether the policies let a request pass; make work for the background."""
        request = self.seen(review)
        if request is None:
            return ALLOWED
        try:
            of_kind = self._cache.index.of_kind(_kind_of(request))
            shown = shown_passes(of_kind, Stage.VALIDATE, request, self._world)
            stage_rules = self._stage_rules(Stage.VALIDATE, request, _any_rule)
            answers = (
                self._run(policy_rules, Phase.VALIDATE, request, shown)
                for policy_rules in stage_rules
            )
            responses = tuple(one for one in answers if one is not None and one.results)
        except MatchConditionError as error:
            return self.webhook_failed(request, error)
        if not review.request.dry_run:
            for emit in self.background:
                emit(review, request)
        namespace = self._namespace_of(request)
        denied = self._denied(request, responses, namespace)
        blocked = denied is not None
        self.notify(Admission(review, request, responses, mutating=False, blocked=blocked))
        if denied is not None:
            return WebhookResponse(denied=denied)
        return WebhookResponse(warnings=tuple(self._warnings(responses, namespace)))

    def _denied(
        self,
        request: AdmissionRequest,
        responses: tuple[PolicyResponse, ...],
        namespace: Json | None,
    ) -> ApiError | None:
        """Return the denial of the first webhook that denies, one for each failure policy."""
        webhooks: dict[str, list[PolicyResponse]] = {}
        for closed in (True, False):
            for response in responses:
                if response.policy.facts.fails_closed is closed:
                    webhooks.setdefault(_webhook("validate", response.policy), []).append(response)
        for webhook, called in webhooks.items():
            enforced = [self._enforced(one, namespace) for one in called]
            closed = called[0].policy.facts.fails_closed
            if any(_blocks(one, closed=closed) for one in enforced):
                return denial(webhook, blocked_message(request.subject, enforced))
        return None

    def _warnings(
        self, responses: Iterable[PolicyResponse], namespace: Json | None
    ) -> Iterator[str]:
        """Yield what enforced rules say that let a request pass, and audits that want to warn."""
        for response in responses:
            enforced = self._enforced(response, namespace)
            yield from warnings_of([enforced])
            if response.policy.facts.emits_warnings:
                others = (one for one in response.results if one not in enforced.results)
                yield from warnings_of([response._replace(results=tuple(others))])

    def _enforced(self, response: PolicyResponse, namespace: Json | None) -> PolicyResponse:
        policy = response.policy
        kept = tuple(one for one in response.results if enforces(policy, one.rule, namespace))
        return response if len(kept) == len(response.results) else response._replace(results=kept)

    def _stage_rules(
        self, stage: Stage, request: AdmissionRequest, keep: Callable[[CompiledRule], bool]
    ) -> Iterator[PolicyRules]:
        for policy_rules in self._cache.index.stage_rules(stage, _kind_of(request)):
            policy = policy_rules.policy.policy
            rules = tuple(filter(keep, policy_rules.rules))
            why_not = self.why_not_called(policy)
            if why_not:
                self.skip(policy, rules, request, why_not)
                continue
            hearing = tuple(one for one in rules if _hears(one, request))
            if len(hearing) < len(rules):
                deaf = [one for one in rules if one not in hearing]
                self.skip(policy, deaf, request, f"it is not for {request.operation.value}")
            if hearing and self._calls_webhook(policy, request):
                yield (
                    policy_rules
                    if hearing == policy_rules.rules
                    else policy_rules._replace(rules=hearing)
                )
            elif hearing:
                self.skip(policy, hearing, request, UNMET)

    def why_not_called(self, policy: Policy) -> str:
        """Return why the webhook of a policy is never called, or ""."""
        if not policy.facts.admission:
            return "the policy has `admission: false`"
        if self._cache.is_left_to_the_server(policy):
            return "the API server evaluates it itself, as an admission policy of Kubernetes"
        return ""

    def skip(
        self, policy: Policy, rules: Iterable[CompiledRule], request: AdmissionRequest, why: str
    ) -> None:
        """Record for the tracer why rules for an object's kind are not evaluated."""
        if self.tracer is not None:
            self.tracer.skip(policy, rules, object_key(request.subject), why)

    def _calls_webhook(self, policy: Policy, request: AdmissionRequest) -> bool:
        texts = texts_of(policy)
        return not texts or is_called(policy, texts, request, self._world.external)

    def webhook_failed(
        self, request: AdmissionRequest, error: MatchConditionError
    ) -> WebhookResponse:
        """Return the refusal of a request for which the API server could choose no webhook."""
        key, kinds = object_key(request.subject), self._sim.store.defined
        return WebhookResponse(denied=errors.forbidden(key, kinds, str(error)))

    def _run(
        self,
        policy_rules: PolicyRules,
        phase: Phase,
        request: AdmissionRequest,
        shown: Callable[[PolicyRules], tuple[RuleResult, ...] | None] | None = None,
    ) -> PolicyResponse | None:
        given = self.opened(request)
        if given is None:
            return None
        known = shown(policy_rules) if shown else None
        if known is not None:
            return passing(policy_rules, phase, given.object, known)
        return run_policy_rules(policy_rules, phase, given, self._world)

    def opened(self, request: AdmissionRequest) -> RuleInput | None:
        """Return what rules are evaluated on: one opening serves all policies of all webhooks."""
        known, revision = self._opened, self._sim.store.revision
        if known is None or known[0] is not request or known[1] != revision:
            known = self._opened = (request, revision, open_request(request, self._world, ""))
        return known[2]

    def seen(self, review: Review) -> AdmissionRequest | None:
        """Return the request as rules see it, None if Kyverno's webhooks are not called for it.

        Its webhooks are asked one after the other: while the review is the same, so is the request.
        """
        known, revision = self._seen, self._sim.store.revision
        if known is None or known[0] is not review or known[1] != revision:
            known = self._seen = (review, revision, self._request(review))
        return known[2]

    def _request(self, review: Review) -> AdmissionRequest | None:
        store, tracer = self._sim.store, self.tracer
        if tracer is None and passes_over(_sender(review), store):
            return None
        # Checked before the request is put together: most requests are Kyverno's own.
        why_skipped = self._why_skipped(review)
        if tracer is not None:
            tracer.note_webhooks(review.request, why_skipped)
        if why_skipped:
            return None
        request = admission_request(review, store)
        return request if request.subject else None

    def _why_skipped(self, review: Review) -> str:
        """Return why Kyverno's webhooks are not called for a request, or ""."""
        key, store = review.request.key, self._sim.store
        place = key.name if (key.api_version, key.kind) == ("v1", "Namespace") else key.namespace
        if key.kind in _OWN_KINDS:
            return "it is Kyverno's own work"
        if not is_selected(place, review, store):
            return "Kyverno's webhooks do not select it (`webhooks` of its ConfigMap)"
        if is_excluded(with_roles(review.request.user, key.namespace, store), store):
            return "Kyverno leaves its user alone (`exclude…` of its ConfigMap)"
        name = key.name or object_key(subject_of(review)).name
        described = Filtered(
            key.api_version, key.kind, review.request.subresource, key.namespace, name
        )
        if is_filtered(described, store):
            return "`resourceFilters` of Kyverno's ConfigMap leave it out"
        return ""

    def _namespace_of(self, request: AdmissionRequest) -> Json | None:
        if not request.namespace:
            return None
        return self._sim.store.get("v1", "Namespace", "", request.namespace)

    def notify(self, admission: Admission) -> None:
        """Tell the listeners what policies said of a request."""
        for listener in self.listeners:
            listener(admission)


def _sender(review: Review) -> Sender:
    request = review.request
    return Sender(
        api_version=request.key.api_version,
        kind=request.key.kind,
        subresource=request.subresource,
        namespace=request.key.namespace,
        username=request.user.username,
        groups=request.user.groups,
    )


def _kind_of(request: AdmissionRequest) -> str:
    kind: str = request.parent_kind[2] if request.parent_kind else request.subject["kind"]
    return kind


def _webhook(verb: str, policy: Policy) -> str:
    """Return the name of a policy's webhook: with match conditions it has its own."""
    shared = f"{verb}.kyverno.svc-{'fail' if policy.facts.fails_closed else 'ignore'}"
    if not policy.facts.webhook_conditions:
        return shared
    return f"{shared}-finegrained-{policy.key.replace('/', '-')}"


def _blocks(enforced: PolicyResponse, *, closed: bool) -> bool:
    statuses = {one.status for one in enforced.results}
    return RuleStatus.FAIL in statuses or (closed and RuleStatus.ERROR in statuses)


def _failed(response: PolicyResponse) -> bool:
    return any(one.status in _FAILED for one in response.results)


def _hears(rule: CompiledRule, request: AdmissionRequest) -> bool:
    """Return whether a webhook is registered for an operation on behalf of a rule."""
    match = (entry for entry in rule.rule.facts.match if entry.kinds)
    named = [entry.resources.get("operations") or () for entry in match]
    return not named or not all(named) or any(request.operation in some for some in named)


def _mutates_trigger(rule: CompiledRule) -> bool:
    return not rule.rule.mutates_existing


def _any_rule(rule: CompiledRule) -> bool:
    del rule
    return True


# Which policies changed or denied what a request brought, for the event of the request.

_Noted = TypeVar("_Noted")
_ANY = frozenset(RuleStatus)


class RequestNote(NamedTuple):
    """What rules made of one request, each as `policy/rule`."""

    changed_by: tuple[str, ...] = ()
    denied_by: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Those that failed and did not hinder it."""
    unevaluated: tuple[Unevaluated, ...] = ()
    """Those that ended in an error, whatever became of it."""
    results: int = 0
    """How many results of rules there are without the skipped ones."""
    skipped: int = 0


class AdmissionNotes:
    """What admission said of requests that are not answered yet."""

    def __init__(self, admission: AdmissionController, store: ObjectStore) -> None:
        self._store = store
        self._open: dict[ApiRequest, RequestNote] = {}
        admission.listeners.append(self._note)

    def take(self, request: ApiRequest) -> RequestNote:
        """Return what was noted of a request that is answered now."""
        return self._open.pop(request, RequestNote())

    def add(self, request: ApiRequest, more: RequestNote) -> None:
        """Add what others than Kyverno's webhooks make of a request."""
        note = self._open.get(request, RequestNote())
        self._open[request] = RequestNote(
            changed_by=_joined(note.changed_by, more.changed_by),
            denied_by=_joined(note.denied_by, more.denied_by),
            failed=_joined(note.failed, more.failed),
            unevaluated=_joined(note.unevaluated, more.unevaluated),
            results=note.results + more.results,
            skipped=note.skipped + more.skipped,
        )

    def _note(self, admission: Admission) -> None:
        request, responses = admission.review.request, admission.responses
        every = (*responses, *admission.dropped)
        results, skipped = result_counts(every)
        note = RequestNote(unevaluated=tuple(unevaluated(every)), results=results, skipped=skipped)
        if admission.blocked:
            note = note._replace(denied_by=tuple(self._deniers(admission)))
        elif admission.mutating:
            note = note._replace(changed_by=tuple(mutating_rules(responses)))
        else:
            failed = _names(responses, frozenset({RuleStatus.FAIL}))
            note = note._replace(failed=tuple(failed))
        self.add(request, note)

    def _deniers(self, admission: Admission) -> Iterator[str]:
        """Yield the rules whose failure denies a request; a failed audit does not."""
        place = admission.request.namespace
        namespace = self._store.get("v1", "Namespace", "", place) if place else None
        for response in admission.responses:
            for name, result in zip(_names([response], _ANY), response.results, strict=True):
                binds = admission.mutating or enforces(response.policy, result.rule, namespace)
                if binds and result.status in _FAILED:
                    yield name


def _joined(before: tuple[_Noted, ...], more: tuple[_Noted, ...]) -> tuple[_Noted, ...]:
    return tuple(dict.fromkeys((*before, *more)))


def mutating_rules(responses: Iterable[PolicyResponse]) -> list[str]:
    """Return the rules that changed something, as `policy/rule`."""
    return _names([one for one in responses if one.changed], frozenset({RuleStatus.PASS}))


def result_counts(responses: Iterable[PolicyResponse]) -> tuple[int, int]:
    """Return how many results of rules there are without the skipped ones, and how many those."""
    statuses = [one.status for response in responses for one in response.results]
    skipped = statuses.count(RuleStatus.SKIP)
    return len(statuses) - skipped, skipped


def unevaluated(responses: Iterable[PolicyResponse]) -> Iterator[Unevaluated]:
    """Yield the rules that ended in an error, with the reason."""
    for response in responses:
        for one in response.results:
            if one.status is RuleStatus.ERROR:
                yield Unevaluated(_name(response.policy, one.rule), one.message)


def _names(responses: Iterable[PolicyResponse], statuses: frozenset[RuleStatus]) -> list[str]:
    return [
        _name(response.policy, one.rule)
        for response in responses
        for one in response.results
        if one.status in statuses
    ]


def _name(policy: Policy, rule: Rule) -> str:
    return "/".join(filter(None, (policy.key, rule.name)))


# Requests to the API server, as events of the timeline.

_ACTIONS = MappingProxyType(
    {
        Operation.CREATE: "create",
        Operation.UPDATE: "update",
        Operation.DELETE: "delete",
        Operation.CONNECT: "connect",
    }
)
_DEPRECATED = " is deprecated and will be removed in a future release"
"""Answers about a whole kind are not about what happened."""
_ACTORS = MappingProxyType(
    {
        "kubernetes-admin": "user",
        "system:kube-scheduler": "kube-scheduler",
        "system:serviceaccount:kyverno:kyverno-admission-controller": "admission",
        "system:serviceaccount:kyverno:kyverno-background-controller": "background",
        "system:serviceaccount:kyverno:kyverno-cleanup-controller": "cleanup",
        "system:serviceaccount:kyverno:kyverno-reports-controller": "reports",
    }
)
_NONE = Purpose("")
_CONTROLLERS = "system:serviceaccount:kube-system:"
_NODES = "system:node:"
_KUBERNETES = (_CONTROLLERS, _NODES, "system:kube-scheduler")


def record_requests(
    timeline: Timeline, noted: Callable[[ApiRequest], RequestNote]
) -> Callable[[ApiRequest, ApiResponse, Json], None]:
    """Return an observer that adds every request that was answered.

    `noted` gives what rules made of a request, once.
    """

    def observe(request: ApiRequest, response: ApiResponse, old: Json) -> None:
        note = noted(request)
        timeline.count_results(request.key, note.results, note.skipped)
        if _is_bookkeeping(request, response):
            return
        purpose = request.purpose or _NONE
        action = _ACTIONS[request.operation]
        if request.subresource:
            action = f"{action} {request.subresource}"
        action = purpose.action or action
        obj = response.object if response.object is not None else request.object
        key = object_key(obj) if obj is not None and not request.key.name else request.key
        error, failure_reasons = response.error, []
        if error is not None:
            why = FailureReason(error.why, error.message, key, rules=note.denied_by)
            failure_reasons.append(why)
        event = timeline.record(
            actor_of(request.user),
            action,
            key,
            outcome=_outcome(response),
            message=purpose.message if failure_reasons else _message(purpose, response, note),
        )
        gone = request.operation is Operation.DELETE
        deniers = note.denied_by if failure_reasons else ()
        rules = purpose.rules or deniers or note.changed_by
        after = None if gone else response.object
        event = timeline.add_errors(event, note.unevaluated)
        timeline.amend(
            event, before=old, after=after, policies=rules, failure_reasons=tuple(failure_reasons)
        )

    return observe


def _outcome(response: ApiResponse) -> str:
    if response.error is None:
        return "done" if response.changed else "unchanged"
    return "denied" if response.error.why is FailureCause.DENIED else "failed"


def _message(purpose: Purpose, response: ApiResponse, note: RequestNote) -> str:
    """Return what a granted request was for, what it was warned of, and what it fails."""
    warnings = [one for one in response.warnings if _DEPRECATED not in one]
    audited = f"fails, and is let in: {', '.join(note.failed)}" if note.failed else ""
    return "; ".join(filter(None, (purpose.message, *warnings, audited)))


def _is_bookkeeping(request: ApiRequest, response: ApiResponse) -> bool:
    """Return whether a request only stores a state that other events report.

    That is an UpdateRequest's, which its attempts tell, and what Kubernetes writes as a status.
    """
    if request.subresource == "status" and request.user.username.startswith(_KUBERNETES):
        return response.ok
    kind = request.key.kind == "UpdateRequest" and request.user.username in _ACTORS
    own = kind and _ACTORS[request.user.username] in {"admission", "background"}
    return own and response.ok and request.operation is not Operation.CREATE


def actor_of(user: UserInfo) -> str:
    """Return what the timeline calls a user."""
    name = user.username
    if name.startswith(_NODES):
        return "kubelet"
    return _ACTORS.get(name) or name.removeprefix(_CONTROLLERS)
