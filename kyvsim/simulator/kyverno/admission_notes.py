"""Which policies changed or denied what a request brought, for the event of the request."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import PolicyResponse, RuleStatus
from kyvsim.model.simulation import Unevaluated
from kyvsim.simulator.api_server import ApiRequest, Store
from kyvsim.simulator.kyverno.admission import Admission, AdmissionController
from kyvsim.simulator.kyverno.denial import enforces

_Noted = TypeVar("_Noted")
_ANY = frozenset(RuleStatus)
_FAILED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


class Note(NamedTuple):
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

    def __init__(self, admission: AdmissionController, store: Store) -> None:
        self._store = store
        self._open: dict[ApiRequest, Note] = {}
        admission.listeners.append(self._note)

    def take(self, request: ApiRequest) -> Note:
        """Return what was noted of a request that is answered now."""
        return self._open.pop(request, Note())

    def add(self, request: ApiRequest, more: Note) -> None:
        """Add what others than Kyverno's webhooks make of a request."""
        note = self._open.get(request, Note())
        self._open[request] = Note(
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
        note = Note(unevaluated=tuple(unevaluated(every)), results=results, skipped=skipped)
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
