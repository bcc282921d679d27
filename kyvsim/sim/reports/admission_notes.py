"""Which policies changed or denied what a request brought, told with the request's event."""

from collections.abc import Iterable

from kyvsim.kube.objects import Json
from kyvsim.model.result import PolicyResponse, RuleStatus
from kyvsim.sim.kyverno.admission import Admission
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.server import ApiRequest, ApiResponse

_FAILED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


def start_admission_notes(kyverno: Kyverno) -> None:
    """Let events of requests name the rules that made something of them."""
    parts = kyverno.parts
    open_notes: dict[int, tuple[ApiRequest, list[str], list[str]]] = {}

    def note(admission: Admission) -> None:
        request = admission.review.request
        _, rules, failures = open_notes.setdefault(id(request), (request, [], []))
        if admission.mutating and not admission.blocked:
            rules += mutating_rules(admission.responses)
        elif admission.blocked:
            rules += _names(admission.responses, _FAILED)
        else:
            failures += _names(admission.responses, _FAILED)

    def tell(request: ApiRequest, response: ApiResponse, old: Json) -> None:
        del old
        _, rules, failures = open_notes.pop(id(request), (request, [], []))
        event = parts.timeline.events[-1]
        if response.error is None and failures:
            audited = f"fails, and is let in: {', '.join(dict.fromkeys(failures))}"
            message = "; ".join(filter(None, (event.message, audited)))
            event = parts.timeline.retell(event, message=message)
        if rules:
            parts.timeline.amend(event, policies=tuple(dict.fromkeys(rules)))

    kyverno.admission.listeners.append(note)
    parts.server.observers.append(tell)


def mutating_rules(responses: Iterable[PolicyResponse]) -> list[str]:
    """Return the rules that changed something, as `policy/rule`."""
    return _names([one for one in responses if one.changed], frozenset({RuleStatus.PASS}))


def _names(responses: Iterable[PolicyResponse], statuses: frozenset[RuleStatus]) -> list[str]:
    return [
        f"{response.policy.key}/{one.rule.name}"
        for response in responses
        for one in response.results
        if one.status in statuses
    ]
