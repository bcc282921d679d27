"""What events say: one function for each thing that Kyverno tells.

Source of the texts: upstream pkg/event/events.go.
"""

import re
from collections.abc import Iterable, Iterator

from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey, object_key
from kyvsim.languages import CLEANUP_POLICIES
from kyvsim.model.policy import Policy
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.sim.kyverno.events import (
    Action,
    Event,
    Reason,
    Source,
    policy_reference,
    reference,
    tells_successes,
)
from kyvsim.sim.parts import Parts

_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_VIOLATED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})
_CHECKING = frozenset({"validate", "verifyImages"})
_ONLY_SCANNED = frozenset({"MutatingAdmissionPolicy"})
"""Kinds by which Kyverno looks what would change, and changes nothing itself."""


def violation_of_policy(
    parts: Parts, source: Source, response: PolicyResponse, result: RuleResult, *, blocked: bool
) -> Event:
    """Return the event on a policy of a rule that failed."""
    marks = " (blocked)" if blocked else ""
    said = f"; {result.message}" if result.message else ""
    note = f"{_named(response.object)}: [{result.rule.name}] {result.status}{marks}{said}"
    return Event(
        regarding=policy_reference(response.policy, parts),
        reason=Reason.VIOLATION,
        source=source,
        action=Action.BLOCKED if blocked else Action.PASSED,
        note=note,
        related=reference(response.object),
    )


def violation_of_object(source: Source, response: PolicyResponse, result: RuleResult) -> Event:
    """Return the event on an object of a rule that failed."""
    named = f"{response.policy.name}/{result.rule.name}"
    note = f"policy {named} {result.status}: {result.message}"
    return Event(reference(response.object), Reason.VIOLATION, source, Action.PASSED, note)


def applied(parts: Parts, source: Source, response: PolicyResponse) -> Iterator[Event]:
    """Yield the event on a policy that an object passed, or that changed it, where it is wanted."""
    regarding = policy_reference(response.policy, parts)
    if not tells_successes(parts):
        return
    sections = {one.facts.section for one in response.policy.rules} - {""}
    checks = response.phase is not Phase.MUTATE or response.policy.kind in _ONLY_SCANNED
    checks = bool(sections & _CHECKING) if sections else checks
    named = _named(response.object)
    yield Event(
        regarding=regarding,
        reason=Reason.APPLIED,
        source=source,
        action=Action.PASSED if checks else Action.MUTATED,
        note=f"{named}: pass" if checks else f"{named} is successfully mutated",
        related=reference(response.object),
    )


def excepted(
    parts: Parts, source: Source, response: PolicyResponse, result: RuleResult
) -> Iterator[Event]:
    """Yield the events of a rule that was skipped: on each exception, then on the policy."""
    policy, rule, related = response.policy, result.rule.name, reference(response.object)
    skipped = _slashed(response.object)
    note = f"resource {skipped} was skipped from policy rule {policy.key}/{rule}"
    for exception in result.exceptions:
        group = split_api_version(policy.facts.api_version)[0]
        version = "v2" if group == "kyverno.io" else "v1beta1"
        regarding = _exception_reference(exception, f"{group}/{version}", parts)
        yield Event(
            regarding=regarding,
            reason=Reason.SKIPPED,
            source=source,
            action=Action.PASSED,
            note=note,
            related=related,
        )
    names = ", ".join(result.exceptions)
    note = f"resource {skipped} was skipped from rule {rule} due to policy exceptions {names}"
    yield Event(
        regarding=policy_reference(policy, parts),
        reason=Reason.SKIPPED,
        source=source,
        action=Action.PASSED,
        note=note,
        related=related,
    )


def of_response(
    parts: Parts, source: Source, response: PolicyResponse, *, blocked: bool
) -> Iterator[Event]:
    """Yield the events of what a policy said of a request, or of one that is told like that.

    upstream: pkg/webhooks/utils/event.go
    """
    statuses = {one.status for one in response.results}
    if statuses & _VIOLATED:
        for result in response.results:
            if result.status in _VIOLATED:
                yield violation_of_policy(parts, source, response, result, blocked=blocked)
            # Rules that passed are told along with those that did not.
            if not blocked:
                yield violation_of_object(source, response, result)
    elif RuleStatus.SKIP not in statuses:
        yield from applied(parts, source, response)
    elif not blocked:
        for result in response.results:
            if result.exceptions:
                yield from excepted(parts, source, response, result)


def generated(source: Source, policy: Policy, rule: str, downstream: Json) -> Event:
    """Return the event on an object that a generate rule made or refreshed."""
    key = object_key(downstream)
    named = f"{key.kind} {key.name}"
    note = f"Created {named} as a result of applying policy {policy.key}/{rule}"
    return Event(reference(downstream), Reason.APPLIED, source, Action.NONE, note)


def background_succeeded(
    parts: Parts, source: Source, policy: Policy, objects: Iterable[Json]
) -> Iterator[Event]:
    """Yield the events on a policy of what the background controller made or changed for it."""
    mutates = source is Source.MUTATE
    note = "resource mutated" if mutates else "resource generated"
    action = Action.MUTATED if mutates else Action.GENERATED
    regarding = policy_reference(policy, parts)
    for obj in objects:
        yield Event(
            regarding=regarding,
            reason=Reason.APPLIED,
            source=source,
            action=action,
            note=note,
            related=reference(obj),
        )


def background_failed(
    parts: Parts, source: Source, policy: Policy, why: str, *, rule: str = ""
) -> Event:
    """Return the event on a policy of what the background controller could not do for it.

    `rule` is "" where no single rule is meant.
    """
    named = f"{policy.name}/{rule}" if rule else policy.name
    note = f"policy {named} error: {why}"
    return Event(policy_reference(policy, parts), Reason.ERROR, source, Action.NONE, note)


def left_to_the_server(parts: Parts, policy: Policy, made: Iterable[ObjectKey]) -> Iterator[Event]:
    """Yield the events on a policy of the admission policy and the binding made of it."""
    regarding = policy_reference(policy, parts)
    for key in made:
        named = _CAPITAL.sub(" ", key.kind).lower()
        note = f"successfully generated {named} {key.name} from policy {policy.name}"
        yield Event(
            regarding=regarding,
            reason=Reason.APPLIED,
            source=Source.GENERATE,
            action=Action.GENERATED,
            note=note,
            related={"apiVersion": key.api_version, "kind": key.kind, "name": key.name},
        )


def cleaned_up(parts: Parts, policy: Policy, obj: Json, problem: str = "") -> Event:
    """Return the event on a cleanup policy of an object deleted, or of why it was not."""
    key = object_key(obj)
    named = f"{key.kind}/{key.namespace}/{key.name}"
    older = policy.kind in CLEANUP_POLICIES.kinds
    note = f"successfully {'cleaned up' if older else 'deleted'} the target resource {named}"
    if problem:
        verb = "clean up" if older else "delete"
        note = f"failed to {verb} the target resource {named}: {problem}"
    return Event(
        regarding=policy_reference(policy, parts),
        reason=Reason.ERROR if problem else Reason.APPLIED,
        source=Source.CLEANUP,
        action=Action.NONE if problem else Action.CLEANED_UP,
        note=note,
        related=reference(obj),
    )


def _exception_reference(key: str, api_version: str, parts: Parts) -> dict[str, str]:
    namespace, _, name = key.rpartition("/")
    meta = {"name": name, "namespace": namespace}
    named = {"apiVersion": api_version, "kind": "PolicyException", "metadata": meta}
    return dict(reference(parts.store.get(*object_key(named)) or named))


def _named(obj: Json) -> str:
    """Return how notes name an object: `Pod default/p`, `Namespace shop`."""
    key = object_key(obj)
    return f"{key.kind} {key.namespace}/{key.name}" if key.namespace else f"{key.kind} {key.name}"


def _slashed(obj: Json) -> str:
    key = object_key(obj)
    return "/".join(part for part in (key.kind, key.namespace, key.name) if part)
