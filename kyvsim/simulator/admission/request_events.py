"""Requests to the API server as events of the timeline."""

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.result import PolicyResponse, RuleStatus
from kyvsim.model.simulation import FailureCause, FailureReason, Unevaluated
from kyvsim.simulator.admission.classic import Admission, AdmissionController
from kyvsim.simulator.admission.review import enforces
from kyvsim.simulator.api_server import ApiRequest, ApiResponse, ObjectStore, Purpose
from kyvsim.simulator.timeline import Timeline

# Which policies changed or denied what a request brought, for the event of the request.

_Noted = TypeVar("_Noted")
_ANY = frozenset(RuleStatus)
_FAILED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


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
